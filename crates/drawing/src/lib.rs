//! Drawings of figures, as SVG.

#![forbid(unsafe_code)]

pub mod curves;
pub mod svg;
