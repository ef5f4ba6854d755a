//! Scallop, Figures 18 to 20: meetings on a Tofino2 and on a server of 32 cores, by their size.
//!
//! `figure18 [FILE]` writes a table, by default `docs/papers/planning.csv`. Nothing is measured, so
//! every run gives the same file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use planning::{Device, PARTICIPANTS_SWEPT, Quality, Server, alone, envelope};

/// Meetings of least and most, then those that each part of the device would allow alone if all
/// participants send at the highest quality. Empty cells are parts that are not needed.
const HEADER: &str = "participants,device_least,device_most,server_least,server_most,ratio_least,ratio_most,\
nra,ra_r,ra_sr,s_lm,s_lr,bandwidth,server\n";

fn main() -> io::Result<()> {
    let path = env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from("docs/papers/planning.csv"), PathBuf::from);
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    let mut text = String::from(HEADER);
    let cell = |meetings: Option<u64>| meetings.map_or_else(String::new, |meetings| meetings.to_string());
    for participants in PARTICIPANTS_SWEPT {
        let Some(all) = envelope(&device, &server, participants) else {
            continue;
        };
        let parts = alone(&device, &server, participants, Quality::High);
        let (nra, ra_r, ra_sr) = (cell(parts.nra), cell(parts.ra_r), cell(parts.ra_sr));
        let (s_lm, s_lr, bandwidth) = (cell(parts.s_lm), cell(parts.s_lr), cell(parts.bandwidth));
        let _ = writeln!(
            text,
            "{participants},{},{},{},{},{:.2},{:.2},{nra},{ra_r},{ra_sr},{s_lm},{s_lr},{bandwidth},{}",
            all.device.0, all.device.1, all.server.0, all.server.1, all.ratio.0, all.ratio.1, parts.server
        );
    }
    fs::write(path, text)
}
