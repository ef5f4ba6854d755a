//! The place where copies are made: the configured one and the actual one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dataplane::Statistics;

use super::kernel::Kernel;
use crate::{EbpfError, Path};

/// The configured place for making copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoomsPath {
    /// In the driver if all interfaces can, and in the stack otherwise.
    #[default]
    Auto,
    /// At the entry of the stack, after the driver.
    Tc,
    /// In the driver, or not at all.
    Xdp,
}

/// The actual place where packets that the driver's program accepts are copied.
#[derive(Clone, Copy, Debug)]
pub enum Copies<'a> {
    /// In the driver.
    InDriver,
    /// In the stack, and why not in the driver if that was wanted.
    InStack(Option<&'a EbpfError>),
}

/// The current place, in words, readable from other threads.
#[derive(Clone, Debug, Default)]
pub struct CopiesAt(Arc<Mutex<String>>);

impl CopiesAt {
    pub(super) fn set(&self, copies: Copies<'_>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = copies.to_string();
    }
}

impl fmt::Display for CopiesAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Statistics for CopiesAt {
    fn places(&self) -> Vec<(String, String)> {
        vec![("rooms".to_owned(), self.to_string())]
    }
}

impl<'a> Copies<'a> {
    pub(super) fn of(kernel: &'a Kernel) -> Self {
        match &kernel.broadcast {
            Ok(_) => Copies::InDriver,
            Err(why) => Copies::InStack(why.as_ref()),
        }
    }
}

impl fmt::Display for Copies<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Copies::InDriver => Path::Driver.fmt(f),
            Copies::InStack(None) => Path::Stack.fmt(f),
            Copies::InStack(Some(why)) => write!(f, "{}: {why}", Path::Stack),
        }
    }
}
