//! Figures of the papers, computed anew.
