//! Launches of kernels that check what they rely on themselves.

use crate::{Argument, GpuError, Kernel, LaunchConfig, Stream};

impl Kernel {
    /// Queues a kernel that is declared safe: one that stays inside its views for any arguments. Returns at once.
    ///
    /// As [`Kernel::launch`]. Without an order to work on other streams ([`Stream::wait`]) the numbers may be wrong, but no memory is touched
    /// that the arguments do not name, and device memory is freed only when the device is done with it; so this needs no `unsafe`. Memory of other
    /// software is answered for where it is named ([`Buffer::from_external`](crate::Buffer::from_external)).
    ///
    /// # Errors
    /// [`GpuError::NotDeclaredSafe`] for a kernel that relies on its caller, and for tensor maps, which do not keep their memory as
    /// [`TensorView`](crate::TensorView)s do; else as
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
        // SAFETY: the kernel keeps to its views whatever the arguments are, and tensor maps are of borrowed memory. The views' memory is freed only when
        // the device is done with it, and nothing of the host can be reached through it.
        unsafe { self.launch(stream, config, arguments) }
    }
}
