//! What most programs need, in one `use fringes::prelude::*`.

pub use crate::{
    Backend, BaselineOrder, BeamWeights, Beams, Channelizer, ChannelizerStream, Complex, Complex4, Correlator,
    DelayModel, DelaySegment, DownConverter, DumpSchedule, FEngine, FEngineBuilder, FftBeams, Frequencies, Gains,
    Heaps, IncoherentBeams, Inputs, Integrator, IntegratorSet, PackedSamples, Quantised, SamplePresence, Samples,
    SpectrumClock, Visibilities, Voltages, Window, beamform, channelize, correlate, down_convert, f_engine, f16,
    quantise,
};
