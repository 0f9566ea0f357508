//! Sizes that are timed, and the engines of a rank.

use std::ops::Range;

use fringes::correlator::DumpSchedule;
use fringes::{
    Backend, Channelizer, ChunkFormat, Complex, DeviceArray, DeviceHeaps, DeviceSamples, DeviceVisibilities, FEngine,
    Gains, Inputs, Integrator, Precision, SpectrumClock, TurnRing,
};
use fringes_gpu::{Buffer, Device, Stream};

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::scale::shares::shares;
use crate::scale::stock::Stock;
use crate::scale::turner::{Way, ring};

/// Voltages of 8 + 8 bits.
pub(crate) type Sample = Complex<i8>;
/// The X-engine, dumps of which stay on its GPU.
pub(crate) type XEngine = Integrator<Sample, DeviceVisibilities<'static, Complex<i64>>>;

const BITS: u32 = 10;
const TAPS: usize = 16;
const RATE_HZ: f64 = 1712e6;
/// Spectra of a heap.
const FRAME: usize = 256;
/// Blocks of a dump.
pub(crate) const BLOCKS_OF_DUMP: usize = 8;

/// A size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) stations: usize,
    pub(crate) channels: usize,
    /// Spectra of a block.
    pub(crate) spectra: usize,
}

impl Case {
    /// All sizes.
    pub(crate) const ALL: [Self; 2] =
        [Self { stations: 64, channels: 4096, spectra: 2048 }, Self { stations: 512, channels: 1024, spectra: 2048 }];

    /// This size with blocks that fit `free` bytes when one GPU does all.
    pub(crate) fn that_fits(mut self, free: u64) -> Option<Self> {
        while self.bytes() as f64 > 0.85 * free as f64 {
            self.spectra /= 2;
            if self.spectra < FRAME {
                return None;
            }
        }
        Some(self)
    }

    /// Bytes on one GPU: samples, three blocks of frames, sums with a dump and one more.
    fn bytes(&self) -> usize {
        let sums = self.channels * self.inputs() * (self.inputs() + 1) / 2 * 16;
        self.inputs() * self.row_bytes() + 3 * self.block_values() * size_of::<Sample>() + 3 * sums
    }

    fn inputs(&self) -> usize {
        2 * self.stations
    }

    /// Samples of an input of a block.
    fn times(&self) -> usize {
        2 * self.channels * self.spectra
    }

    fn row_bytes(&self) -> usize {
        (self.times() * BITS as usize).div_ceil(8).next_multiple_of(16)
    }

    /// Voltages of a block, of all antennas and channels.
    fn block_values(&self) -> usize {
        self.channels * self.spectra * self.inputs()
    }

    /// Bytes of a block's voltages of an antenna and a channel.
    pub(crate) fn value_bytes(&self) -> usize {
        2 * self.spectra * size_of::<Sample>()
    }

    /// Samples of all inputs of a block.
    pub(crate) fn samples(&self) -> f64 {
        (self.times() * self.inputs()) as f64
    }

    /// Operations of the X-engine for a block: 8 for each product.
    pub(crate) fn operations(&self) -> f64 {
        4.0 * (self.channels * self.inputs()) as f64 * (self.inputs() + 1) as f64 * self.spectra as f64
    }

    /// The size in a record.
    pub(crate) fn params(&self, gpus: usize) -> Params {
        params([("antennas", self.stations), ("channels", self.channels), ("spectra", self.spectra), ("gpus", gpus)])
    }

    /// Antennas of each rank's F-engine.
    pub(crate) fn antennas(&self, ranks: usize) -> Vec<Range<usize>> {
        shares(self.stations, ranks)
    }

    /// Channels of each rank's X-engine.
    pub(crate) fn shares(&self, ranks: usize) -> Vec<Range<usize>> {
        shares(self.channels, ranks)
    }

