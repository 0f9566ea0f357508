//! Simulated antenna voltages: sources on the sky, receivers, clocks, interference, digitisers and lost packets.
//!
//! ```
//! use fringes_simulator::{Arrival, Level, PointSource, Simulation, Simulator, SimulatorError};
//!
//! // Three antennas with two polarisations, 200 million samples a second.
//! let mut simulation = Simulation::new(3, 2, 200e6);
//! simulation.seed = 7;
//! // A source of a quarter of the receivers' power; antenna 1 hears it 12.4 samples later than antenna 0.
//! let arrival = Arrival::Given { samples: vec![0.0, 12.4, -3.0], rate: vec![] };
//! simulation.sources.push(PointSource::new(0.25).with_arrival(arrival));
//!
//! let mut simulator = Simulator::new(simulation)?;
//! let first = simulator.next_packed(10, 20_000)?; // packed samples of 10 bits
//! let second = simulator.next_i8(4_096)?; // the next ones, of 8 bits
//! assert_eq!((first.first_sample(), second.first_sample()), (0, 20_000));
//!
//! // What a correlator should find at 50 MHz on the baseline of antennas 1 and 0: a fifth, turned by 12.4 samples.
//! let coherence = simulator.truth().coherence(2, 0, 50e6, 0)?;
//! let turns = (-50e6 * 12.4 / 200e6_f64).rem_euclid(1.0);
//! assert!((coherence.norm() - 0.2).abs() < 1e-6);
//! assert!(((coherence.arg() / std::f64::consts::TAU).rem_euclid(1.0) - turns).abs() < 1e-6);
//! # Ok::<(), SimulatorError>(())
//! ```
//!
//! # What is simulated
//! Input `i` (antenna `a`, polarisation `p`) gives at sample `n`
//!
//! ```text
//! code = clamp(round(gain_i (receiver_i(n) + sum_s g_s,a e_s,p(n - d_s,a(n)) + tones) + offset_i))
//! ```
//!
//! with `e` the signals of the sources and `d` their delays in samples: given ones or those of the geometry, and the
//! antenna's clock. Real voltages are sampled in the first Nyquist zone: the sky's frequencies are 0 to half the
//! sample rate, there is no mixer, and so a delay is all that happens to a wave on its way; fringes turn because delays
//! change.
//!
//! # Precision
//! - Delays hold for 256 samples, at multiples of the sample counter: a delay that changes by `r` samples a sample is
//!   off by up to `128 r` samples there. From one such segment to the next, phases step by `256 r f` turns.
//! - Fractions of a sample are made by filters: within 1.2e-3 of an exact delay up to 0.45 of the sample rate.
//! - Geometric delays lie on straight lines between knots, 1/128 s apart or less (at least 256 samples): within
//!   `A w^2 h^2 / 8` seconds, 8e-16 s for a light time `A` of 20 ms.
//! - Noise is white and independent of stream to stream in all products of two samples. Magnitudes are read from a
//!   table of 2^22 values, so that powers of blocks of 4096 samples that overlap in it are correlated (a chance of 2^-9
//!   a pair). No value lies beyond about 5.2 standard deviations.
//! - Voltages are f32 sums in one order, without fused products: processors with and without AVX2 give the same bits.
//!   Sines, cosines and exponentials are those of the system's mathematical library; another system may round them, and
//!   so a voltage, otherwise.
//!
//! # Speed
//! A source costs 40 products a sample, one with a band 128; so cost grows with the number of sources. Inputs and times
//! are shared among the threads of the rayon pool. The example `rate` of this crate measures.

mod config;
mod delays;
mod digitise;
mod error;
mod filter;
mod loss;
mod noise;
mod plan;
mod render;
mod simulator;
mod truth;

pub use config::{
    Adc, Arrival, Band, Clock, Level, Loss, LostRange, MAX_DELAY_SAMPLES, MAX_RATE, PerInput, Placement, PointSource,
    Pulse, Simulation, Tone,
};
pub use digitise::AdcSample;
pub use error::SimulatorError;
pub use fringes_delay_model::{AntennaArray, Epoch, Source};
pub use simulator::{InjectedCounts, Simulator};
pub use truth::Truth;
