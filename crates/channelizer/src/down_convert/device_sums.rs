//! Statistics on a GPU: sums of a run in device memory, to which kernels add chunk by chunk.
//!
//! Samples are read where they are, held or in the chunk, and outputs when they are written. Nothing waits until the
//! sums are taken.

use fringes_backend::Staging;
use fringes_cpu::f_engine::SampleSums;
use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Stream};
use fringes_types::Inputs;

use super::statistics::Sums;
use crate::ChannelizerError;
use crate::internals::format::Numbers;
use crate::internals::samples::{SampleKernels, Stretches};

/// Tables that are on their way: those of the samples of two chunks, and flags.
const TABLES: usize = 6;
/// Those of the outputs of a band.
const BAND_TABLES: usize = 2;

/// Sums on a device.
#[derive(Debug)]
pub(super) struct DeviceSums {
    kernels: SampleKernels,
    samples: Buffer<u64>,
    bands: Vec<BandSums>,
    /// Formats of samples that were summed, and of outputs.
    numbers: [Option<Numbers>; 2],
    tables: Staging,
}

/// Sums of a band's outputs.
#[derive(Debug)]
struct BandSums {
    outputs: Buffer<u64>,
    saturated: Buffer<u64>,
}

/// Which sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Samples,
    /// Those of a band.
    Outputs(usize),
}

impl DeviceSums {
    /// Of nothing.
    pub(super) fn new(stream: &Stream, bands: usize, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let zeros = |length| Buffer::zeroed(stream, length);
        let length = SampleKernels::run_sums(inputs.len());
        let band = |_| Ok(BandSums { outputs: zeros(length)?, saturated: zeros(inputs.len())? });
        Ok(Self {
            kernels: SampleKernels::load(stream.device())?,
            samples: zeros(length)?,
            bands: (0..bands).map(band).collect::<Result<_, ChannelizerError>>()?,
            numbers: [None; 2],
            tables: Staging::new(TABLES + BAND_TABLES * bands),
        })
    }

    /// Counts of a band's outputs that saturated, to be added to.
    pub(super) fn saturated(&mut self, band: usize) -> BufferViewMut<'_, u64> {
        self.bands[band].saturated.view_mut()
    }

    /// Queues flags of outputs to the device.
    pub(super) fn send_flags(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        flags: &[u8],
    ) -> Result<Buffer<u8>, ChannelizerError> {
        Ok(self.tables.send(stream, pool, flags)?)
    }

    /// Queues the sums over stretches of each input: first bit and number of samples.
    pub(super) fn add(
        &mut self,
        (stream, pool): (&Stream, &BufferPool),
        of: Of,
        samples: BufferView<'_, u32>,
        numbers: Numbers,
        stretches: &[Vec<[u64; 2]>],
    ) -> Result<(), ChannelizerError> {
        if stretches.iter().all(Vec::is_empty) {
            return Ok(());
        }
        // Ends, filled up to 16 bytes, and behind them the stretches.
        let inputs = stretches.len();
        let mut end = 0;
        let ends = stretches.iter().map(|stretches| {
            end += stretches.len() as u32;
            end
        });
        let mut words: Vec<u32> = ends.collect();
        words.resize(inputs.next_multiple_of(4), 0);
        let first = words.len();
        let longs = stretches.iter().flatten().flatten();
        words.extend(longs.flat_map(|&long| [long as u32, (long >> 32) as u32]));
        let table = self.tables.send(stream, pool, &words)?;
        let (sums, known) = match of {
            Of::Samples => (&mut self.samples, &mut self.numbers[0]),
            Of::Outputs(band) => (&mut self.bands[band].outputs, &mut self.numbers[1]),
        };
        let (ends, stretches) = (table.slice(..inputs)?, table.slice(first..)?.cast()?);
        let stretches = Stretches { samples, numbers, inputs, stretches, ends };
        self.kernels.add(stream, stretches, sums.view_mut())?;
        *known = Some(numbers);
        Ok(())
    }

    /// Adds the sums, when they are there, and begins anew.
    pub(super) fn take(&mut self, stream: &Stream, sums: &mut Sums) -> Result<(), ChannelizerError> {
        let inputs = sums.samples.len();
        let [of_samples, of_outputs] = self.numbers;
        let samples = total(&self.samples.to_vec(stream)?, inputs, of_samples);
        let mut outputs = Vec::with_capacity(self.bands.len());
        for band in &self.bands {
            let (sums, saturated) = (band.outputs.to_vec(stream)?, band.saturated.to_vec(stream)?);
            let counted = total(&sums, inputs, of_outputs).into_iter().zip(saturated);
            outputs.push(counted.map(|(sums, clipped)| SampleSums { clipped, ..sums }).collect::<Vec<_>>());
        }
        self.clear(stream)?;
        sums.add(&Sums { samples, outputs });
        Ok(())
    }

    /// Queues that all begin anew.
    pub(super) fn clear(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        self.samples.view_mut().zero(stream)?;
        for band in &mut self.bands {
            band.outputs.view_mut().zero(stream)?;
            band.saturated.view_mut().zero(stream)?;
        }
        self.numbers = [None; 2];
        Ok(())
    }
}

/// The sums of each input, but for the number of samples, which the host knows.
fn total(sums: &[u64], inputs: usize, numbers: Option<Numbers>) -> Vec<SampleSums> {
    let of_input = |sums: &[u64]| {
        let mut total = SampleSums::default();
        for [squares, clipped] in sums.as_chunks::<2>().0 {
            let floats = numbers.is_none_or(|numbers| numbers.floats);
            let (whole_squares, float_squares) =
                if floats { (0, f64::from_bits(*squares)) } else { (u128::from(*squares), 0.0) };
            total.add(SampleSums { samples: 0, whole_squares, float_squares, clipped: *clipped });
        }
        total
    };
    sums.chunks_exact((sums.len() / inputs.max(1)).max(1)).map(of_input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_parts_are_added_up_as_what_they_are() {
        let integers = Numbers { bits: 10, parts: 1, floats: false, little_endian: false };
        let floats = Numbers { floats: true, bits: 32, ..integers };
        let whole = total(&[u64::MAX, 3, 5, 4, 7, 1, 8, 0], 2, Some(integers));
        assert_eq!((whole[0].whole_squares, whole[0].clipped), (u128::from(u64::MAX) + 5, 7));
        assert_eq!((whole[1].whole_squares, whole[1].clipped), (15, 1));
        let parts = [0.5f64.to_bits(), 0, 0.25f64.to_bits(), 0];
        assert_eq!(total(&parts, 1, Some(floats))[0].float_squares, 0.75);
        assert_eq!(total(&[0; 4], 2, None), [SampleSums::default(); 2]);
    }
}
