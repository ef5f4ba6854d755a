//! TLS of the HTTP port: certificates from files, from an ACME directory, or made for development.
//!
//! [`Certificates`] is the set that is served. [`Files`] and [`acme`] put certificates into it, and
//! [`accept`](accept::accept) takes one of them for each handshake. Connections keep the
//! certificate of their handshake.

pub(crate) mod accept;
pub(crate) mod acme;
pub(crate) mod certificate;
mod challenges;
pub(crate) mod client;
pub(crate) mod counters;
mod development;
pub(crate) mod files;
mod open;
mod store;

pub(crate) use files::{CertificateFiles, Files};
pub(crate) use open::{Settings, open};
pub(crate) use store::Certificates;
