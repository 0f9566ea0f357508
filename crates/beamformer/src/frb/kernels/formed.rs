//! The kernel of voltages of all beams of four full lines, and its tables on a device.

use fringes_backend::DeviceError;
use fringes_fft::internals::phase_table;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::frb::formed::{GROUPS, OUTS, THREADS, TIMES, shared_bytes};
use fringes_types::{SampleFormat, f16};

use super::choice::Family;
use super::launch::{Counts, Layout, check_u32};
use super::tables::turned;
use super::{Weights, output_words};
use crate::FrbBeams;

/// Launches have so many blocks for each that is resident.
const WAVES: u32 = 4;

/// The kernel of all beams.
#[derive(Debug)]
pub(super) struct Formed {
    pub(super) kernel: Kernel,
    weights: Buffer<u32>,
    phases: Buffer<u32>,
    rows: Buffer<u32>,
    scales: Buffer<u32>,
    shared_bytes: u32,
    blocks: u32,
}

impl Formed {
    /// The kernel of all beams of voltages of a format, if there is one and it has room in a block.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub(super) fn load(device: &Device, format: SampleFormat, beams: &FrbBeams) -> Result<Option<Self>, DeviceError> {
        let Ok(family) = Family::of_lines(format, beams) else { return Ok(None) };
        let rows = output_words(beams.map(), family.size).filter(|_| family.four(beams));
        let (Some(rows), Some(texts)) = (rows, family.texts()) else { return Ok(None) };
        let (north, pols) = (beams.north_beams() as u32, beams.pols() as u32);
        let limit = u64::from(device.info().limits.shared_bytes_per_block);
        let room =
            [GROUPS, 1].map(|groups| shared_bytes(north, pols, groups)).into_iter().find(|&bytes| bytes <= limit);
        let Some(shared_bytes) = room.and_then(|bytes| u32::try_from(bytes).ok()) else { return Ok(None) };
        let conjugate = beams.conjugate();
        // What weights were divided by, as f16.
        let scale = |&exponent: &i32| {
            let half = |value: f64| u32::from(f16::from_f64(value).to_bits());
            let value = 2f64.powi(exponent);
            (-14..=15).contains(&exponent).then(|| half(value) | half(if conjugate { -value } else { value }) << 16)
        };
        let Some(weights) = Weights::of(beams, &family) else { return Ok(None) };
        let Some(scales) = weights.exponents.iter().map(scale).collect::<Option<Vec<u32>>>() else { return Ok(None) };
        let sign = turned(beams.line_sign(), conjugate);
        let kernel = device.load(texts)?.kernel("formed_256_512_i4")?;
        let resident = kernel.blocks_per_multiprocessor(THREADS, shared_bytes)?;
        if resident == 0 {
            return Ok(None);
        }
        let stream = device.new_stream()?;
        Ok(Some(Self {
            blocks: resident.saturating_mul(device.info().multiprocessors),
            kernel,
            weights: Buffer::from_slice(&stream, &weights.words)?,
            phases: Buffer::from_slice(&stream, &phase_table(family.size, sign, 0))?,
            rows: Buffer::from_slice(&stream, &rows)?,
            scales: Buffer::from_slice(&stream, &scales)?,
            shared_bytes,
        }))
    }

    /// Queues the kernel; all sizes have been checked.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        voltages: BufferView<'_, u8>,
        layout: &Layout,
        counts: &Counts,
        times: usize,
        out: BufferViewMut<'_, u32>,
    ) -> Result<(), DeviceError> {
        let groups = counts.outs.div_ceil(OUTS as usize);
        let units = counts.frequencies.saturating_mul(groups);
        let wanted = (self.blocks.saturating_mul(WAVES) as usize).div_ceil(units.max(1));
        let splits = wanted.clamp(1, times.div_ceil(TIMES as usize).max(1));
        let units = check_u32("frequencies x sums x parts of a launch", units.saturating_mul(splits))?;
        let config = LaunchConfig::new([units.max(1), 1, 1], [THREADS, 1, 1]).with_shared_bytes(self.shared_bytes);
        let row = (counts.outs * counts.north_beams * counts.pols) as u64;
        let times = check_u32("times of a launch", times)?;
        let [frequencies, splits, outs, beams, pols] =
            [counts.frequencies, splits, counts.outs, counts.north_beams, counts.pols].map(|count| count as u32);
        let [time, frequency, pol, line] = layout.strides;
        let arguments = args![
            voltages,
            &self.weights,
            &self.phases,
            &self.rows,
            &self.scales,
            out,
            frequencies,
            times,
            splits,
            outs,
            beams,
            pols,
            layout.signs,
            time,
            frequency,
            pol,
            line,
            u64::from(times) * row,
            row
        ];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}
