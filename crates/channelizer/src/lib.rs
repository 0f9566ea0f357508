//! PFB channelizer, narrowband down-conversion, gain and quantisation.
//!
//! Samples `[input][time]` become voltages `[channel][time][input]`, channels in ascending frequency:
//!
//! - [`Channelizer`] is the plan of a polyphase filter bank, [`channelize`] applies it to one array, and
//!   [`ChannelizerStream`] to chunks of an endless stream, with a [delay model](fringes_delay_model::DelayModel) an
//!   input;
//! - [`down_convert`] mixes a narrow band to 0 Hz, filters and decimates it, to f32 or smaller types
//!   ([`DownConvertedSample`]); [`design`] has filters for it;
//! - [`quantise`] scales voltages by [`Gains`](fringes_types::Gains) and rounds them to 8 or 4 bits.
//!
//! All of it in one pass, to frames that a correlator takes, is the F-engine: the crate `fringes-f-engine`. Coarse
//! shifts and fine rotations by themselves are in `fringes-delay`.
//!
//! # Streams
//! [`ChannelizerStream`], [`DownConverterStream`], [`DownConverterBank`] and the F-engine take a recording in chunks,
//! with the same words:
//!
//! | method | what it does |
//! |---|---|
//! | `push` | takes a chunk, gives what is complete with it; on an error nothing was taken |
//! | `flush` | gives the frame that was begun, the rest of it absent; the stream goes on behind it (F-engine alone) |
//! | `reset` | forgets all samples: the next chunk begins anew, in any format |
//! | `retune`, `take_statistics` | moves the centre at a sample; what came in and out (down-converter alone) |
//! | `expected_sample` | the sample counter that the next chunk starts at if nothing is lost |
//! | `next_stamp` | the stamp of the next spectrum or output |
//! | `held_bytes` | what is allocated for samples of coming spectra or outputs, now |
//! | `memory` | what the stream takes at most, with that |
//! | `on`, `stream` | the stream that a GPU's work is queued on |
//!
//! None has a `finish`: what is not complete when a recording ends is not made.
//!
//! # Where data lies
//! Everything here takes samples or voltages in host memory and in device memory, and what it gives lies there as well
//! ([`SampleInput`], [`QuantiseInput`]). A backend decides for data in host memory alone.
//!
//! ```
//! use fringes_channelizer::{Channelizer, channelize};
//! use fringes_backend::Backend;
//! use fringes_types::{Inputs, Samples};
//! use ndarray::Array2;
//!
//! // A tone in the middle of channel 5 of 16, at 5/32 of the sample rate.
//! let tone = Array2::from_shape_fn((1, 1024), |(_, i)| (2.0 * std::f32::consts::PI * 5.0 / 32.0 * i as f32).cos());
//! let samples = Samples::new(tone, Inputs::single_pol(1)?)?.with_sample_rate(32e6)?;
//!
//! let plan = Channelizer::real(16).taps(8).build()?;
//! let voltages = channelize(&Backend::auto(), &samples, &plan)?;
//!
//! assert_eq!((voltages.channels(), voltages.times()), (16, plan.spectra(1024)));
//! assert_eq!(voltages.frequencies().channel_hz(5), 5e6);
//! let power = |channel| voltages.data()[(channel, 0, 0)].norm_sqr();
//! assert!((0..16).all(|channel| power(channel) <= power(5)));
//! # Ok::<(), fringes_channelizer::ChannelizerError>(())
//! ```

mod channelize;
mod channelizer;
pub mod design;
mod down_convert;
mod error;
mod held;
#[doc(hidden)]
pub mod internals;
mod precision;
mod presence;
mod quantise;
mod sample_input;
mod spectra;
mod stream;
mod timeline;

pub use channelize::channelize;
pub use channelizer::{Channelizer, ChannelizerBuilder};
pub use down_convert::{
    DownConverted, DownConvertedSample, DownConverter, DownConverterBank, DownConverterStatistics, DownConverterStream,
    OutputStatistics, down_convert, down_convert_to,
};
pub use error::ChannelizerError;
pub use fringes_cpu::f_engine::InputStatistics;
pub use fringes_cpu::pfb::Window;
pub use precision::Precision;
pub use quantise::{
    QuantiseInput, QuantiseKernels, Quantised, QuantisedSample, ScaledVoltages, quantise, recorded_integers,
};
pub use sample_input::{SampleInput, SampleOperation};
pub use spectra::DeviceStatistics;
pub use stream::ChannelizerStream;
