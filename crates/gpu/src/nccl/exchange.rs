//! What one GPU sends and receives.

use crate::{BufferView, BufferViewMut, Stream};

/// What one GPU sends to others and receives from them, in the order of a stream of its own.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub(super) stream: &'a Stream,
    /// Ranks, and what goes there.
    pub(super) sends: Vec<(usize, BufferView<'a, u8>)>,
    /// Ranks, and where what they send comes to.
    pub(super) receives: Vec<(usize, BufferViewMut<'a, u8>)>,
}

impl<'a> Exchange<'a> {
    /// Nothing yet, on a stream of the GPU.
    #[must_use]
    pub fn new(stream: &'a Stream) -> Self {
        Self { stream, sends: Vec::new(), receives: Vec::new() }
    }

    /// Sends bytes of the GPU to the GPU of a rank, after what it sends there already.
    #[must_use]
    pub fn send(mut self, to: usize, bytes: BufferView<'a, u8>) -> Self {
        self.sends.push((to, bytes));
        self
    }

    /// Receives as many bytes as a view has from the GPU of a rank, after what it receives from there already.
    #[must_use]
    pub fn receive(mut self, from: usize, bytes: BufferViewMut<'a, u8>) -> Self {
        self.receives.push((from, bytes));
        self
    }
}
