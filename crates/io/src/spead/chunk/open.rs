//! A chunk that heaps are stored in.

use bytemuck::Pod;

use super::format::Grid;

/// An array of zeros that heaps are copied to, and flags of those that came.
#[derive(Debug)]
pub(crate) struct OpenChunk<E> {
    data: Vec<E>,
    presence: Vec<bool>,
    absent: usize,
}

impl<E: Pod> OpenChunk<E> {
    pub(crate) fn new(grid: &Grid) -> Self {
        let heaps = grid.slots * grid.batches;
        let data = bytemuck::zeroed_vec(heaps * (grid.heap_bytes / size_of::<E>()));
        Self { data, presence: vec![false; heaps], absent: heaps }
    }

    /// Marks a heap as present and gives its part of the array; `None` if it was present. `position` is the part's
    /// number.
    pub(crate) fn take(&mut self, flag: usize, position: usize, grid: &Grid) -> Option<&mut [E]> {
        let length = grid.heap_bytes / size_of::<E>();
        let present = self.presence.get_mut(flag).filter(|present| !**present)?;
        let part = self.data.get_mut(position * length..(position + 1) * length)?;
        *present = true;
        self.absent -= 1;
        Some(part)
    }

    /// Whether every heap came.
    pub(crate) fn is_full(&self) -> bool {
        self.absent == 0
    }

    /// The array and the flags `[batch][slot]`.
    pub(crate) fn into_parts(self) -> (Vec<E>, Vec<bool>) {
        (self.data, self.presence)
    }
}
