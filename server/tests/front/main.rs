//! The program's front, from outside: what it takes over while it runs, and how it ends.

mod reload;
mod server;
