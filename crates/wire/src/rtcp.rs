//! Reports and feedback.
