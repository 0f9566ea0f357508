//! VDIF files: voltages of one beam or antenna in 8 or 4 bits, a thread for each polarisation.
//!
//! ```text
//! header | [spectrum][channel][part] of thread 0 | header | the same of thread 1 | header | ...
//! ```
//!
//! | field | is |
//! |---|---|
//! | values | complex, real part first, offset binary: `v + 128` or `v + 8` |
//! | channels | a power of two, in the order of the chunks |
//! | thread | the polarisation |
//! | station | [`VdifOptions::station`] |
//! | frames | as many spectra as [`VdifOptions::spectra_per_frame`], or a choice of at most 8192 bytes where that can be |
//! | extended data | version 1 with the spectra a second where these are a multiple of 1 kHz, else version 0 with nothing |
//!
//! Frames begin with every second of UTC and there is a whole number of them, so spectra must be a whole number a
//! second and begin with a second as well. The first frame and the last one are filled up with zeros; frames of which
//! nothing came are flagged invalid. Names, directions and frequencies have no place in the format.
//!
//! ```
//! use fringes_io::write::{VdifOptions, VdifWriter};
//! use fringes_types::{Beams, Complex, Frequencies, SpectrumClock};
//! use ndarray::Array3;
//!
//! // One antenna of two polarisations: 64 channels, 15625 spectra a second, from 0.64 ms behind a second on.
//! let clock = SpectrumClock { first_sample: 640, samples_between_spectra: 64, sample_rate_hz: 1e6 };
//! let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
//! let voltages = Beams::new(Array3::from_elem((64, 100, 2), Complex::new(10i8, -7)), frequencies, clock)?;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("antenna0.vdif");
//! let options = VdifOptions::new(u16::from_be_bytes(*b"Ef"));
//! let mut writer = VdifWriter::create(&path, "2026-03-20T16:30:00".parse()?, options, 0, 2)?;
//! writer.write(&voltages)?; // chunk after chunk
//! let end = writer.finish()?;
//! // 25 spectra of 64 channels are 3200 bytes; 125 would be 16000. Ten spectra of the first frame lie before.
//! assert_eq!((end.spectra_per_frame, end.frames, end.leading, end.trailing), (25, 5, 10, 15));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: VDIF specification, release 1.1.1 (2014), and its extension 1.

mod frame;
mod header;
mod timeline;
mod writer;

pub use frame::VdifOptions;
pub use writer::{VdifEnd, VdifWriter};
