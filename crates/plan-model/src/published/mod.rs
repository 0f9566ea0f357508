//! Telescopes that were described elsewhere, and what the model says of them.
//!
//! Numbers of others are as their sources have them, or a product of such numbers that the figure's text states. Ours
//! are computed with all of a GPU and of its link, without a network, as most sources say nothing of theirs. GPUs are
//! not compared with GPUs of other kinds as if they were equal: where the kind is known, a row converts by the peaks of
//! the data sheets.

mod figures;
mod sources;

use serde::Serialize;

pub use figures::comparisons;
pub use sources::{SOURCES, Source};

/// A published number beside ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The instrument.
    pub design: &'static str,
    /// What is compared.
    pub quantity: &'static str,
    /// Unit of both numbers.
    pub unit: &'static str,
    /// The published number; none where none was found.
    pub published: Option<f64>,
    /// Ours.
    pub ours: f64,
    /// Numbers of the sources in [`SOURCES`], from 1.
    pub sources: &'static [usize],
    /// How the numbers come about, and why they disagree where they do.
    pub why: &'static str,
}

impl Comparison {
    /// Ours over theirs.
    pub fn ratio(&self) -> Option<f64> {
        self.published.map(|published| self.ours / published)
    }
}
