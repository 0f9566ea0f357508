//! The solver: register assignments for a chain of contractions.
