//! FX correlator.
fn main() {}
