//! The frame header of VDIF: 32-bit little-endian words, eight of them, or four in the legacy form.
//!
//! | word | bits 31.. | fields from the highest bit down (width) |
//! |---|---|---|
//! | 0 | | invalid (1), legacy (1), seconds from the reference epoch (30) |
//! | 1 | | unassigned (2), reference epoch in half-years from 2000 (6), frame within the second (24) |
//! | 2 | | version (3), log2 of channels (5), frame length in units of 8 bytes, header included (24) |
//! | 3 | | complex (1), bits a sample - 1 (5), thread (10), station (16) |
//! | 4 | | extended data version, EDV (8), its data (24) |
//! | 5..8 | | extended data |
//!
//! EDV 1, 3 and 4 have the sample rate in word 4 (bit 23: unit, 1 MHz or 1 kHz; bits 0..23: the number) and 0xACABFEED
//! in word 5. The number counts complex samples; real sampling is twice as fast.
//!
//! Source: VDIF specification, release 1.1.1 (2014), and its registered extensions 1, 3, 4 and 0xab.

use fringes_delay_model::Epoch;

use crate::IoError;
use crate::read::OpenOptions;
use crate::read::source::OpenSource;

/// Most real values of one sample of all channels that a frame may hold.
const MAX_VALUES: u64 = 1 << 22;

/// The fields of one frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) invalid: bool,
    pub(crate) legacy: bool,
    pub(crate) seconds: u32,
    pub(crate) epoch: u8,
    /// Bits that are 0 in every version of the format.
    pub(crate) unassigned: u8,
    /// Version of the format.
    pub(crate) vdif_version: u8,
    pub(crate) frame: u32,
    pub(crate) log2_channels: u8,
    pub(crate) frame_bytes: u32,
    pub(crate) complex: bool,
    pub(crate) bits: u32,
    pub(crate) thread: u16,
    pub(crate) station: u16,
    /// Extended data version, `None` in legacy headers.
    pub(crate) version: Option<u8>,
    /// Complex samples a second that the extended data give.
    pub(crate) complex_rate_hz: Option<u64>,
}

/// Bytes of a legacy header.
const LEGACY_BYTES: u32 = 16;
/// Bytes of a header.
const HEADER_BYTES: u32 = 32;
/// Word 5 of headers whose word 4 is a sample rate.
const SYNC: u32 = 0xACAB_FEED;
/// Extended data version of Mark 5B data in VDIF frames.
const MARK5B: u8 = 0xab;

impl Header {
    /// Reads the header where the source stands, and stays behind it. `None` at the end of the source.
    ///
    /// # Errors
    /// [`IoError::Truncated`] if the source ends inside the header.
    pub(crate) fn read(source: &mut OpenSource) -> Result<Option<Self>, IoError> {
        if source.remaining() == 0 {
            return Ok(None);
        }
        source.require("frame header", u64::from(LEGACY_BYTES))?;
        let mut bytes = [0; HEADER_BYTES as usize];
        let (first, second) = bytes.split_at_mut(LEGACY_BYTES as usize);
        let start = source.position();
        source.read(first)?;
        if first[3] & 0x40 == 0 {
            let rest = u64::from(HEADER_BYTES - LEGACY_BYTES);
            if source.remaining() < rest {
                let actual = source.length() - start;
                return Err(source.truncated("frame header", start, u64::from(HEADER_BYTES), actual));
            }
            source.read(second)?;
        }
        Ok(Some(Self::parse(&bytes)))
    }

    /// The fields of a header; of a legacy header only the first 16 bytes count.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES as usize]) -> Self {
        let word = |index: usize| {
            let at = 4 * index;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let legacy = word(0) >> 30 & 1 == 1;
        let version = (!legacy).then(|| (word(4) >> 24) as u8);
        let rate = u64::from(word(4) & 0x7f_ffff) * if word(4) >> 23 & 1 == 1 { 1_000_000 } else { 1000 };
        let has_rate = matches!(version, Some(1 | 3 | 4)) && word(5) == SYNC && rate > 0;
        Self {
            invalid: word(0) >> 31 == 1,
            legacy,
            seconds: word(0) & 0x3fff_ffff,
            unassigned: (word(1) >> 30) as u8,
            vdif_version: (word(2) >> 29) as u8,
            epoch: (word(1) >> 24 & 0x3f) as u8,
            frame: word(1) & 0xff_ffff,
            log2_channels: (word(2) >> 24 & 0x1f) as u8,
            frame_bytes: (word(2) & 0xff_ffff) * 8,
            complex: word(3) >> 31 == 1,
            bits: (word(3) >> 26 & 0x1f) + 1,
            thread: (word(3) >> 16 & 0x3ff) as u16,
            station: word(3) as u16,
            version,
            complex_rate_hz: has_rate.then_some(rate),
        }
    }

    /// Bytes of the header.
    pub(crate) fn bytes(&self) -> u32 {
        if self.legacy { LEGACY_BYTES } else { HEADER_BYTES }
    }

    /// Seconds, leap seconds included, from 1 January 2000: the same for every way of writing an instant.
    pub(crate) fn second(&self) -> i64 {
        // Whole and far below 2^53.
        let epoch = Epoch::from_half_years(self.epoch).seconds_since(Epoch::from_half_years(0));
        epoch as i64 + i64::from(self.seconds)
    }

