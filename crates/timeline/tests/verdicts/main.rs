//! Verdicts about scripted calls: each fault is named, with its figures and times, and a good call
//! has none.

mod calls;
mod connections;
mod pictures;
mod publishing;
mod robustness;
