//! UVH5: HDF5 as pyuvdata reads and writes it, appended to while an observation runs.
//!
//! ```text
//! Header/   what is known before the first dump; Nblts, Ntimes
//!           [row]: time_array, lst_array, integration_time, ant_1_array, ant_2_array, uvw_array [row][3],
//!                  phase_center_{id_array, app_ra, app_dec, frame_pa}
//! Data/     [row][channel][product]: visdata (r, i of 32 bits), flags, nsamples
//! ```
//!
//! A row is one pair of antennas `ant1 <= ant2` of one integration, autocorrelations included: rows `(time, baseline)`,
//! all pairs at each time. All arrays of rows grow. Files are version 1.2 of the format.
//!
//! # What outlives a kill
//! Appended integrations are written at once, and [`Uvh5Writer::flush`] makes them a part of the file by one write of
//! the file's first 4096 bytes: where the file ends, how many rows every array has, `Nblts`, `Ntimes`. Nothing that
//! those of the last flush lead to is ever written again. So a process that is killed at any time, even within a flush,
//! leaves a file that any reader of HDF5 opens, with all that was flushed and no more. [`Uvh5Writer::sync`] also waits
//! for the drive, for what must outlive a loss of power. [`Uvh5Writer::resume`] goes on with a file, after a kill or a
//! whole run.
//!
//! A file can be opened by readers while it grows, between flushes; a reader that opens it during one may see half of
//! it, and opens it again. It must have one writer.
//!
//! A short file is longer than its data: space comes by chunks of about 256 KiB of visibilities. What is not used is a
//! hole, where the file system has holes.
//!
//! # Parts
//! An instrument that is spread over several processes writes a file each of the channels it has.
//! [`join_uvh5_channels`] makes of them the file that one writer of all channels would have written.
//!
//! # Signs
//! A row holds `V = sum conj(x_(ant1)) x_(ant2)`, the packed lower triangle's `V[ant2][ant1]`, and
//! `uvw = r_(ant2) - r_(ant1)` in metres, where `r` is the antenna's place along east, north and the phase centre as
//! seen there: both the negative (the conjugate) of what [UVFITS](super::uvfits) holds, and what pyuvdata has in memory
//! for either. With `x_a(t) = s(t + w_a / c)`, a source that is `(l, m)` from the phase centre has the phase
//! `+2 pi f (u l + v m + w (sqrt(1 - l^2 - m^2) - 1)) / c` in data that are stopped on the phase centre.
//!
//! # Times
//! `time_array` is the Julian date (UTC) of the integration's middle. `lst_array` and the apparent places of the phase
//! centre follow from it and UT1 - UTC: that of the geometry for dumps and cubes, that of the header for integrations.
//! Left at zero they are up to 0.9 s off, and pyuvdata warns of the sidereal times.
//!
//! # Polarisations
//! Products XX, YY, XY, YX (`polarization_array` -5 to -8; XX alone for one polarisation), the first letter of `ant1`:
//! polarisation 0 of an antenna is X, 1 is Y, at angles of 0 and 90 degrees.
//!
//! # Flags and numbers of samples
//! `nsamples` is the caller's weight of the pair of inputs, for dumps its number of valid samples, the same in every
//! channel; a product is flagged where that is 0 or less. A visibility that is not finite is written as 0 and flagged.
//! A dump with nothing in it keeps its time, with all flags set and 0 samples.
//!
//! # From visibilities
//! [`VisibilityHeader::new`](super::VisibilityHeader::new) takes the antennas and the phase centre from an array and a
//! [`Geometry`](fringes_delay_model::Geometry); [`Uvh5Writer::append_dump`] and [`Uvh5Writer::append_cube`] take times
//! and `uvw` from it.
//!
//! ```
//! use fringes_delay_model::{AntennaArray, Geometry};
//! use fringes_io::write::{Uvh5Writer, VisibilityHeader};
//! use fringes_types::{BaselineOrder, Complex, Frequencies, Inputs, SpectrumClock, Visibilities};
//! use ndarray::{Array1, Array2};
//!
//! let array: AntennaArray = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 100 20 0".parse()?;
//! let geometry = Geometry::new(&array, "05:34:31.95,+22:00:52.2".parse()?, "2026-03-20T16:30:00".parse()?)?;
//!
//! // Dumps of 8 channels and 500 spectra, 64 samples apart; sample 0 was taken at the geometry's epoch.
//! let inputs = Inputs::new(2, 2)?;
//! let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
//! let dump = |number: u64| {
//!     let clock = SpectrumClock { first_sample: number * 32_000, samples_between_spectra: 64, sample_rate_hz: 1e6 };
//!     let sums = Array2::from_elem((8, inputs.triangle_len()), Complex::new(7i64, 1));
//!     let valid = Array1::from_elem(inputs.triangle_len(), 500);
//!     Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, 500, frequencies, clock)
//! };
//!
//! let header = VisibilityHeader::new(&array, &geometry, inputs, 8, frequencies)?;
//! let header = VisibilityHeader { telescope: "MeerKAT".into(), source: "Crab".into(), ..header };
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("crab.uvh5");
//! let mut writer = Uvh5Writer::create(&path, &header)?;
//! for number in 0..3 {
//!     writer.append_dump(&dump(number)?, &geometry, 0)?;
//!     writer.flush()?; // three dumps that a kill cannot take
//! }
//! drop(writer);
//!
//! let mut writer = Uvh5Writer::resume(&path, &header)?;
//! assert_eq!(writer.integrations(), 3);
//! writer.append_dump(&dump(3)?, &geometry, 0)?;
//! assert_eq!(writer.finish()?, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: "Memo: UVH5 file format", of the pyuvdata project; HDF5 file format specification, version 3.0.

mod fields;
mod hdf5;
mod join;
mod sky;
mod writer;

pub use join::join_uvh5_channels;
pub use writer::Uvh5Writer;
