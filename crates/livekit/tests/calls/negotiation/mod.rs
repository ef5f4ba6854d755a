//! Session descriptions.

mod clear;
mod dual;
mod odd_descriptions;
mod protocols;
mod single;
