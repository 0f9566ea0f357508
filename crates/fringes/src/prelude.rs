//! What most programs need, in one `use fringes::prelude::*`.

pub use crate::{
    Backend, BaselineOrder, BeamWeights, Beams, Channelizer, ChannelizerStream, Complex, Complex4, Correlator,
    DelayModel, DelaySegment, DownConverter, FEngine, FEngineBuilder, Frequencies, Gains, Inputs, PackedSamples,
    Quantised, SamplePresence, Samples, SpectrumClock, Visibilities, Voltages, Window, beamform, channelize, correlate,
    down_convert, f_engine, quantise,
};
