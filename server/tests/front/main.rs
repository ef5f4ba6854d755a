//! The program's front, from outside: what it takes over while it runs, requests that are never
//! whole, and how it ends; HTTPS, and certificates of an ACME directory.

mod acme;
mod authority;
mod checks;
mod directory;
mod doctor;
mod drain;
mod https;
mod operators;
mod prometheus;
mod reload;
mod server;
mod slow;
mod turn;
mod turn_port;
