//! What most programs need, in one `use fringes::prelude::*`.
//!
//! ```
//! use fringes::prelude::*;
//!
//! type Stream = (Integrator<Complex<f16>>, IntegratorSet<Complex<i8>>, DumpSchedule, Heaps<Complex4>);
//! type Beamformers = (FftBeams, IncoherentBeams, BeamWeights);
//! # let _ = (std::mem::size_of::<Stream>(), std::mem::size_of::<Beamformers>());
//! ```

// From its crate, since `crate::f_engine` is the module as well.
pub use fringes_f_engine::f_engine;

pub use crate::{
    Backend, BaselineOrder, BeamSteering, BeamWeights, Beams, BinnedIntegrator, Bins, ChannelMask, Channelizer,
    ChannelizerStream, Complex, Complex4, Correlator, DelayModel, DelaySegment, DetectStream, DetectedBeams,
    DetectedProducts, Detection, DownConversionFilter, DownConverter, DownConverterBank, DownConverterStream,
    DumpSchedule, FEngine, FEngineBuilder, FftBeams, Frequencies, Gains, Heaps, IncoherentBeams, Inputs, Integrator,
    IntegratorSet, Masker, NarrowbandFEngine, NarrowbandFEngineBuilder, PackedSamples, Precision, Quantised,
    SamplePresence, Samples, SpectrumClock, SteeredBand, TiedArrayBeams, TiedArrayDetector, Visibilities, Voltages,
    WeightPrecision, Window, beamform, channelize, correlate, detect, down_convert, down_convert_to, f16, power_sums,
    quantise, with_nulls,
};
