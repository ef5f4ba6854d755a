//! Input to the relay while it runs.

use std::io;

use nix::unistd;

/// No line is longer.
const LINE_MAX: usize = 4096;

/// Standard input, cut into lines.
#[derive(Default)]
pub(crate) struct Input {
    pending: Vec<u8>,
}

impl Input {
    /// Reads available input; false at the end.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; LINE_MAX];
        // Not through the standard library's buffer: polling does not see data that it holds.
        let length = unistd::read(io::stdin(), &mut buffer)?;
        self.pending.extend_from_slice(&buffer[..length]);
        if self.pending.len() > LINE_MAX && !self.pending.contains(&b'\n') {
            return Err(io::Error::other("a line of input is too long"));
        }
        Ok(length > 0)
    }

    /// The next whole line that is not empty.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let end = self.pending.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}
