//! The kernel of finer channels on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Module, Stream, args};

use super::super::launch::{Counts, Layout};
use super::prepared::TimeTransform;

/// Threads of a block, feeds that it takes of a transform in registers and of a longer one, and words between these.
const THREADS: u32 = 256;
const WIDTHS: [usize; 2] = [256, 32];
const PITCH: usize = 33;

/// Times of the longest transform in registers of a thread.
const FEW: usize = 32;

/// The transform of feeds over time, on a device.
#[derive(Debug)]
pub(super) struct Channels {
    kernel: Kernel,
    phases: Buffer<u32>,
    times: usize,
    negative: bool,
    scale: f32,
    shared_bytes: u32,
    blocks: u32,
}

impl Channels {
    pub(super) fn load(
        device: &Device,
        module: &Module,
        stream: &Stream,
        time: &TimeTransform,
    ) -> Result<Self, DeviceError> {
        let kernel = module.kernel(&format!("channels_{}", time.times))?;
        let shared_bytes = if time.times > FEW { (4 * PITCH * time.times) as u32 } else { 0 };
        let resident = kernel.blocks_per_multiprocessor(THREADS, shared_bytes)?;
        if resident == 0 {
            let expected = "shared memory for a block of times";
            return Err(DeviceError::NoKernel { expected, actual: format!("{shared_bytes} bytes that are not there") });
        }
        Ok(Self {
            blocks: resident.saturating_mul(device.info().multiprocessors),
            kernel,
            phases: Buffer::from_slice(stream, &time.phases)?,
            times: time.times,
            negative: time.negative,
            scale: 2f32.powi(time.exponent),
            shared_bytes,
        })
    }

    /// Queues the channels of so many blocks of times.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        voltages: BufferView<'_, u8>,
        channels: BufferViewMut<'_, u32>,
        counts: &Counts,
        layout: &Layout,
        blocks: usize,
    ) -> Result<(), DeviceError> {
        let width = if self.times > FEW { WIDTHS[1] } else { WIDTHS[0] };
        let tiles = columns(counts).div_ceil(width);
        let units = [counts.frequencies, tiles].iter().fold(blocks, |units, &count| units.saturating_mul(count));
        // More blocks than are resident, as their work differs: those that find none end at once.
        let grid = units.clamp(1, 8 * self.blocks as usize) as u32;
        let config = LaunchConfig::new([grid, 1, 1], [THREADS, 1, 1]).with_shared_bytes(self.shared_bytes);
        let [frequencies, pols, lines, feeds] =
            [counts.frequencies, counts.pols, counts.lines, counts.feeds].map(|count| count as u32);
        let [time, frequency, pol, line] = layout.strides;
        let arguments = args![
            voltages,
            &self.phases,
            channels,
            super::super::launch::check_u32("blocks of times of a launch", blocks)?,
            frequencies,
            pols,
            lines,
            feeds,
            layout.format(),
            layout.signs,
            u32::from(self.negative),
            self.scale,
            time,
            frequency,
            pol,
            line
        ];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

/// Numbers of a time and frequency in the channels: feeds of a line rounded up to a multiple of 4.
pub(super) fn columns(counts: &Counts) -> usize {
    counts.pols * counts.lines * counts.feeds.next_multiple_of(4)
}
