//! The header of a file: lines `KEYWORD value # comment`, filled up with zeros to HDR_SIZE bytes.
//!
//! Source: PSRDADA software specification, and the files that DADA recorders write.

use fringes_delay_model::Epoch;

use crate::IoError;
use crate::read::DadaOrder;
use crate::read::source::OpenSource;
use crate::read::text::TextHeader;

/// Bytes of a header that does not say its size.
const HEADER_BYTES: usize = 4096;
/// Most bytes of a header.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Most channels.
const MAX_CHANNELS: u64 = 1 << 20;

/// Whether the bytes are the beginning of a header.
pub(crate) fn looks_like_dada(bytes: &[u8]) -> bool {
    let text = &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())];
    let is_text = |byte: &u8| (0x20..0x7f).contains(byte) || matches!(byte, b'\t' | b'\n' | b'\r') || *byte >= 0x80;
    let lines = || text.split(|&byte| byte == b'\n');
    text.iter().all(is_text) && lines().any(|line| line.starts_with(b"HDR_SIZE") || line.starts_with(b"HEADER "))
}

/// Reads the header where the source stands, and stays behind it.
///
/// # Errors
/// [`IoError::Truncated`] if the source ends inside it, [`IoError::Field`] for a size that cannot be.
pub(super) fn read_header(source: &mut OpenSource) -> Result<TextHeader, IoError> {
    let start = source.position();
    let mut bytes = vec![0; HEADER_BYTES];
    let length = source.read_up_to(&mut bytes)?;
    let header = parse(&bytes[..length], start);
    let size = match header.whole(source, "HDR_SIZE")? {
        Some(size) if (1..=MAX_HEADER_BYTES).contains(&size) => size,
        Some(size) => return Err(source.field(start, "HDR_SIZE", format!("1 to {MAX_HEADER_BYTES}"), size)),
        None if looks_like_dada(&bytes[..length]) => HEADER_BYTES as u64,
        None => return Err(source.field(start, "HDR_SIZE", "a PSRDADA header", "none")),
    };
    source.seek(start)?;
    source.require("header", size)?;
    source.read_into(&mut bytes, size as usize)?;
    Ok(parse(&bytes, start))
}

/// The lines of a header up to the first zero byte.
fn parse(bytes: &[u8], offset: u64) -> TextHeader {
    let mut header = TextHeader::new(offset);
    let text = &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())];
    for line in String::from_utf8_lossy(text).lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some((key, value)) = line.split_once(char::is_whitespace) {
            header.insert(key, value.trim());
        }
    }
    header
}

/// What the samples of all files have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) channels: usize,
    pub(super) pols: usize,
    pub(super) bits: u32,
    pub(super) complex: bool,
    /// `[time][channel][pol]` instead of `[time][pol][channel]`.
    pub(super) pol_fastest: bool,
}

impl Layout {
    /// The layout that a header says, in the order that the caller gives or else the header.
    ///
    /// # Errors
    /// [`IoError::Field`] for a field that is missing or cannot be.
    pub(super) fn new(header: &TextHeader, source: &OpenSource, order: Option<DadaOrder>) -> Result<Self, IoError> {
        let wrong = |field, expected: &str, actual: &dyn ToString| {
            Err(source.field(header.offset, field, expected, actual.to_string()))
        };
        let bits = match header.required(source, "NBIT", 1..=64)? {
            bits @ (8 | 16) => bits as u32,
            other => return wrong("NBIT", "8 or 16", &other),
        };
        let complex = header.required(source, "NDIM", 1..=2)? == 2;
        let pols = header.required(source, "NPOL", 1..=2)? as usize;
        let channels = header.required(source, "NCHAN", 1..=MAX_CHANNELS)? as usize;
        if let Some(antennas) = header.whole(source, "NANT")?.filter(|&antennas| antennas > 1) {
            return wrong("NANT", "1", &antennas);
        }
        if let Some(order) = order {
            return Ok(Self { channels, pols, bits, complex, pol_fastest: order == DadaOrder::ChannelPol });
        }
        let order = header.text("ORDER").unwrap_or("TPF").to_ascii_uppercase();
        // A dimension of length 1 may stand anywhere.
        let letters: String = order
            .chars()
            .filter(|letter| !((*letter == 'F' && channels == 1) || (*letter == 'P' && pols == 1)))
            .collect();
        let pol_fastest = match letters.as_str() {
            "T" | "TP" | "TPF" => false,
            "TF" => channels == 1,
            "TFP" => true,
            _ => return wrong("ORDER", "an order with time slowest, such as TPF or TFP", &order),
        };
        Ok(Self { channels, pols, bits, complex, pol_fastest })
    }

    /// Bytes of one sample of everything.
    pub(super) fn sample_bytes(&self) -> usize {
        self.channels * self.pols * if self.complex { 2 } else { 1 } * (self.bits / 8) as usize
    }
}

/// When the byte of OBS_OFFSET 0 was taken: UTC_START, or else MJD_START.
pub(super) fn start_time(header: &TextHeader) -> Option<Epoch> {
    header.text("UTC_START").and_then(utc_start).or_else(|| header.text("MJD_START").and_then(mjd_start))
}

/// `yyyy-mm-dd-hh:mm:ss[.f]`.
fn utc_start(text: &str) -> Option<Epoch> {
    let mut parts = text.splitn(4, '-');
    let year = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.splitn(3, ':');
    let (hour, minute) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let second = clock.next()?.parse().ok()?;
    // Second 60 of a day without a leap second is the next day's first.
    Epoch::from_utc((year, month, day), (hour, minute, second)).ok().map(|epoch| epoch.plus_seconds(0.0))
}

/// A modified Julian date of many digits.
fn mjd_start(text: &str) -> Option<Epoch> {
    let (day, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mjd_day = day.parse::<i64>().ok().filter(|day| (0..10_000_000).contains(day))?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(Epoch { mjd_day, seconds: fraction * 86_400.0 }.plus_seconds(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_times_are_read() {
        let time = utc_start("2013-07-02-01:37:40").unwrap();
        assert_eq!((time.mjd_day, time.seconds), (56_475, 5860.0));
        let same = mjd_start("56475.0678240740740740740739736849").unwrap();
        assert_eq!(same.mjd_day, 56_475);
        // The fraction has 53 bits below 1/8: 86400 * 2^-56 s.
        assert!((same.seconds - 5860.0).abs() < 2e-12);
        assert_eq!(utc_start("1708082168.958020"), None);
        assert_eq!(utc_start("2013-13-02-01:37:40"), None);
    }
}
