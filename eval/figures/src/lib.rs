//! Figures of the papers, computed anew: one program each under `bin`.
//!
//! `figure27` is Scallop's Figure 27, what sequence rewriting costs in retransmissions: [`source`]
//! makes a stream, [`loss`] loses some of it, [`call`] passes the rest through a rewriter to a
//! receiver that asks for whatever it misses, and [`spread`] sums up several such calls.

pub mod call;
pub mod loss;
pub mod plot;
pub mod source;
pub mod spread;
