//! The error of reading one part of a file.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

/// The error, with the place where it is.
#[derive(Debug)]
pub(super) struct Error {
    pub cause: Cause,
    /// From the inside, while it is handed outwards.
    steps: Vec<usize>,
}

/// The kind of an error.
#[derive(Debug)]
pub(super) enum Cause {
    /// The value has another form than this one.
    Form(String),
    /// There is no setting of this name, but those.
    Unknown(String, &'static [&'static str]),
    /// The value is none of those.
    Choice(String, &'static [&'static str]),
    /// A setting of this name is needed.
    Missing(&'static str),
    /// A setting is given by two names.
    Twice(&'static str),
    /// Another reason, which the type gives.
    Other(String),
}

impl Error {
    pub(super) fn form(form: impl Into<String>) -> Self {
        Cause::Form(form.into()).into()
    }

    /// The same, inside of an entry or element of this number.
    pub(super) fn within(mut self, step: usize) -> Self {
        self.steps.push(step);
        self
    }

    /// The place: numbers of entries and elements, from the outside.
    pub(super) fn place(&self) -> Vec<usize> {
        self.steps.iter().rev().copied().collect()
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        let steps = Vec::new();
        Error { cause, steps }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.cause)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Cause::Other(why.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Error::form(expected.to_string())
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Error::form(expected.to_string())
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Cause::Unknown(name.to_owned(), known).into()
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Cause::Choice(name.to_owned(), known).into()
    }

    fn missing_field(name: &'static str) -> Self {
        Cause::Missing(name).into()
    }

    fn duplicate_field(name: &'static str) -> Self {
        Cause::Twice(name).into()
    }
}
