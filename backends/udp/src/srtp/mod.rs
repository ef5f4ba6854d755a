//! SRTP and SRTCP: what turns RTP and RTCP into what goes over the air, and back.
//!
//! A leg owns one [`Sealer`] for what it sends and one [`Opener`] for what it receives; each
//! derives its session keys once, from a [`dataplane::MasterKey`]. Both work in place, take no lock
//! and allocate nothing per packet, and no input can make them panic. [`StreamIndexes`] keeps the
//! rule that keystream is never used twice: a (key, SSRC, index) protects one packet, ever.
//!
//! Read [`Sealer`] and [`Opener`] first. Below them: `cipher` chooses between `gcm` (RFC 7714) and
//! `encrypt_then_mac` (RFC 3711, with `cm`, `f8` or no cipher), `kdf` derives keys, and `streams`
//! is the bounded table of SSRCs. The replay windows are in `replay_window`.
//!
//! A key identifier (MKI) is checked and taken away where packets have one, and never added.
//! Packets go unencrypted or without a tag only where both ends agreed on it (RFC 4568 section
//! 6.3). Not supported, because nobody asks for it: key derivation rates other than zero, and
//! encrypted header extensions (RFC 6904). Header extensions are authenticated and in clear.

mod cipher;
mod cm;
mod encrypt_then_mac;
mod f8;
mod gcm;
mod indexes;
mod kdf;
mod opener;
mod overhead;
mod packet;
mod sealer;
mod streams;

#[cfg(test)]
mod tests;

pub use indexes::{Bytes, Refused, StreamIndexes};
pub use opener::{OpenError, Opened, Opener};
pub use overhead::{RTP_OVERHEAD_MAX, rtcp_overhead, rtp_overhead};
pub use sealer::{Exhausted, Sealer};
