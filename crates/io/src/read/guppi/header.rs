//! The header of a block: cards of 80 characters, `KEYWORD = value / comment`, up to the card `END`.
//!
//! With `DIRECTIO = 1` the header is filled up to a multiple of 512 bytes.
//!
//! Source: the GUPPI raw data format as GUPPI, PUPPI, VEGAS and the Breakthrough Listen and hashpipe recorders write
//! it.

use crate::IoError;
use crate::read::source::OpenSource;
use crate::read::text::TextHeader;

/// Bytes of a card.
pub(super) const CARD: usize = 80;
/// Most cards of a header.
const MAX_CARDS: usize = 2048;
/// What direct I/O fills a header up to a multiple of.
const DIRECT: u64 = 512;
/// Most channels of all antennas, and most antennas.
const MAX_CHANNELS: u64 = 1 << 20;

/// Whether the bytes are the first card of a header.
pub(crate) fn looks_like_cards(bytes: &[u8]) -> bool {
    bytes.get(..CARD).is_some_and(|card| {
        card[8] == b'=' && card.iter().all(|byte| (0x20..0x7f).contains(byte)) && card[0].is_ascii_uppercase()
            || card[8] == b'=' && card[0] == b'_' && card.is_ascii()
    })
}

/// Reads the cards where the source stands, and stays at the first byte behind the header. `None` at the end.
///
/// # Errors
/// [`IoError::Truncated`] if the source ends inside the header, [`IoError::Field`] for a card that is not text or a
/// header without an end.
pub(super) fn read_cards(source: &mut OpenSource) -> Result<Option<TextHeader>, IoError> {
    let start = source.position();
    if source.remaining() == 0 {
        return Ok(None);
    }
    let mut header = TextHeader::new(start);
    for number in 0..MAX_CARDS {
        let mut card = [0; CARD];
        if source.remaining() < CARD as u64 {
            let (expected, actual) = (((number + 1) * CARD) as u64, source.length() - start);
            return Err(source.truncated("block header", start, expected, actual));
        }
        source.read(&mut card)?;
        let text = match std::str::from_utf8(&card) {
            Ok(text) if card.iter().all(|byte| (0x20..0x7f).contains(byte)) => text,
            _ => {
                let actual = card[..16].escape_ascii().to_string();
                return Err(source.field(
                    start,
                    "card",
                    "80 printable ASCII characters",
                    format!("{actual}... (card {number})"),
                ));
            }
        };
        if text.trim_end() == "END" {
            // Asked for here, because the fill comes before the data.
            if header.whole(source, "DIRECTIO")?.unwrap_or(0) != 0 {
                let length = source.position() - start;
                let padding = length.next_multiple_of(DIRECT) - length;
                source.require("block header", padding)?;
                source.seek(source.position() + padding)?;
            }
            return Ok(Some(header));
        }
        if let Some((field, value)) =
            text.split_at_checked(8).and_then(|(key, rest)| Some((key, rest.strip_prefix('=')?)))
        {
            header.insert(field.trim_end(), card_value(value));
        }
    }
    let expected = format!("a card END within {MAX_CARDS} cards");
    Err(source.field(start, "END", expected, "none"))
}

/// The value of a card without quotes and comment.
fn card_value(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next().unwrap_or_default().trim(),
        None => text.split('/').next().unwrap_or_default().trim(),
    }
}

/// How the samples of a block lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) antennas: usize,
    /// Of each antenna.
    pub(super) channels: usize,
    pub(super) pols: usize,
    pub(super) bits: u32,
    /// `[time][channel][pol]` instead of `[antenna][channel][time][pol]`.
    pub(super) time_first: bool,
    /// Bytes of a block's data.
    pub(super) bytes: u64,
    /// Samples of each channel in a block.
    pub(super) samples: usize,
    /// Samples at the end of a block that the next block begins with.
    pub(super) overlap: usize,
    /// How much PKTIDX grows from block to block.
    pub(super) packets: Option<u64>,
}

impl Layout {
    /// The layout of a block.
    ///
    /// # Errors
    /// [`IoError::Field`] for a field that is missing or cannot be.
    pub(super) fn new(header: &TextHeader, source: &OpenSource) -> Result<Self, IoError> {
        let wrong = |field, expected: &str, actual: &dyn ToString| {
            Err(source.field(header.offset, field, expected, actual.to_string()))
        };
        let bytes = header.required(source, "BLOCSIZE", 1..=1 << 40)?;
        let all_channels = header.required(source, "OBSNCHAN", 1..=MAX_CHANNELS)?;
        let antennas = match header.whole(source, "NANTS")? {
            None | Some(0) => 1,
            Some(antennas) if antennas <= all_channels && all_channels % antennas == 0 => antennas,
            Some(antennas) => return wrong("NANTS", &format!("a divisor of OBSNCHAN, {all_channels}"), &antennas),
        };
        let pols = match header.required(source, "NPOL", 1..=4)? {
            1 => 1,
            2 | 4 => 2,
            other => return wrong("NPOL", "1, 2 or 4", &other),
        };
        let bits = match header.required(source, "NBITS", 1..=32)? {
            bits @ (8 | 16) => bits,
            // Recorders disagree about the order and the meaning of narrower samples.
            other => return wrong("NBITS", "8 or 16", &other),
        };
        let time_first = header.text("PKTFMT") == Some("SIMPLE");
        if time_first && antennas > 1 {
            return wrong("PKTFMT", "a format of several antennas", &"SIMPLE");
        }
        let sample_bytes = all_channels * pols * 2 * (bits / 8);
        let samples = bytes / sample_bytes;
        if samples == 0 || bytes % sample_bytes != 0 {
            return wrong("BLOCSIZE", &format!("a multiple of {sample_bytes}, the bytes of a sample"), &bytes);
        }
        let overlap = header.whole(source, "OVERLAP")?.unwrap_or(0);
        if overlap >= samples {
            return wrong("OVERLAP", &format!("below {samples}, the samples of a block"), &overlap);
        }
        let packets = match (header.whole(source, "PIPERBLK")?, header.whole(source, "PKTSIZE")?) {
            (Some(packets), _) if packets > 0 => Some(packets),
            (_, Some(size)) if size > 0 => Some((bytes - overlap * sample_bytes) / size).filter(|&packets| packets > 0),
            _ => None,
        };
        Ok(Self {
            antennas: antennas as usize,
            channels: (all_channels / antennas) as usize,
            pols: pols as usize,
            bits: bits as u32,
            time_first,
            bytes,
            samples: samples as usize,
            overlap: overlap as usize,
            packets,
        })
    }

    /// Bytes of one sample of all polarisations of one channel.
    pub(super) fn cell_bytes(&self) -> usize {
        self.pols * 2 * (self.bits / 8) as usize
    }

    /// Samples of a block without the overlap.
    pub(super) fn fresh(&self) -> usize {
        self.samples - self.overlap
    }

    /// Samples in so many packets.
    ///
    /// # Errors
    /// [`IoError::Field`] if that is not a whole number.
    pub(super) fn packet_samples(
        &self,
        packets: u64,
        header: &TextHeader,
        source: &OpenSource,
    ) -> Result<u64, IoError> {
        let Some(step) = self.packets else { return Ok(0) };
        let samples = u128::from(packets) * self.fresh() as u128;
        match u64::try_from(samples / u128::from(step)) {
            Ok(whole) if samples.is_multiple_of(u128::from(step)) => Ok(whole),
            _ => {
                let expected = format!("a whole number of samples ({} in {step} packets)", self.fresh());
                Err(source.field(header.offset, "PKTIDX", expected, format!("{packets} packets")))
            }
        }
    }
}
