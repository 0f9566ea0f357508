//! What one GPU sends and receives.

use std::ffi::{c_int, c_void};

use crate::nccl::library::{BYTE, Comm, Functions};
use crate::{BufferView, BufferViewMut, Device, GpuError, Stream};

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

    /// Checks that stream and memory are of the rank's GPU, and that ranks that are named are among so many.
    pub(super) fn check(&self, device: &Device, ranks: usize) -> Result<(), GpuError> {
        let value = |what, expected: String, actual: String| GpuError::Value { what, expected, actual };
        let context = &device.context;
        context.expect_same(&self.stream.device().context, "the stream of an exchange")?;
        if self.stream.is_capturing()? {
            let expected = "a stream that is not being captured".into();
            return Err(value("an exchange between GPUs", expected, "one that is".into()));
        }
        for (_, bytes) in &self.sends {
            context.expect_same(&bytes.device().context, "what is sent")?;
        }
        for (_, bytes) in &self.receives {
            context.expect_same(&bytes.device().context, "where it is received")?;
        }
        let named = self.sends.iter().map(|(rank, _)| *rank);
        let mut named = named.chain(self.receives.iter().map(|(rank, _)| *rank));
        match named.find(|named| *named >= ranks) {
            Some(named) => Err(value("a rank of an exchange", format!("less than {ranks}"), named.to_string())),
            None => Ok(()),
        }
    }

    /// Queues what it sends and receives with a communicator of its GPU, inside of a group. It has been checked.
    pub(super) fn queue(&mut self, functions: &Functions, comm: Comm) -> Result<(), GpuError> {
        let stream = self.stream.raw();
        for (to, bytes) in self.sends.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let (from, length) = (bytes.address() as *const c_void, bytes.len());
            // SAFETY: the bytes are memory of the rank's GPU, and freeing it waits for what is queued on the
            // stream, which is the same GPU's; the rank exists, and receives as many bytes.
            let answer = unsafe { (functions.send)(from, length, BYTE, *to as c_int, comm, stream) };
            functions.check(answer, "sending to another GPU")?;
        }
        for (from, bytes) in self.receives.iter_mut().filter(|(_, bytes)| !bytes.is_empty()) {
            let (to, length) = (bytes.address() as *mut c_void, bytes.len());
            // SAFETY: as above; the bytes are borrowed uniquely.
            let answer = unsafe { (functions.recv)(to, length, BYTE, *from as c_int, comm, stream) };
            functions.check(answer, "receiving from another GPU")?;
        }
        Ok(())
    }
}
