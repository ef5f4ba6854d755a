//! Places in the kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelPath {
    /// In the driver.
    Driver,
    /// In the stack.
    Stack,
    /// In the stack, on a copy in the form that the driver would have used (generic XDP).
    Generic,
}

/// An interface at which the kernel relays calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub interface: String,
    /// The place where the program runs.
    pub path: KernelPath,
    /// Why it does not run where it would save more, if that was tried.
    pub why_not: Option<String>,
}

impl fmt::Display for KernelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KernelPath::Driver => "in the driver",
            KernelPath::Stack => "in the stack",
            KernelPath::Generic => "in the stack, as if in the driver",
        })
    }
}

/// In words: the place, where it is one for all interfaces, or else each with its interfaces.
pub(super) fn words(interfaces: &[Interface]) -> String {
    let is_one = interfaces.windows(2).all(|pair| pair[0].path == pair[1].path);
    if is_one && interfaces.iter().all(|interface| interface.why_not.is_none()) {
        return interfaces
            .first()
            .map_or_else(String::new, |interface| interface.path.to_string());
    }
    let names = |path: KernelPath| {
        let there = interfaces.iter().filter(|interface| interface.path == path);
        let names = there.map(|interface| match &interface.why_not {
            Some(why_not) => format!("{}, as {why_not}", interface.interface),
            None => interface.interface.clone(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let places = [KernelPath::Driver, KernelPath::Stack, KernelPath::Generic].map(|path| (path, names(path)));
    let places = places.into_iter().filter(|(_, names)| !names.is_empty());
    let places = places.map(|(path, names)| format!("{path} ({names})"));
    places.collect::<Vec<_>>().join("; ")
}
