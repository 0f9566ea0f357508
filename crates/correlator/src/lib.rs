//! The X-engine: correlation of channelised voltages, `V[a][b] = sum_t x_a(t) conj(x_b(t))`.
//!
//! | what | in | out |
//! |---|---|---|
//! | [`correlate`] | one chunk of voltages | its visibilities |
//! | [`Correlator`] | any ranges of any chunks | visibilities whenever asked |
//! | [`Integrator`] | a stream of chunks | dumps at whole multiples of a [`DumpSchedule`]'s length |
//! | [`IntegratorSet`] | a stream of chunks | dumps of several lengths, correlated once |
//! | [`BinnedIntegrator`] | a stream of chunks | dumps of several [`Bins`]: gates, folded pulsars, states of a switch |
//! | [`Dump32`] | 64-bit visibilities | 32-bit ones, clamped and counted, missing data marked if wanted |
//! | [`kernels::CorrelatorKernels`] | device buffers | device buffers, in the order of a stream |
//!
//! Chunks are [`Voltages`](fringes_types::Voltages), [`Heaps`](fringes_types::Heaps) or [`Rows`](fringes_types::Rows),
//! on the host, in pinned memory or on a device ([`Chunk`]). Those on the host are correlated on the backend that is
//! given, those on a device there. Integer results are the same bits on a GPU and the CPU; those of floats are within
//! the bounds that [`Correlator`] states. On a GPU, dumps are summed over parts of the time, brought into their order
//! and, in 32 bits, clamped, counted and marked before they are read back.
//!
//! Voltages are `[channel][time][input]` of 4-bit or 8-bit integers, f16 or f32; visibilities are `[channel][baseline]`
//! in one of the orders of [`BaselineOrder`](fringes_types::BaselineOrder). Integer voltages give exact 64-bit
//! integers; float voltages give f64 within a stated bound ([`Correlator`]). Missing data is a value: each baseline
//! carries the number of spectra at which both of its inputs were present.
//!
//! ```
//! use fringes_correlator::{Dump32, DumpSchedule, Integrator, MissingData, correlate};
//! use fringes_backend::Backend;
//! use fringes_types::{BaselineOrder, Complex, Inputs, SpectrumClock, Voltages};
//! use ndarray::Array3;
//!
//! // Two antennas, one channel, 64 spectra; antenna 1 sees the signal a quarter turn later.
//! let inputs = Inputs::single_pol(2)?;
//! let signals = [Complex::new(100i8, 0), Complex::new(0, -100)];
//! let data = Array3::from_shape_fn((1, 64, 2), |(_, _, input)| signals[input]);
//! let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 2048, sample_rate_hz: 1e9 };
//! let voltages = Voltages::new(data, inputs)?.with_clock(clock)?;
//!
//! let visibilities = correlate(&Backend::auto(), &voltages, BaselineOrder::Triangle)?;
//! assert_eq!(visibilities.data()[(0, 0)], Complex::new(640_000, 0)); // V[0][0]
//! assert_eq!(visibilities.data()[(0, 1)], Complex::new(0, -640_000)); // V[1][0]
//!
//! // As a stream: dumps of 4 heaps of 8 spectra, in 32 bits.
//! let mut integrator = Integrator::new(&Backend::auto(), DumpSchedule::new(2048, 8, 4)?, inputs, 1)?;
//! for dump in integrator.push(&voltages)? {
//!     let dump = Dump32::new(&dump, MissingData::Mark);
//!     assert_eq!(dump.data()[(0, 1)], Complex::new(0, -320_000));
//! }
//! # Ok::<(), fringes_correlator::CorrelatorError>(())
//! ```

mod binned;
mod bins;
mod chunk;
mod correlator;
mod counts;
mod device;
mod dump;
mod dump32;
mod error;
mod host;
mod integrator;
mod integrator_set;
#[doc(hidden)]
pub mod internals;
pub mod kernels;
pub mod layout;
mod schedule;
mod selection;
mod set_sum;
mod stream;

pub use binned::{BinnedDump, BinnedIntegrator};
pub use bins::{Bins, PulsePhase, Turns};
pub use chunk::Chunk;
pub use correlator::{Correlator, MAX_SPECTRA, correlate};
pub use dump::{Dump, IntegerDump};
pub use dump32::{DeviceDump32, Dump32, MISSING_MARK, MissingData};
pub use error::CorrelatorError;
pub use integrator::Integrator;
pub use integrator_set::IntegratorSet;
pub use schedule::DumpSchedule;
