//! Graphs: work that is captured once and queued again as a whole.

use cudarc::driver::sys;

use crate::context::Handle;
use crate::driver::{self, Doing};
use crate::{Device, Event, GpuError, Stream};

/// Captured work. `Graph` is `Send` and `Sync`; it is launched by one thread at a time.
#[derive(Debug)]
pub struct Graph {
    device: Device,
    executable: Handle<sys::CUgraphExec_st>,
    nodes: usize,
    /// Recorded after the last launch.
    done: Event,
}

impl Graph {
    /// Captures what `work` queues on `stream`, in place of doing it.
    ///
    /// While capturing, this thread must not allocate or free device memory or wait for the device; the driver answers
    /// with an error. Launches, device copies and fills, and copies from and to pinned buffers are captured. The
    /// default stream cannot be captured.
    ///
    /// # Errors
    /// What `work` returns, and what the driver answers to work that cannot be captured.
    pub fn capture<E: From<GpuError>>(stream: &Stream, work: impl FnOnce(&Stream) -> Result<(), E>) -> Result<Self, E> {
        /// Calls of this thread that would break the order of the captured work are refused
        /// (`CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`).
        const THREAD_LOCAL: u32 = 1;
        let device = stream.device();
        let entered = device.context.enter()?;
        // SAFETY: the stream is valid, and the mode is one of the driver's.
        unsafe { driver::cuStreamBeginCapture_v2(stream.raw(), THREAD_LOCAL) }.doing("starting to capture a stream")?;
        drop(entered);
        let capturing = Capturing { stream, ended: false };
        let worked = work(stream);
        let captured = capturing.end();
        worked?;
        Ok(Self::instantiate(&captured?)?)
    }

    fn instantiate(captured: &Captured<'_>) -> Result<Self, GpuError> {
        let device = captured.device;
        let done = device.new_untimed_event()?;
        let _entered = device.context.enter()?;
        let mut nodes = 0usize;
        // SAFETY: the graph is valid; with no array, only the number of nodes is written.
        unsafe { driver::cuGraphGetNodes(captured.raw, std::ptr::null_mut(), &raw mut nodes) }
            .doing("counting a graph's nodes")?;
        let mut executable: sys::CUgraphExec = std::ptr::null_mut();
        // SAFETY: the graph is valid, the pointer is valid for the call, and there are no flags.
        unsafe { driver::cuGraphInstantiateWithFlags(&raw mut executable, captured.raw, 0) }
            .doing("making a graph of captured work")?;
        Ok(Self { device: device.clone(), executable: Handle(executable), nodes, done })
    }

    /// Number of kernels, copies and fills in it.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Queues the captured work on a stream. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for a stream of another context; what the driver answers.
    ///
    /// # Safety
    /// - All buffers, pinned buffers and modules that the captured work uses live until this launch is done, and pinned
    ///   buffers are not read or changed by the host meanwhile;
    /// - for every captured kernel, the conditions of [`Kernel::launch`](crate::Kernel::launch) hold again.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.device.context.expect_same(&stream.device().context, "the stream")?;
        let _entered = self.device.context.enter()?;
        // SAFETY: graph and stream are valid; the caller answers for the memory.
        unsafe { driver::cuGraphLaunch(self.executable.0, stream.raw()) }.doing("launching a graph")?;
        self.done.record(stream)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Err(error) = self.done.synchronize() {
            tracing::error!("ending a graph: {error}");
        }
        match self.device.context.enter() {
            Err(error) => tracing::error!("ending a graph: {error}"),
            // SAFETY: the graph was made here, its last launch is done, and it is used no more.
            Ok(_entered) => driver::report(unsafe { driver::cuGraphExecDestroy(self.executable.0) }, "ending a graph"),
        }
    }
}

/// Ends the capture, also where the work panics.
struct Capturing<'a> {
    stream: &'a Stream,
    ended: bool,
}

impl<'a> Capturing<'a> {
    fn end(mut self) -> Result<Captured<'a>, GpuError> {
        self.ended = true;
        end_capture(self.stream)
    }
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let Err(error) = end_capture(self.stream)
        {
            tracing::error!("{error}");
        }
    }
}

/// A graph that was captured, until it is made executable.
struct Captured<'a> {
    device: &'a Device,
    raw: sys::CUgraph,
}

impl Drop for Captured<'_> {
    fn drop(&mut self) {
        match self.device.context.enter() {
            Err(error) => tracing::error!("ending a captured graph: {error}"),
            // SAFETY: the graph was captured here and is used no more; what was made of it does not need it.
            Ok(_entered) => driver::report(unsafe { driver::cuGraphDestroy(self.raw) }, "ending a captured graph"),
        }
    }
}

fn end_capture(stream: &Stream) -> Result<Captured<'_>, GpuError> {
    let device = stream.device();
    let _entered = device.context.enter()?;
    let mut raw: sys::CUgraph = std::ptr::null_mut();
    // SAFETY: the stream is being captured, and the pointer is valid for the call.
    unsafe { driver::cuStreamEndCapture(stream.raw(), &raw mut raw) }.doing("capturing a stream's work")?;
    Ok(Captured { device, raw })
}
