//! Bands on a GPU: everything is queued on one stream, or begins and ends in its order, and nothing waits. A chunk is
//! copied, held and counted once for all bands.
//!
//! ```text
//! held rows  |held held held|head of the chunk|      outputs that begin before the chunk, and up to 15 more
//! chunk                     |chunk chunk chunk       all others read it where it is
//! ```

mod queue;

use fringes_backend::{DeviceError, DeviceSamples, MemoryNeed, Staging, Uploader};
use fringes_cpu::f_engine::SampleSums;
use fringes_gpu::{BufferPool, Device, Stream};
use fringes_types::{ChunkFormat, Inputs, SampleChunk, Samples};

pub(super) use self::queue::absent_flags;
use super::band::{Band, Piece};
use super::cpu::zeros;
use super::device_sums::DeviceSums;
use super::held_rows::HeldRows;
use super::kernels::DownConvertKernels;
use super::order::BandOrder;
use super::output::{self, DeviceRows};
use super::progress::Step;
use super::statistics::Sums;
use super::tunings::Tunings;
use super::{DownConvertedSample, DownConverter};
use crate::ChannelizerError;
use crate::internals::chunk;
use crate::internals::format::Numbers;

/// Outputs that launches are divided at multiples of: kernels may compute so many together.
const TOGETHER: u64 = 16;

/// Largest decimation for which they are. Of a larger one so many outputs are more samples than are worth a copy.
const MOST_DECIMATION: usize = 1 << 12;

/// Tables of a band's retunes that may be on their way to the device: two of each of eight retunes.
const TABLES: usize = 16;

/// What a stream on a GPU has beside its position.
#[derive(Debug)]
pub(super) struct GpuStream<T: DownConvertedSample> {
    stream: Stream,
    /// Streams of other bands than the first one, which begin after what `stream` was given, and end before what it is
    /// given next.
    beside: Vec<Stream>,
    order: BandOrder,
    pool: BufferPool,
    /// Of each band.
    kernels: Vec<Tunings<DownConvertKernels<T>>>,
    held: HeldRows,
    uploader: Uploader,
    reads: Staging,
    tables: Staging,
    sums: Option<DeviceSums>,
    /// Whether the sums are to begin anew.
    sums_are_old: bool,
    /// Whether the weights are to be those of the plans again.
    kernels_are_old: bool,
}

/// Memory for a stream of chunks of `times` samples and so many bands.
pub(super) fn stream_need<T: DownConvertedSample>(
    plan: &DownConverter,
    bands: usize,
    inputs: Inputs,
    times: usize,
    format: ChunkFormat,
) -> MemoryNeed {
    let (taps, decimation) = (plan.filter.len() as u64, plan.decimation as u64);
    let outputs = (times as u64).div_ceil(decimation);
    let output_bytes = DeviceRows::<T>::bytes(inputs, outputs).saturating_mul(bands as u64);
    // The last window of the rows begins less than so many outputs behind what is held.
    let rounded = if plan.decimation <= MOST_DECIMATION { TOGETHER * decimation } else { 0 };
    let head = (times as u64).min(taps.saturating_add(rounded));
    let held = HeldRows::most_bytes(format, inputs, taps - 1, head);
    let input_bytes = chunk::bytes(format, inputs, times);
    let weights = DownConvertKernels::<T>::bytes(plan).saturating_mul(bands as u64);
    let parts = [input_bytes, output_bytes, held, weights];
    let workspace_bytes = parts.into_iter().fold(0, u64::saturating_add);
    MemoryNeed { input_bytes, output_bytes, workspace_bytes, smallest_step_bytes: workspace_bytes }
}

impl<T: DownConvertedSample> GpuStream<T> {
    /// Before the first chunk, on a stream of its own.
    pub(super) fn new(device: &Device, bands: &[Band], inputs: Inputs) -> Result<Self, ChannelizerError> {
        let stream = device.new_stream()?;
        let (pool, mut tables) = (BufferPool::new(device), Staging::new(TABLES * bands.len()));
        // In memory of the pool, which goes back without a wait when a retune takes its place.
        let kernels = load(bands, &stream, &pool, &mut tables)?;
        let mut made = Self {
            pool,
            kernels,
            beside: Vec::new(),
            order: BandOrder::default(),
            held: HeldRows::new(device, inputs)?,
            uploader: Uploader::new(&stream),
            reads: Staging::default(),
            tables,
            sums: None,
            sums_are_old: false,
            kernels_are_old: false,
            stream,
        };
        made.set_order(made.order)?;
        Ok(made)
    }

