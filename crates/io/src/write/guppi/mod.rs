//! GUPPI raw files: voltages of one beam in 8 bits, in blocks of so many spectra.
//!
//! ```text
//! cards of 80 characters, END | [channel][time][pol] pairs of real and imaginary part | cards | data | ...
//! ```
//!
//! A spectrum counts as one packet, so that PKTIDX is the number of a block's first spectrum. NPOL is 4 for two
//! polarisations, as is usual, and 1 for one. OBSBW is positive: channels ascend.
//!
//! ```
//! use fringes_io::write::{BeamObservation, GuppiWriter};
//! use fringes_types::{Beams, Complex, Frequencies, SpectrumClock};
//! use ndarray::Array3;
//!
//! // Three beams of two polarisations.
//! let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 64, sample_rate_hz: 1e6 };
//! let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
//! let beams = Beams::new(Array3::from_elem((64, 100, 6), Complex::new(10i8, -7)), frequencies, clock)?;
//!
//! let observation = BeamObservation::new("2026-03-20T16:30:00".parse()?);
//! let observation = BeamObservation { source: "B0329+54".into(), ..observation };
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("beam2.raw");
//! let mut writer = GuppiWriter::create(&path, &observation, 2, 2, 32)?; // beam 2: beams 4 and 5, x and y
//! writer.write(&beams)?; // chunk after chunk
//! let end = writer.finish()?;
//! assert_eq!((end.blocks, end.padding), (4, 28));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: the GUPPI raw data format as GUPPI, PUPPI, VEGAS and the Breakthrough Listen recorders write it.

mod header;
mod writer;

pub use writer::{GuppiEnd, GuppiWriter};
