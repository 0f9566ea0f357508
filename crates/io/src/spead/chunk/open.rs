//! A chunk that heaps are stored in.

use super::format::Grid;

/// An array that heaps are copied to, and flags of those that came.
#[derive(Debug)]
pub(crate) struct OpenChunk<A> {
    array: A,
    presence: Vec<bool>,
    absent: usize,
    /// Whether the array holds what was in it before, where nothing came.
    used: bool,
}

impl<A> OpenChunk<A> {
    /// An empty chunk, in memory that may have been used.
    pub(crate) fn new(grid: &Grid, array: A, used: bool) -> Self {
        let heaps = grid.slots * grid.batches;
        Self { array, presence: vec![false; heaps], absent: heaps, used }
    }

    /// Marks a heap as present; whether it was not.
    pub(crate) fn take(&mut self, flag: usize) -> bool {
        let Some(present) = self.presence.get_mut(flag).filter(|present| !**present) else { return false };
        *present = true;
        self.absent -= 1;
        true
    }

    /// The array.
    pub(crate) fn array_mut(&mut self) -> &mut A {
        &mut self.array
    }

    /// Whether every heap came.
    pub(crate) fn is_full(&self) -> bool {
        self.absent == 0
    }

    /// Flags of heaps whose part of the array holds what was in it before.
    pub(crate) fn stale(&self) -> impl Iterator<Item = usize> {
        let flags = if self.used && self.absent > 0 { &self.presence[..] } else { &[] };
        flags.iter().enumerate().filter(|(_, present)| !**present).map(|(flag, _)| flag)
    }

    /// The array and the flags `[batch][slot]`.
    pub(crate) fn into_parts(self) -> (A, Vec<bool>) {
        (self.array, self.presence)
    }
}
