//! Scallop, Figures 18 to 20: meetings on a Tofino2 and on servers, with the headline numbers.
//!
//! `figures18-20` prints a Tofino2 beside each server, and writes the figures to
//! `docs/operate/planning`. `figures18-20 DIR` writes them to DIR.

use std::path::PathBuf;
use std::{env, fs, io};

use figures::scallop::{self, Worth};

fn main() -> io::Result<()> {
    let folder = env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from("docs/operate/planning"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let worth = scallop::worth();
    for (name, text) in scallop::files(&worth) {
        fs::write(folder.join(name), text)?;
    }
    print!("{}", Worth::markdown(&worth));
    Ok(())
}