    /// The F-engine of so many antennas: gains and delays that stay, no dither, half precision where it is to be had.
    pub(crate) fn f_engine(&self, antennas: usize, stream: &Stream) -> Result<FEngine<Sample>, End> {
        let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
        let plan = Channelizer::real(self.channels).taps(TAPS).build().map_err(End::failed)?;
        let builder = FEngine::builder(plan, inputs).spectra_per_frame(FRAME).precision(Precision::Half);
        let builder = builder.gains(Gains::uniform(0.1).map_err(End::failed)?);
        let engine = builder.build::<Sample>(&Backend::on(stream.device().clone())).map_err(End::failed)?;
        engine.on(stream).map_err(End::failed)
    }

    /// Where the F-engines of some GPUs write four blocks: one that is written, one that is read, one between, and a
    /// frame that is not complete.
    pub(crate) fn ring<'a>(
        &self,
        way: Way,
        devices: impl Iterator<Item = &'a Device>,
    ) -> Result<TurnRing<Sample>, End> {
        let devices: Vec<_> = devices.cloned().collect();
        let inputs = Inputs::new(self.stations, 2).map_err(End::failed)?;
        ring(way, &devices, inputs, self.channels, FRAME, 4 * self.spectra / FRAME)
    }

    /// The X-engine of all antennas and so many channels.
    pub(crate) fn x_engine(&self, channels: usize, stream: &Stream) -> Result<XEngine, End> {
        let heaps = (BLOCKS_OF_DUMP * self.spectra / FRAME) as u64;
        let schedule = DumpSchedule::new(self.stride(), FRAME as u64, heaps).map_err(End::failed)?;
        let inputs = Inputs::new(self.stations, 2).map_err(End::failed)?;
        let backend = Backend::on(stream.device().clone());
        let integrator = Integrator::<Sample>::new(&backend, schedule, inputs, channels).map_err(End::failed)?;
        integrator.on(stream).and_then(Integrator::dumps_on_device).map_err(End::failed)
    }

    /// Samples from spectrum to spectrum.
    fn stride(&self) -> u64 {
        2 * self.channels as u64
    }

    /// Random samples of so many antennas on a GPU, which every block has.
    pub(crate) fn sample_words(&self, antennas: usize, stock: &Stock, stream: &Stream) -> Result<Buffer<u32>, End> {
        stock.buffer(stream, self.row_bytes() * 2 * antennas / 4 + DeviceSamples::PADDING_WORDS)
    }

    /// A block of samples.
    pub(crate) fn block<'a>(
        &self,
        words: &'a Buffer<u32>,
        antennas: usize,
        block: usize,
    ) -> Result<DeviceSamples<'a>, End> {
        let (array, format) = (DeviceArray::from(words.view()), ChunkFormat::Packed { bits: BITS });
        let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
        let samples = DeviceSamples::new(array, self.row_bytes(), format, self.times(), inputs).map_err(End::failed)?;
        let samples = samples.with_first_sample((block * self.times()) as u64);
        samples.with_sample_rate(RATE_HZ).map_err(End::failed)
    }

    /// Values of heaps of so many antennas and channels of a block.
    pub(crate) fn heap_values(&self, antennas: usize, channels: usize) -> usize {
        2 * antennas * channels * self.spectra
    }

    /// A block of heaps.
    pub(crate) fn heaps<'a>(
        &self,
        array: DeviceArray<'a, Sample>,
        antennas: usize,
        channels: usize,
        block: usize,
    ) -> Result<DeviceHeaps<'a, Sample>, End> {
        let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
        let heaps = DeviceHeaps::from_array(array, self.spectra / FRAME, inputs, channels, FRAME);
        let clock = SpectrumClock {
            first_sample: (block * self.times()) as u64,
            samples_between_spectra: self.stride(),
            sample_rate_hz: RATE_HZ,
        };
        heaps.and_then(|heaps| heaps.with_clock(clock)).map_err(End::failed)
    }
}
