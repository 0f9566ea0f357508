//! A small instrument, its samples, and what one call makes of them.

use std::sync::{Arc, Mutex};

use fringes_backend::Backend;
use fringes_channelizer::Channelizer;
use fringes_correlator::{DumpSchedule, Integrator};
use fringes_f_engine::{FEngine, FEngineBuilder};
use fringes_stream::sink::{Collected, Dump, Product, Sums};
use fringes_stream::source::{Blocks, Received, Source, SourceCounts, SourceInfo};
use fringes_stream::{BoxError, SampleBlock};
use fringes_types::{Complex, Gains, Inputs, SampleChunk, SamplePresence, Samples, Visibilities};
use ndarray::Array2;

pub(crate) const STRIDE: u64 = 128;
pub(crate) const SPECTRA: u64 = 4;
/// Samples of a frame.
pub(crate) const FRAME: u64 = STRIDE * SPECTRA;

pub(crate) fn inputs() -> Inputs {
    Inputs::new(2, 2).unwrap()
}

/// A filter bank of 64 channels, frames of 4 spectra.
pub(crate) fn engine() -> FEngineBuilder {
    let plan = Channelizer::real(64).taps(4).build().unwrap();
    FEngine::builder(plan, inputs()).spectra_per_frame(SPECTRA as usize).gains(Gains::uniform(0.05).unwrap())
}

/// Dumps of so many frames.
pub(crate) fn schedule(frames: u64) -> DumpSchedule {
    DumpSchedule::new(STRIDE, SPECTRA, frames).unwrap()
}

/// A sample: noise of 8 bits.
pub(crate) fn sample(input: usize, time: u64) -> i8 {
    let mut state =
        (time + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (input as u64 + 7).wrapping_mul(0xD1B5_4A32_D192_ED03);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (((state >> 33) % 201) as i16 - 100) as i8
}

pub(crate) fn block(first: u64, times: usize) -> SampleBlock {
    let data = Array2::from_shape_fn((inputs().len(), times), |(input, time)| sample(input, first + time as u64));
    Samples::new(data, inputs()).unwrap().with_first_sample(first).with_sample_rate(1e6).unwrap().into()
}

pub(crate) fn info(end: u64) -> SourceInfo {
    SourceInfo {
        label: "noise".into(),
        inputs: inputs(),
        sample_rate_hz: 1e6,
        sample_zero: None,
        end_sample: Some(end),
    }
}

/// Chunks of `times` samples up to sample `end`.
pub(crate) fn noise(times: usize, end: u64) -> Blocks<impl Iterator<Item = Result<Received, BoxError>> + Send> {
    let chunks = (0..end.div_ceil(times as u64)).map(move |chunk| {
        let first = chunk * times as u64;
        Ok(Received::Samples(block(first, times.min((end - first) as usize))))
    });
    Blocks::new(info(end), chunks)
}

/// A source that notes what it has given.
pub(crate) struct Noted<S> {
    pub(crate) source: S,
    pub(crate) given: Arc<Mutex<Vec<SampleBlock>>>,
}

impl<S: Source> Noted<S> {
    pub(crate) fn new(source: S) -> (Self, Arc<Mutex<Vec<SampleBlock>>>) {
        let given = Arc::<Mutex<Vec<_>>>::default();
        (Self { source, given: given.clone() }, given)
    }
}

impl<S: Source> Source for Noted<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }
    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        let received = self.source.next()?;
        if let Some(Received::Samples(block)) = &received {
            self.given.lock().unwrap().push(block.clone());
        }
        Ok(received)
    }
    fn counts(&self) -> SourceCounts {
        self.source.counts()
    }
}

/// A source that waits for a word.
pub(crate) struct Gate<S> {
    pub(crate) source: S,
    pub(crate) wait: Option<std::sync::mpsc::Receiver<()>>,
}

impl<S: Source> Source for Gate<S> {
    fn info(&self) -> &SourceInfo {
        self.source.info()
    }
    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        if let Some(wait) = self.wait.take() {
            wait.recv()?;
        }
        self.source.next()
    }
}

/// Dumps of a cadence, of what a sink has collected.
pub(crate) fn dumps(products: &Collected, cadence: usize) -> Vec<Visibilities<Complex<i64>>> {
    let of = |product: Product| match product {
        Product::Dump(dump) if dump.cadence == cadence => match Arc::unwrap_or_clone(dump) {
            Dump { sums: Sums::Integers(sums), .. } => Some(sums),
            _ => None,
        },
        _ => None,
    };
    products.take().into_iter().filter_map(of).collect()
}

/// One chunk of all that came, in any order and with holes: what is in no chunk is absent.
pub(crate) fn whole(given: &[SampleBlock], end: u64) -> SampleBlock {
    let count = inputs().len();
    let (mut data, mut flags) = (Array2::zeros((count, end as usize)), Array2::from_elem((count, end as usize), false));
    for block in given {
        let SampleBlock::Int8(samples) = block else { panic!("8-bit samples") };
        let first = samples.first_sample() as usize;
        for ((input, time), &value) in samples.data().indexed_iter() {
            if samples.presence().is_none_or(|flags| flags.is_present(input, time)) {
                data[(input, first + time)] = value;
                flags[(input, first + time)] = true;
            }
        }
    }
    let samples = Samples::new(data, inputs()).unwrap().with_sample_rate(1e6).unwrap();
    samples.with_presence(SamplePresence::new(1, flags).unwrap()).unwrap().into()
}

/// Dumps of one chunk by one F-engine and one integrator.
pub(crate) fn in_one_call(
    chunk: &dyn SampleChunk,
    engine: FEngineBuilder,
    frames: u64,
) -> Vec<Visibilities<Complex<i64>>> {
    let mut engine = engine.build::<Complex<i8>>(&Backend::cpu()).unwrap();
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(frames), inputs(), 64).unwrap();
    let mut pieces = engine.push(chunk).unwrap().frames;
    pieces.extend(engine.flush().unwrap());
    let mut dumps = Vec::new();
    for frames in pieces {
        dumps.extend(integrator.push(&frames.voltages).unwrap());
    }
    dumps.extend(integrator.finish().unwrap().filter(|dump| dump.valid_samples().sum() > 0));
    dumps
}
