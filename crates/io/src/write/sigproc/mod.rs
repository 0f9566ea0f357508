//! SIGPROC filterbank files, `.fil`: detected beams in 8 bits or f32, one beam a file.
//!
//! ```text
//! HEADER_START | keyword value | keyword value ... | HEADER_END | spectrum spectrum spectrum ...
//!                                                                '- [product][channel], the highest channel first
//! ```
//!
//! A text is its length (i32) and its characters; numbers are little-endian i32 and f64. `fch1` is the highest channel
//! in MHz and `foff` negative, as most programs want it. `nifs` is 1 for powers and Stokes I, 4 for Stokes parameters
//! (I, Q, U, V) and coherencies (XX, YY, Re XY*, Im XY*); most programs read the first alone. `tstart` is when the
//! first sum began, as a modified Julian day in f64: to 1 microsecond.
//!
//! ```
//! use fringes_io::write::{BeamObservation, FilterbankWriter};
//! use fringes_types::{DetectedBeams, DetectedProducts, Frequencies, SpectrumClock};
//! use ndarray::Array4;
//!
//! let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 1024, sample_rate_hz: 1e6 };
//! let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
//! let sums = Array4::from_elem((64, 100, 3, 1), 96u8);
//! let beams = DetectedBeams::new(sums, DetectedProducts::StokesI, frequencies, clock)?;
//!
//! let observation = BeamObservation::new("2026-03-20T16:30:00".parse()?);
//! let observation = BeamObservation { source: "B0329+54".into(), ..observation };
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("beam2.fil");
//! let mut writer = FilterbankWriter::create(&path, &observation, 2)?;
//! writer.write(&beams)?; // chunk after chunk
//! assert_eq!(writer.finish()?, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: D. R. Lorimer, SIGPROC-v3.7: (Pulsar) Signal Processing Programs, section 5 and appendix.

mod header;
mod writer;

pub use writer::{FilterbankSample, FilterbankWriter};
