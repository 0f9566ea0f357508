//! Figures of other people's programs, docs/measurements/peers.json: each with its date, GPU and how it was measured.

use std::path::Path;

use serde::Deserialize;

/// All figures of peers.
#[derive(Debug, Deserialize)]
pub(super) struct Peers {
    pub(super) rows: Vec<Peer>,
}

/// One figure.
#[derive(Debug, Deserialize)]
pub(super) struct Peer {
    /// The topic whose page shows it.
    pub(super) topic: String,
    /// What is computed, and its size: the words of the summary's line that it stands beside.
    pub(super) operation: String,
    pub(super) size: String,
    /// Name of the program, with its version or date.
    pub(super) peer: String,
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) date: String,
    pub(super) gpu: String,
    /// How it was measured.
    pub(super) how: String,
}

/// Reads the figures.
pub(super) fn load(file: &Path) -> Result<Peers, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}

impl Peers {
    /// The highest rate that a peer has at an operation and size.
    pub(super) fn best(&self, operation: &str, size: &str) -> Option<&Peer> {
        let here = self.rows.iter().filter(|peer| peer.operation == operation && peer.size == size);
        here.max_by(|one, other| one.value.total_cmp(&other.value))
    }
}