    /// The start of the header's second. Its seconds count the leap seconds since the reference epoch.
    pub(crate) fn utc(&self) -> Epoch {
        Epoch::from_half_years(self.epoch).plus_seconds(f64::from(self.seconds))
    }
}

/// What every frame of a recording has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) legacy: bool,
    pub(crate) frame_bytes: u32,
    pub(crate) header_bytes: u32,
    pub(crate) channels: usize,
    pub(crate) complex: bool,
    pub(crate) bits: u32,
    /// Bits in the order and meaning of Mark 5B.
    pub(crate) mark5b: bool,
    /// Real values (parts of complex samples) in a 32-bit word.
    pub(crate) values_per_word: usize,
    /// Samples of each channel in a frame.
    pub(crate) samples: usize,
}

impl Layout {
    /// The layout of frames with this header, which begins at `offset`.
    ///
    /// # Errors
    /// [`IoError::Field`] for a header that no frame can have.
    pub(crate) fn new(header: &Header, source: &OpenSource, offset: u64) -> Result<Self, IoError> {
        let header_bytes = header.bytes();
        let payload = header.frame_bytes.checked_sub(header_bytes).filter(|&payload| payload > 0).ok_or_else(|| {
            source.field(offset, "frame length", format!("more than {header_bytes} bytes"), header.frame_bytes)
        })?;
        if header.bits > 16 {
            return Err(source.field(offset, "bits a sample", "1 to 16", header.bits));
        }
        let parts = if header.complex { 2 } else { 1 };
        let values = (1u64 << header.log2_channels) * parts;
        if values > MAX_VALUES {
            let expected = format!("at most {}", MAX_VALUES / parts);
            return Err(source.field(offset, "channels", expected, 1u64 << header.log2_channels));
        }
        if header.log2_channels > 0 && !header.bits.is_power_of_two() {
            let expected = "1, 2, 4, 8 or 16 where there are several channels";
            return Err(source.field(offset, "bits a sample", expected, header.bits));
        }
        let mark5b = header.version == Some(MARK5B);
        if mark5b && (header.bits > 2 || header.complex) {
            let actual = format!("{} bits, {}", header.bits, if header.complex { "complex" } else { "real" });
            return Err(source.field(offset, "Mark 5B samples", "1 or 2 bits, real", actual));
        }
        // The parts of a complex sample stay in one word.
        let values_per_word = if header.complex { 32 / (2 * header.bits) * 2 } else { 32 / header.bits };
        let samples = u64::from(payload / 4) * u64::from(values_per_word) / values;
        if samples == 0 {
            let expected = format!("room for one sample of {} channels", 1u64 << header.log2_channels);
            return Err(source.field(offset, "frame length", expected, header.frame_bytes));
        }
        Ok(Self {
            legacy: header.legacy,
            frame_bytes: header.frame_bytes,
            header_bytes,
            channels: 1 << header.log2_channels,
            complex: header.complex,
            bits: header.bits,
            mark5b,
            values_per_word: values_per_word as usize,
            samples: samples as usize,
        })
    }

    /// Bytes of the samples of a frame.
    pub(crate) fn payload_bytes(&self) -> usize {
        (self.frame_bytes - self.header_bytes) as usize
    }

    /// `Ok` if a further header, at `offset`, is of the same layout.
    ///
    /// # Errors
    /// [`IoError::Field`] for the first field that differs.
    pub(crate) fn check(&self, header: &Header, source: &OpenSource, offset: u64) -> Result<(), IoError> {
        let mark5b = header.version == Some(MARK5B);
        let differs = |field, expected: &dyn ToString, actual: &dyn ToString| {
            Err(source.field(
                offset,
                field,
                format!("{}, as in the first frame", expected.to_string()),
                actual.to_string(),
            ))
        };
        if header.legacy != self.legacy {
            return differs("legacy flag", &self.legacy, &header.legacy);
        }
        if header.frame_bytes != self.frame_bytes {
            return differs("frame length", &self.frame_bytes, &header.frame_bytes);
        }
        if 1usize << header.log2_channels != self.channels {
            return differs("channels", &self.channels, &(1u64 << header.log2_channels));
        }
        if header.bits != self.bits {
            return differs("bits a sample", &self.bits, &header.bits);
        }
        if header.complex != self.complex {
            return differs("complex flag", &self.complex, &header.complex);
        }
        if mark5b != self.mark5b {
            return differs("Mark 5B samples", &self.mark5b, &mark5b);
        }
        Ok(())
    }

    /// Frames a second of a recording at a sample rate that the caller gives, or else the header.
    ///
    /// # Errors
    /// [`IoError::Field`] if that is not a whole number.
    pub(crate) fn frames_per_second(
        &self,
        header: &Header,
        options: &OpenOptions,
        source: &OpenSource,
        offset: u64,
    ) -> Result<Option<u64>, IoError> {
        let recorded = header.complex_rate_hz.map(|rate| (if self.complex { rate } else { 2 * rate }) as f64);
        let Some(rate) = options.sample_rate_hz.or(recorded) else {
            return Ok(None);
        };
        let frames = rate / self.samples as f64;
        let whole = frames.round();
        // Rates come from text and from kHz: a millionth of a frame is not a fault of theirs.
        if !(1.0..=f64::from(1 << 24)).contains(&whole) || (frames - whole).abs() > 1e-6 * whole {
            let expected = format!("1 to 2^24 times {} Hz, the samples of a frame", self.samples);
            return Err(source.field(offset, "sample rate", expected, rate));
        }
        Ok(Some(whole as u64))
    }
}
