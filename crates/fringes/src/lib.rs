//! Radio-telescope voltages into visibilities and beams.
//!
//! ```text
//! samples ── channelize ──> voltages ── quantise ──> voltages ──┬─ correlate ──> visibilities
//! [input][time]   │         [channel][time][input]              │                [channel][baseline]
//!    │          delay                                           └─ beamform ───> beams
//!    └───── down_convert ──> samples                                             [channel][time][beam]
//! ```
//!
//! This program simulates two antennas that hear the same noise, one of them five samples later, and finds the delay in
//! the slope of the fringe: the phase of the visibility over frequency.
//!
//! ```
//! use fringes::prelude::*;
//! use fringes::ndarray::Array2;
//!
//! fn main() -> Result<(), fringes::Error> {
//!     const DELAY: usize = 5;
//!     const CHANNELS: usize = 128;
//!     let (samples, sample_rate_hz) = (400 * 2 * CHANNELS, 100e6);
//!
//!     // A source of white noise, and noise of each antenna's own.
//!     let mut state = 1u64;
//!     let mut noise = || {
//!         state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
//!         (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0 // -1 to 1
//!     };
//!     let source: Vec<f32> = (0..samples + DELAY).map(|_| noise()).collect();
//!     let data = Array2::from_shape_fn((2, samples), |(antenna, time)| {
//!         source[time + DELAY * (1 - antenna)] + 0.5 * noise() // antenna 1 hears it later
//!     });
//!
//!     let backend = Backend::auto();
//!     let samples = Samples::new(data, Inputs::single_pol(2)?)?
//!         .with_sample_rate(sample_rate_hz)?
//!         .with_centre_frequency(1.4e9)?;
//!     let plan = Channelizer::real(CHANNELS).taps(8).build()?;
//!     let voltages = channelize(&backend, &samples, &plan)?;
//!     let quantised = quantise::<Complex<i8>, _>(&backend, &voltages, &Gains::uniform(25.0)?)?;
//!     let visibilities = correlate(&backend, &quantised.voltages, BaselineOrder::Triangle)?;
//!
//!     // V[1][0] turns by -2 pi delay_s step_hz from one channel to the next. Channels 16 apart are compared: the
//!     // longer the lever, the less noise matters, and 2 pi delay_s 16 step_hz is still below pi.
//!     const LEVER: usize = 16;
//!     let fringe = |channel| visibilities.get(channel, 1, 0).unwrap_or_default();
//!     let turned: Complex<f64> =
//!         (0..CHANNELS - LEVER).map(|channel| fringe(channel + LEVER) * fringe(channel).conj()).sum();
//!     let step_hz = visibilities.frequencies().step_hz;
//!     let delay_s = -turned.arg() / (2.0 * std::f64::consts::PI * LEVER as f64 * step_hz);
//!
//!     let (spectra, saturated) = (visibilities.times(), quantised.saturated.sum());
//!     println!("backend {}, {spectra} spectra, {saturated} values saturated", backend.name());
//!     println!("the delay is {:.1} ns: {:.3} samples", delay_s * 1e9, delay_s * sample_rate_hz);
//!     // Four standard deviations: sqrt((1 - 0.8^2) / (2 0.8^2 393)) rad a channel, for a coherence of 0.8 in 393
//!     // spectra.
//!     assert!((delay_s * sample_rate_hz - DELAY as f64).abs() < 0.05);
//!     Ok(())
//! }
//! ```
//!
//! # Operations
//!
//! | operation | computes | from | to | arithmetic |
//! |---|---|---|---|---|
//! | [`channelize`] | polyphase filter bank, delays | [`Samples`] `[input][time]` | [`Voltages`] `[channel][time][input]` | f32 |
//! | [`FEngine`], [`f_engine()`] | all of an F-engine: decoding, filter bank, delays, gain, dither, quantiser, frames | [`Samples`] or [`PackedSamples`] `[input][time]` | [`Heaps`] `[batch][antenna][channel][spectrum][pol]` | f32, the quantiser f64 |
//! | [`NarrowbandFEngine`] | a down-converter and an F-engine, as one stream with one clock | [`Samples`] or [`PackedSamples`] `[input][time]` | [`Heaps`] `[batch][antenna][channel][spectrum][pol]` | f32, the quantiser f64 |
//! | [`down_convert`] | mixer, FIR filter, decimation | [`Samples`] `[input][time]` | [`Samples`] `[input][time]` | f32, phase in f64 |
//! | [`quantise`] | gain, clamp, round half to even | [`Voltages`] of f32 | [`Voltages`] of 4 or 8 bits | f32 |
//! | [`correlate`] | `sum_t x_a(t) conj(x_b(t))` | [`Voltages`] `[channel][time][input]`, or [`Heaps`] | [`Visibilities`] `[channel][baseline]` | exact for integers, f64 sums for floats |
//! | [`power_sums()`], [`Masker`] | sums of powers, spectral kurtosis, masks | [`Voltages`] `[channel][time][input]`, [`Heaps`] or [`Rows`] | [`ChannelMask`] `[channel][block]` | exact sums for integers, f64 |
//! | [`beamform`] | `sum_inputs weight x`, or powers, or an FFT of each line of feeds | [`Voltages`] `[channel][time][input]`, or [`Heaps`] | [`Beams`] `[channel][time][beam]` | f32; FFT beams f16 on a GPU |
//! | [`detect`] | powers, Stokes parameters or coherencies, summed | [`Beams`] `[channel][time][beam]` | [`DetectedBeams`] `[channel][time][beam][product]` | f32 |
//! | [`fft::Fft::transform`] | transforms of 64 to 1024 points, or their powers | samples `[transform][n]` | spectra `[transform][q]` | f16 on a GPU, f32 on the CPU |
//!
//! Each operation's page states its formula and its error bound against an f64 reference. For data that comes in pieces
//! there are [`ChannelizerStream`], [`FEngine`], [`NarrowbandFEngine`], [`Correlator`], [`Integrator`],
//! [`IntegratorSet`], [`BinnedIntegrator`], [`BeamformerStream`] and [`DetectStream`]; weights of beams come from
//! [`BeamSteering`], delay models from [`delay`]; files are in [`io`].
//!
//! Sizes are run-time values, and their dimensions are checked where a value is made, so that an operation fails early
//! and says which dimension of which array is wrong. Nothing panics on input: every operation returns its own error,
//! and all of them convert into [`Error`].
//!
//! # Conventions
//!
//! - `input = antenna * pols + pol` ([`Inputs`]); channels ascend in frequency; the forward transform is `exp(-2 pi i k
//!   n / N)`, not normalised.
//! - `V[a][b]` conjugates `b`. An antenna that hears a source later by `d` seconds has the phase `-2 pi f d`.
//! - Missing data is flagged ([`SamplePresence`], [`Voltages::with_presence`]) and counts as zero; each baseline knows
//!   how many spectra it has ([`Visibilities::valid_samples`]). What a [`ChannelMask`] leaves out is counted apart
//!   ([`Visibilities::valid`], [`DetectedBeams::masked_spectra`]).
//! - The most negative value of 4-bit and 8-bit voltages is not a sample, and [`Voltages::new`] refuses it.
//!
//! # Backends and memory
//!
//! A [`Backend`] says where operations run: [`Backend::auto`] takes the best there is, and [`Backend::name`] says what
//! that was. Every operation runs on the CPU, with every thread of the rayon pool. NVIDIA GPUs of compute capability
//! 8.0 and later run these:
//!
//! - the F-engine ([`FEngine`], [`f_engine()`]), the channelizer, quantisation
//! - down-conversion ([`DownConverter`]), of one band or several
//! - correlation, in one call and as a stream
//! - coarse delay, fine delay and phase by themselves
//! - beams by weights ([`TiedArrayBeams`]), detected ([`TiedArrayDetector`]) and incoherent ones of 4-bit, 8-bit and
//!   f16 voltages
//! - batched transforms and FFT beams ([`fft`], [`FftBeams`])
//!
//! `auto` uses a GPU for these. A GPU named by [`Backend::gpu`] does what it has a kernel for and says so
//! where it has none ([`DeviceError::NotOnGpu`]). No CUDA toolkit is needed, only the driver; without one everything
//! builds and runs on the CPU.
//!
//! A backend decides for data on the host alone. Data that is on a device already ([`DeviceSamples`], [`DeviceHeaps`],
//! [`DeviceRows`], [`DeviceVoltages`]) is worked on there, and what comes out stays there: chunks are a header and an
//! array, and operations take them wherever the array lies.
//!
//! What a call needs can be asked before, as a [`MemoryNeed`]: [`Channelizer::memory`], [`DownConverter::memory`],
//! [`Quantised::memory`], [`Correlator::memory`], [`BeamSet::memory`]; streams say what they hold as well, as
//! [`ChannelizerStream::memory`]. The workspace, what is taken beside input
//! and output, can be limited: with [`Backend::with_memory_limit`], operations split their work by time into steps that
//! stay below the limit, with the same result. Only a limit below the smallest step is an error.
//!
//! ```
//! use fringes::prelude::*;
//!
//! let plan = Channelizer::real(4096).taps(16).build()?;
//! let need = plan.memory(&Backend::auto(), Inputs::new(64, 2)?, 1 << 24, fringes::ChunkFormat::Packed { bits: 10 })?;
//! println!("{} MB of output, {} MB of workspace", need.output_bytes >> 20, need.workspace_bytes >> 20);
//! let backend = Backend::auto().with_memory_limit(need.smallest_step_bytes.max(64 << 20));
//! # let _ = backend;
//! # Ok::<(), fringes::Error>(())
//! ```
//!
//! # Features
//!
//! - `gpu` (default): the kernels of all operations, as PTX inside the program. Without it a program is for CPUs:
//!   [`Backend::auto`] is the CPU, and [`Backend::gpu`] an error that says so ([`DeviceError::Unavailable`]). The crate
//!   that loads the driver at run time stays linked.
//! - `io` (default): the module `io`, readers of VDIF, GUPPI raw and PSRDADA recordings, writers of npy, npz,
//!   UVFITS and UVH5, SPEAD over UDP.
//! - `stream`: the module `stream`, instruments in one process: sources, stages, bounded queues, sinks. Takes `io`.
//! - `mpi`: instruments over the processes of an MPI job; takes `stream`, needs MPI and libclang where it is built.
//! - `nccl`: `NcclTurn`, the corner turn between GPUs by NCCL, whose library is loaded when it is first asked for.
//! - `cudarc`: contexts, streams and slices of the crate `cudarc` become those of [`gpu`].
//! - `cust`: the same of the crate `cust`, both ways. `cust` asks for a CUDA toolkit when it is built, or for the
//!   variable `CUDA_LIBRARY_PATH` naming a folder with an empty `lib64/`, with which `cargo check` works.

