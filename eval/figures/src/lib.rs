//! Figures of the papers, computed again: one program each under `bin`.
//!
//! `figure27` is Scallop's Figure 27, the cost of sequence rewriting in retransmissions: [`source`]
//! makes a stream, [`loss`] drops part of it, [`call`] passes the rest through a rewriter to a
//! receiver that asks for every missing packet, and [`spread`] summarises several such calls.
//! `figures18-20` is the capacity of its switch: [`scallop`].

#![forbid(unsafe_code)]

pub mod call;
pub mod loss;
pub mod plot;
pub mod scallop;
pub mod source;
pub mod spread;
