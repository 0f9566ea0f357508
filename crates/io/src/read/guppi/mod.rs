//! GUPPI raw: blocks of channelised complex voltages, each behind a header of cards.
//!
//! A block's data are `[antenna][channel][time][pol]` (`[time][channel][pol]` where PKTFMT is SIMPLE) pairs of real and
//! imaginary part. The last OVERLAP samples of a block come again as the first of the next; they are given once, as the
//! block has them that comes first.
//!
//! | field | taken as |
//! |---|---|
//! | BLOCSIZE, OBSNCHAN, NBITS | required; NBITS 8 or 16 |
//! | NPOL | required; 1, or 2 or 4 for two polarisations |
//! | NANTS | antennas, each with OBSNCHAN / NANTS channels; 1 without it |
//! | PKTIDX | with PIPERBLK, or else PKTSIZE, says how many samples are missing before a block |
//! | OBSFREQ, OBSBW | centre and width of the band of an antenna in MHz; a negative width runs downward in frequency |
//! | TBIN | sample time in seconds; 1 / (OBSBW / channels) without it |
//! | STT_IMJD, STT_SMJD, STT_OFFS | when PKTIDX was 0 |

mod header;
mod reader;

pub(super) use header::looks_like_cards;
pub(super) use reader::GuppiReader;