mod error;
pub mod prelude;

#[cfg(doctest)]
mod pages;

pub use ndarray;

pub use error::Error;
pub use fringes_backend as backend;
pub use fringes_beamformer as beamformer;
pub use fringes_channelizer as channelizer;
pub use fringes_correlator as correlator;
pub use fringes_delay as delay;
pub use fringes_f_engine as f_engine;
pub use fringes_fft as fft;
pub use fringes_gpu as gpu;
pub use fringes_interference as interference;
#[cfg(feature = "io")]
pub use fringes_io as io;
#[cfg(feature = "simulator")]
pub use fringes_simulator as simulator;
#[cfg(feature = "stream")]
pub use fringes_stream as stream;
pub use fringes_types as types;

#[cfg(feature = "nccl")]
pub use fringes_backend::NcclTurn;
pub use fringes_backend::{
    Backend, DeviceArray, DeviceBeams, DeviceDetectedBeams, DeviceError, DeviceHeaps, DeviceRows, DeviceSamples,
    DeviceVisibilities, DeviceVoltages, Downloader, MemoryNeed, PinnedArray, PinnedHeaps, PinnedSamples, ToHost,
    TurnError, TurnRing, TurnedFrames, UploadError, Uploader, turn_channels, turn_channels_on_host,
};
pub use fringes_beamformer::{
    BeamChunk, BeamSet, BeamSteering, BeamformerError, BeamformerStream, ByteScale, DetectStream, DetectedBytes,
    FftBeams, IncoherentBeams, QuantisedBeams, SteeredBand, TiedArrayBeams, TiedArrayDetector, WeightPrecision,
    beamform, detect, quantise_beams, steering_models, to_u8, with_nulls,
};
pub use fringes_channelizer::{
    Channelizer, ChannelizerBuilder, ChannelizerError, ChannelizerStream, DownConverted, DownConvertedSample,
    DownConverter, DownConverterBank, DownConverterStatistics, DownConverterStream, OutputStatistics, QuantiseInput,
    Quantised, QuantisedSample, SampleInput, Window, channelize, design, design::DownConversionFilter, down_convert,
    down_convert_to, quantise,
};
pub use fringes_correlator::{
    BinnedDump, BinnedIntegrator, Bins, Correlator, CorrelatorError, Dump32, DumpSchedule, Integrator, IntegratorSet,
    PulsePhase, Turns, correlate,
};
pub use fringes_delay::{DelayError, DelayModel, DelayModelError, DelaySegment, DelayValue};
pub use fringes_f_engine::{
    Channelized, ChannelizedOnDevice, DeviceFrames, DeviceStatistics, FEngine, FEngineBuilder, FrameLayout,
    FrameSample, Frames, HeapFrames, InputStatistics, Intermediate, NarrowbandFEngine, NarrowbandFEngineBuilder,
    Precision, RowFrames, Turned, TurnedFEngine, f_engine,
};
pub use fringes_fft::FftError;
pub use fringes_interference::{
    Combining, Interference, InterferenceError, Masker, PowerSums, Thresholds, Undecided, power_sums,
};
#[cfg(feature = "io")]
pub use fringes_io::IoError;
pub use fringes_types::{
    Accumulator, BaselineOrder, BeamWeights, Beams, ChannelMask, ChunkFormat, Complex, Complex4, DetectedBeams,
    DetectedProducts, Detection, Dimension, Frequencies, Gains, Heaps, Inputs, LinearArray, MaskedSamples,
    MaskedSpectra, PackedSamples, Product, Rows, Sample, SampleChunk, SampleFormat, SamplePresence, SampleRows,
    Samples, SpectrumClock, TypesError, ValidSamples, Visibilities, VoltageSample, Voltages, f16,
};
