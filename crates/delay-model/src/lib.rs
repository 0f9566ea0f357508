//! Delays of the inputs of an array: models for the signal path, and the geometry that they come from.
//!
//! | what | type |
//! |---|---|
//! | delay and phase of one input over time: polynomials, updates queued ahead | [`DelayModel`], [`DelaySegment`] |
//! | the same at one time, split into whole samples, the rest and a phase | [`DelayValue`] |
//! | its phase over all channels, in fixed point | [`ChannelPhase`] |
//! | the same for many spectra | [`DelayPlan`] |
//! | positions, sites, tables of antennas | [`Enu`], [`Itrf`], [`Site`], [`AntennaArray`] |
//! | directions: sources, instants, what a site sees | [`Source`], [`Epoch`], [`Pointing`], [`Direction`] |
//! | delays, fringe phases and uvw of an array for a source | [`Geometry`] |
//! | delay polynomials fitted over time, with an error bound | [`DelayTrack`] |
//!
//! # Signs
//!
//! `r` is an antenna's position, `s` the unit vector toward the source, `f` the frequency on the sky.
//!
//! - An antenna nearer to the source receives the wave earlier: `x_a(t) = e(t + r_a . s / c)`, with `e` the field at
//!   the site.
//! - Delaying aligns: `d_a = r_a . s / c + offset`, so that `x_a(t - d_a) = e(t - offset)` for all antennas. The offset
//!   is one constant for the array that keeps every delay from being negative.
//! - `d(t)` is the delay of the sample that comes *out* at time `t`: that sample came in at `t - d(t)`.
//! - `coarse = rint(d)` (ties to even) moves the window of samples, `fine = d - coarse` turns the channels; together
//!   they turn a channel by `-d` times its frequency relative to the middle of the band.
//! - What remains is the phase of the middle of the band: the model's own phase term. `-f d` turns stop the fringe,
//!   with `f` the sky frequency there ([`DelaySegment::with_fringe_stopping`]).
//! - `V_ab = sum x_a conj(x_b)`. Before fringe stopping, a source in the direction of `w` has the phase `+f (w_a - w_b)
//!   / c` turns; after it, none.
//!
//! For example, antenna `b` at the site, antenna `a` one light microsecond to the east of it, a source on the horizon
//! in the east, 100.03 million samples a second, 1420.1 MHz:
//!
//! | | `a` | `b` |
//! |---|---|---|
//! | `w` | 299.792458 m | 0 |
//! | wave arrives, relative to the site | 1 us earlier | at the same time |
//! | delay, with an offset of 1 us | 2 us | 1 us |
//! | delay in samples | 200.06 | 100.03 |
//! | coarse, fine | 200, 0.06 | 100, 0.03 |
//! | fringe-stopping phase `-f d` | -2840.2 turns = -0.2 | -1420.1 turns = -0.1 |
//! | phase of `V_ab` before | `f (w_a - w_b) / c` = 1420.1 turns = +0.1 | |
//! | phase of `V_ab` after | 0.1 + (-0.2) - (-0.1) = 0 | |
//!
//! The same as a program:
//!
//! ```
//! use fringes_delay_model::{AntennaArray, DelayModel, DelayModelError, DelaySegment, Geometry};
//! use fringes_delay_model::SPEED_OF_LIGHT_M_PER_S;
//!
//! let (sample_rate_hz, sky_hz) = (100.03e6, 1420.1e6);
//! let table = "# enu -30.7128 21.4438 1053.0
//!     a 299.792458 0 0
//!     b 0 0 0";
//! let array: AntennaArray = table.parse()?;
//! let geometry = Geometry::new(&array, "azel 90 0".parse()?, "2026-03-20T12:00:00".parse()?)?;
//!
//! let delays = geometry.geometric_delays(0.0)?;
//! assert!((delays.offset_seconds - 1e-6).abs() < 1e-18);
//! assert!((delays.seconds[0] - 2e-6).abs() < 1e-18 && (delays.seconds[1] - 1e-6).abs() < 1e-18);
//!
//! let mut values = Vec::new();
//! for &delay in &delays.seconds {
//!     let segment = DelaySegment::from_seconds(0, &[delay], sample_rate_hz)?;
//!     let model = DelayModel::from_segment(segment.with_fringe_stopping(sky_hz, sample_rate_hz)?)?;
//!     values.push(model.evaluate(0));
//! }
//! assert_eq!((values[0].coarse, values[1].coarse), (200, 100));
//! assert!((values[0].fine - 0.06).abs() < 1e-9 && (values[1].fine - 0.03).abs() < 1e-9);
//! assert!((values[0].phase_turns + 0.2).abs() < 1e-9 && (values[1].phase_turns + 0.1).abs() < 1e-9);
//!
//! let uvw = geometry.uvw(0.0)?;
//! let before = sky_hz * (uvw[0][2] - uvw[1][2]) / SPEED_OF_LIGHT_M_PER_S;
//! let after = before + values[0].phase_turns - values[1].phase_turns;
//! assert!((before - 1420.1).abs() < 1e-9 && (after - after.round()).abs() < 1e-9);
//! # Ok::<(), DelayModelError>(())
//! ```
//!
//! # Following a source
//!
//! [`Geometry::track`] fits polynomials to the delays of a moving source and says how far they may be off:
//!
//! ```
//! use fringes_delay_model::{AntennaArray, DelayModelError, Enu, Geometry, SampleClock, Site, Source};
//!
//! let site = Site::from_degrees(-30.7128, 21.4438, 1053.0)?;
//! let positions = [(0.0, 0.0), (350.0, -120.0), (-80.0, 410.0)];
//! let positions = positions.map(|(east_m, north_m)| Enu { east_m, north_m, up_m: 0.0 }).to_vec();
//! let array = AntennaArray::from_enu(positions, site)?;
//! let source = Source::parse_radec("05:34:31.95", "+22:00:52.2")?;
//! let geometry = Geometry::new(&array, source, "2026-03-20T16:30:00".parse()?)?;
//!
//! // The first sample was taken at the epoch; a minute in intervals of ten seconds, polynomials of degree 2.
//! let clock = SampleClock { epoch_sample: 0, sample_rate_hz: 100e6 };
//! let track = geometry.track(clock, 0..6_000_000_000, 1_000_000_000, 2)?;
//! assert!(track.error_bound_seconds() < 1e-17);
//!
//! // One model an input, for antennas with two polarisations; the fringe is stopped at 1.4 GHz.
//! let models = track.with_fringe_stopping(1.4e9)?.models(2)?;
//! assert_eq!(models.len(), 6);
//! let value = models[2].evaluate(2_345_678_901);
//! println!("delay {} + {:.3} samples, phase {:.3} turns", value.coarse, value.fine, value.phase_turns);
//! # Ok::<(), DelayModelError>(())
//! ```

mod bend;
mod error;
pub mod geometry;
mod model;
mod phase;
mod plan;
mod segment;
mod turns;
mod value;

pub use bend::Bend;
pub use error::DelayModelError;
pub use geometry::{
    AntennaArray, DelayTrack, Direction, EARTH_ROTATION_RAD_PER_S, EarthOrientation, Enu, Epoch, FringeStopping,
    GeometricDelays, Geometry, Itrf, Pointing, Positions, SPEED_OF_LIGHT_M_PER_S, SampleClock, Site, Source,
    parse_declination, parse_hour_angle, parse_right_ascension,
};
pub use model::DelayModel;
pub use phase::ChannelPhase;
pub use plan::{DelayPlan, Section};
pub use segment::DelaySegment;
pub use value::DelayValue;
