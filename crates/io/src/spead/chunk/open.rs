//! A chunk that heaps are stored in.

use bytemuck::Pod;

use super::format::Grid;

/// An array that heaps are copied to, and flags of those that came.
#[derive(Debug)]
pub(crate) struct OpenChunk<E> {
    data: Vec<E>,
    presence: Vec<bool>,
    absent: usize,
    /// Whether the array holds what was in it before, where nothing came.
    used: bool,
}

impl<E: Pod> OpenChunk<E> {
    /// An empty chunk, in memory that was used if it has the right size.
    pub(crate) fn new(grid: &Grid, spare: Option<Vec<E>>) -> Self {
        let heaps = grid.slots * grid.batches;
        let elements = heaps * (grid.heap_bytes / size_of::<E>());
        let spare = spare.filter(|spare| spare.len() == elements);
        let used = spare.is_some();
        let data = spare.unwrap_or_else(|| bytemuck::zeroed_vec(elements));
        Self { data, presence: vec![false; heaps], absent: heaps, used }
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

    /// The array, zero where nothing came, and the flags `[batch][slot]`. `position` is the part's number for a flag's.
    pub(crate) fn into_parts(mut self, position: impl Fn(usize) -> usize, grid: &Grid) -> (Vec<E>, Vec<bool>) {
        if self.used && self.absent > 0 {
            let length = grid.heap_bytes / size_of::<E>();
            for (flag, _) in self.presence.iter().enumerate().filter(|(_, present)| !**present) {
                let start = position(flag) * length;
                if let Some(part) = self.data.get_mut(start..start + length) {
                    part.fill(E::zeroed());
                }
            }
        }
        (self.data, self.presence)
    }
}
