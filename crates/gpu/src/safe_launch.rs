//! Launches of kernels that check what they rely on themselves.

use std::ops::RangeBounds;

use crate::view::{BufferView, resolve};
use crate::{Argument, GpuError, Kernel, KernelElement, LaunchConfig, PinnedBuffer, Stream};

impl Kernel {
    /// Queues a kernel that is declared safe: one that stays inside its views for any arguments. Returns at once.
    ///
    /// As [`Kernel::launch`]. Without an order to work on other streams ([`Stream::wait`]) the numbers may be wrong,
    /// but no memory is touched that the arguments do not name, and device memory is freed only when the device is
    /// done with it; so this needs no `unsafe`. Memory of other software is answered for where it is named
    /// ([`Buffer::from_external`](crate::Buffer::from_external)).
    ///
    /// # Errors
    /// [`GpuError::NotDeclaredSafe`] for a kernel that relies on its caller, and for tensor maps, which do not keep
    /// their memory as [`TensorView`](crate::TensorView)s do; else as
    /// [`Kernel::launch`].
    pub fn launch_safe(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<(), GpuError> {
        let maps = arguments.iter().any(|argument| !argument.borrows);
        if !self.declaration().safe || maps {
            return Err(GpuError::NotDeclaredSafe { kernel: self.declaration().name.clone() });
        }
        // SAFETY: the kernel keeps to its views whatever the arguments are, and tensor maps are of borrowed memory. The
        // views' memory is freed only when the device is done with it, and nothing of the host can be reached
        // through it.
        unsafe { self.launch(stream, config, arguments) }
    }

    /// As [`Kernel::launch_safe`], with a part of pinned memory as argument number `at`: the kernel reads it over the
    /// link. Small tables come to a device so beside large copies, which a copy would wait for. The pinned buffer
    /// waits for the kernel before it lets its content be changed.
    ///
    /// # Errors
    /// As there; [`GpuError::Range`] and [`GpuError::Alignment`] where the bytes `range` are not in the buffer, or are
    /// no elements.
    pub fn launch_with_pinned<T: KernelElement>(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &[Argument<'_>],
        at: usize,
        pinned: &PinnedBuffer<u8>,
        range: impl RangeBounds<usize>,
    ) -> Result<(), GpuError> {
        let range = resolve(&range, pinned.len())?;
        pinned.device_reads(stream, |memory| {
            // Host memory that the driver gave has the same address on every device.
            let address = memory.wrapping_add(range.start) as u64;
            let part = BufferView::<u8>::new(stream.device(), address, range.len()).cast::<T>()?;
            let at = at.min(arguments.len());
            let mut all = arguments.to_vec();
            all.insert(at, part.into());
            self.launch_safe(stream, config, &all)
        })
    }
}
