//! The header of a frame: eight 32-bit little-endian words.

/// What the frames of a file have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    /// Half-years from 2000 to the reference epoch.
    pub(super) epoch: u8,
    pub(super) log2_channels: u32,
    /// Header included, a multiple of 8.
    pub(super) frame_bytes: u32,
    pub(super) bits: u32,
    pub(super) station: u16,
    pub(super) spectra_per_second: u64,
}

/// Bytes of a header.
pub(super) const BYTES: u32 = 32;
/// Version of the format.
const VERSION: u32 = 1;
/// Word 5 of headers with extended data of version 1.
const SYNC: u32 = 0xACAB_FEED;
/// Sample rates in kHz have 23 bits.
const RATE_LIMIT: u64 = 1 << 23;

impl Fields {
    /// The header of a frame of a thread: seconds since the reference epoch (30 bits), frame within the second (24).
    pub(super) fn header(&self, seconds: u32, frame: u32, thread: u32, invalid: bool) -> [u8; BYTES as usize] {
        let khz = self.spectra_per_second / 1000;
        let has_rate = self.spectra_per_second % 1000 == 0 && khz < RATE_LIMIT;
        // Extended data version 1; the unit, bit 23, is 0 for kHz. The name of the recorder stays empty.
        let (rate, sync) = if has_rate { (1 << 24 | khz as u32, SYNC) } else { (0, 0) };
        let words = [
            u32::from(invalid) << 31 | seconds,
            u32::from(self.epoch) << 24 | frame,
            VERSION << 29 | self.log2_channels << 24 | (self.frame_bytes / 8),
            1 << 31 | (self.bits - 1) << 26 | thread << 16 | u32::from(self.station),
            rate,
            sync,
            0,
            0,
        ];
        let mut bytes = [0; BYTES as usize];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_where_the_specification_has_it() {
        let fields = Fields {
            epoch: 52,
            log2_channels: 12,
            frame_bytes: 8224,
            bits: 8,
            station: u16::from_be_bytes(*b"Ef"),
            spectra_per_second: 250_000,
        };
        let words = |bytes: [u8; 32]| -> Vec<u32> {
            bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
        };
        let expected = [0x0069_0f5c, 0x3400_04d2, 0x2c00_0404, 0x9c01_4566, 0x0100_00fa, 0xacab_feed, 0, 0];
        assert_eq!(words(fields.header(6_885_212, 1234, 1, false)), expected);
        let none = Fields { spectra_per_second: 15_625, bits: 4, epoch: 63, log2_channels: 0, ..fields };
        let expected = [0x8000_0000, 0x3f00_0000, 0x2000_0404, 0x8c00_4566, 0, 0, 0, 0];
        assert_eq!(words(none.header(0, 0, 0, true)), expected);
        // Largest values of every field.
        let words = words(fields.header((1 << 30) - 1, (1 << 24) - 1, 1, false));
        assert_eq!(words[..2], [0x3fff_ffff, 0x34ff_ffff]);
    }
}
