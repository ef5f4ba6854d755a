//! The place where copies are made: the configured one and the actual one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dataplane::Statistics;
use operator::Place;

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

/// The current place, readable from other threads.
#[derive(Clone, Debug, Default)]
pub struct CopiesAt(Arc<Mutex<Option<Place>>>);

impl CopiesAt {
    pub(super) fn set(&self, copies: Copies<'_>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(copies.view());
    }
}

impl Statistics for CopiesAt {
    fn places(&self) -> Vec<Place> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone().into_iter().collect()
    }
}

impl<'a> Copies<'a> {
    pub(super) fn of(kernel: &'a Kernel) -> Self {
        match &kernel.broadcast {
            Ok(_) => Copies::InDriver,
            Err(why) => Copies::InStack(why.as_ref()),
        }
    }

    /// As operators see it.
    fn view(self) -> Place {
        let (path, why_not) = match self {
            Copies::InDriver => (Path::Driver, None),
            Copies::InStack(why) => (Path::Stack, why.map(ToString::to_string)),
        };
        Place::Rooms {
            path: path.view(),
            why_not,
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
