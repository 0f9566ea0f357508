//! PSRDADA files: time-ordered samples behind a text header.
//!
//! | field | taken as |
//! |---|---|
//! | NBIT, NDIM, NPOL, NCHAN | required: 8 or 16 bits, two's complement, 1 (real) or 2 (complex) parts |
//! | ORDER | `[time][pol][channel]` is TPF, and without it; `[time][channel][pol]` is TFP |
//! | HDR_SIZE | bytes of the header, 4096 without it |
//! | FILE_SIZE | most bytes behind the header; a file may have fewer |
//! | OBS_OFFSET | bytes since the start of the observation: says what is missing or doubled between files |
//! | UTC_START, MJD_START | when OBS_OFFSET was 0; the first that can be read |
//! | FREQ, BW | centre and width of the band in MHz; a negative width runs downward in frequency |
//! | TSAMP | sample time in microseconds; from BW without it |

mod header;
mod reader;

pub(super) use header::looks_like_dada;
pub(super) use reader::DadaReader;