    /// Sets how bands share the device.
    pub(super) fn set_order(&mut self, order: BandOrder) -> Result<(), ChannelizerError> {
        let streams = order.streams_of(self.kernels.len()) - 1;
        // What they were given ends before what the stream is given next.
        self.beside.truncate(streams);
        while self.beside.len() < streams {
            self.beside.push(self.stream.device().new_stream()?);
        }
        self.order = order;
        Ok(())
    }

    /// The same stream with outputs of another type.
    pub(super) fn with_output<U: DownConvertedSample>(
        mut self,
        bands: &[Band],
    ) -> Result<GpuStream<U>, ChannelizerError> {
        let kernels = load(bands, &self.stream, &self.pool, &mut self.tables)?;
        let Self { stream, beside, order, pool, held, uploader, reads, tables, sums, sums_are_old, .. } = self;
        let kernels_are_old = false;
        Ok(GpuStream {
            stream,
            beside,
            order,
            pool,
            kernels,
            held,
            uploader,
            reads,
            tables,
            sums,
            sums_are_old,
            kernels_are_old,
        })
    }

    /// Queues the weights of a tuning of a band that counts from an output on.
    pub(super) fn retune(
        &mut self,
        bands: &[Band],
        band: usize,
        first_output: u64,
        tuned: &DownConverter,
    ) -> Result<(), ChannelizerError> {
        self.renew_kernels(bands)?;
        let kernels = &mut self.kernels[band];
        let retuned = kernels.last().retuned(tuned, (&self.stream, &self.pool, &mut self.tables))?;
        kernels.push(first_output, retuned);
        Ok(())
    }

    /// Gives back weights that no output from `next` on has, once the launches that read them are done.
    pub(super) fn pass(&mut self, next: u64) {
        self.kernels.iter_mut().for_each(|kernels| kernels.pass(next));
    }

    /// Sums up samples and outputs from now on.
    pub(super) fn keep_sums(&mut self, inputs: Inputs) -> Result<(), ChannelizerError> {
        if self.sums.is_none() {
            self.sums = Some(DeviceSums::new(&self.stream, self.kernels.len(), inputs)?);
        }
        Ok(())
    }

    /// Adds what the device has summed up, when it is there, and begins anew.
    pub(super) fn take_sums(&mut self, sums: &mut Sums) -> Result<(), ChannelizerError> {
        self.renew_sums()?;
        self.sums.as_mut().map_or(Ok(()), |of_device| of_device.take(&self.stream, sums))
    }

    /// Forgets sums of before a reset.
    fn renew_sums(&mut self) -> Result<(), ChannelizerError> {
        if self.sums_are_old
            && let Some(sums) = &mut self.sums
        {
            sums.clear(&self.stream)?;
        }
        self.sums_are_old = false;
        Ok(())
    }

    /// What the host knows of the sums of a step: numbers of samples and outputs.
    pub(super) fn counts(&self, inputs: Inputs, step: &Step, pieces: &[Vec<Piece<'_>>]) -> Sums {
        let of = |samples| SampleSums { samples, ..SampleSums::default() };
        let samples = |input| step.counted(input).iter().map(|stretch| (stretch.end - stretch.start) as u64).sum();
        let outputs = |pieces: &Vec<Piece<'_>>| {
            let of_input = |input| pieces.iter().map(|piece| piece.step.present_outputs(piece.plan, input)).sum();
            (0..inputs.len()).map(|input| of(of_input(input))).collect()
        };
        Sums {
            samples: (0..inputs.len()).map(|input| of(samples(input))).collect(),
            outputs: pieces.iter().map(outputs).collect(),
        }
    }

    /// Queues all work on another stream, which waits for what the one before was given.
    pub(super) fn set_stream(&mut self, stream: &Stream, bands: &[Band]) -> Result<(), ChannelizerError> {
        let device = self.stream.device();
        if !stream.device().is_same(device) {
            return Err(DeviceError::wrong_device(device, stream.device()).into());
        }
        stream.wait_for(&self.stream)?;
        // Weights go back to the pool in the order of the stream that they were taken for.
        let Self { kernels, pool, tables, .. } = self;
        let moved = kernels.iter().zip(bands).map(|(kernels, band)| {
            band.tunings.try_map(|plan| kernels.last().retuned(plan, (stream, pool, &mut *tables)))
        });
        self.kernels = moved.collect::<Result<_, ChannelizerError>>()?;
        self.kernels_are_old = false;
        self.uploader = Uploader::new(stream);
        self.stream = stream.clone();
        Ok(())
    }

