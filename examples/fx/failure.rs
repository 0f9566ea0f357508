//! Why the program ends early: one line that says what is wrong and where.

use std::error::Error;
use std::fmt::Display;

/// A line for the user.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// What most functions here return.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure that names a place (a file, an argument, a step) and what is wrong there.
    pub(crate) fn at(place: impl Display, what: impl Display) -> Self {
        Self(format!("{place}: {what}"))
    }

    /// The line, without line breaks.
    pub(crate) fn line(&self) -> String {
        self.0.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Names the place of an error.
pub(crate) trait At<T> {
    /// The value, or a failure that names `place`.
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Display> At<T> for std::result::Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|error| Failure::at(place, error))
    }
}