    /// The stream that everything is queued on.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of samples that are held.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Forgets all samples and sums, and the tunings but that of the plan.
    pub(super) fn reset(&mut self) {
        self.held.reset();
        // What can fail waits for what is next.
        (self.sums_are_old, self.kernels_are_old) = (true, true);
    }

    /// Brings back the weights of the plans after a reset.
    fn renew_kernels(&mut self, bands: &[Band]) -> Result<(), ChannelizerError> {
        if self.kernels_are_old {
            let Self { stream, pool, kernels, tables, .. } = self;
            let renewed = kernels.iter().zip(bands).map(|(kernels, band)| {
                let kernels = kernels.last().retuned(&band.plan, (stream, pool, &mut *tables))?;
                Ok(Tunings::new(kernels))
            });
            self.kernels = renewed.collect::<Result<_, ChannelizerError>>()?;
        }
        self.kernels_are_old = false;
        Ok(())
    }

    /// `Ok` if a chunk lies on this device and is of a format that the kernels read.
    pub(super) fn check(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        Numbers::of(samples.format())?;
        samples.array().read_on(&self.stream)?;
        Ok(())
    }

    /// Copies a chunk to the device.
    pub(super) fn upload(&mut self, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, ChannelizerError> {
        Ok(self.uploader.samples(chunk)?)
    }

    /// Copies outputs to the host, when they are there.
    pub(super) fn read(
        &mut self,
        mut rows: DeviceRows<T>,
        piece: &Piece<'_>,
        inputs: Inputs,
    ) -> Result<Samples<T>, ChannelizerError> {
        let mut data = zeros(inputs, "down-converted samples", piece.step.outputs)?;
        rows.read(&mut self.reads, &self.stream, data.view_mut())?;
        output::on_host(&piece.step, piece.plan, data, inputs)
    }
}

/// Kernels of each band, with the weights of its tunings.
fn load<T: DownConvertedSample>(
    bands: &[Band],
    stream: &Stream,
    pool: &BufferPool,
    tables: &mut Staging,
) -> Result<Vec<Tunings<DownConvertKernels<T>>>, ChannelizerError> {
    let mut of_band = |band: &Band| {
        let loaded = DownConvertKernels::load(stream.device(), band.tunings.now())?;
        band.tunings.try_map(|plan| loaded.retuned(plan, (stream, pool, &mut *tables)))
    };
    bands.iter().map(&mut of_band).collect()
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;

    use super::*;

    #[test]
    fn a_stream_needs_its_chunk_its_outputs_and_its_rows() {
        let plan = DownConverter::new(0.1, 8, vec![1.0; 128]).unwrap();
        let (inputs, format) = (Inputs::single_pol(3).unwrap(), ChunkFormat::Packed { bits: 10 });
        let need = stream_need::<Complex<f32>>(&plan, 1, inputs, 80_000, format);
        // 10 000 outputs, up to 15 ahead of the first one, and the padding.
        assert_eq!(need.output_bytes, (3 * 10_000 + 15) * 8 + 4 * DeviceSamples::PADDING_WORDS as u64);
        let held = need.workspace_bytes
            - need.input_bytes
            - need.output_bytes
            - DownConvertKernels::<Complex<f32>>::bytes(&plan);
        // Four times three rows of 127 held samples, 256 of the chunk, 128 and a pad of 64: 719 bytes, 720 in 16.
        assert_eq!(held, 4 * (3 * 720 + 4 * DeviceSamples::PADDING_WORDS as u64));
        assert_eq!(need.smallest_step_bytes, need.workspace_bytes);
        // Of three bands: two more of outputs and weights.
        let more = stream_need::<Complex<f32>>(&plan, 3, inputs, 80_000, format).workspace_bytes - need.workspace_bytes;
        assert_eq!(more, 2 * (need.output_bytes + DownConvertKernels::<Complex<f32>>::bytes(&plan)));
    }
}
