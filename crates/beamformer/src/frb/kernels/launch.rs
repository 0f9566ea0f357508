//! How voltages lie in device memory, and the sizes of a launch.

use fringes_backend::DeviceError;
use fringes_types::{Dimension, TypesError, VoltageSample};

use crate::{BeamformerError, FrbBeams, Offset};

/// Times within which offsets in bytes are counted in 32 bits, and how many bits these have at most.
const BLOCK_BITS: u32 = 7;
const OFFSET_BITS: u32 = 31;

/// How the kernels read a nibble: 8 more than its value, or two's complement.
const OFFSET: u32 = 0;
const SIGNED: u32 = 0x0088_0088;

/// How voltages `[time][frequency][pol][line][feed]` lie in device memory: the feeds of a line side by side, and all
/// else at any distances.
///
/// A voltage of 4+4 bits has its real part in the high half of its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrbLayout {
    /// How four bits are a number; of 8-bit voltages it does not matter.
    pub offset: Offset,
    /// Bytes from a time to the next.
    pub time_bytes: usize,
    /// Bytes from a frequency to the next.
    pub frequency_bytes: usize,
    /// Bytes from a polarisation to the next.
    pub pol_bytes: usize,
    /// Bytes from a line to the next.
    pub line_bytes: usize,
}

impl FrbLayout {
    /// Voltages of these beams with nothing between them.
    ///
    /// ```
    /// use fringes_beamformer::{FrbBeams, FrbLayout, Offset};
    /// use fringes_types::Complex4;
    /// # use fringes_types::Complex;
    /// # use ndarray::{Array3, Array4};
    /// # let gains = Array4::from_elem((16, 2, 4, 256), Complex::new(1f32, 0.0));
    /// # let matrix = Array3::from_elem((16, 4, 4), Complex::new(1f32, 0.0));
    /// // 16 frequencies, 2 polarisations, 4 lines of 256 feeds
    /// let beams = FrbBeams::builder(gains, matrix, 512).build()?;
    /// let layout = FrbLayout::packed::<Complex4>(&beams, Offset::Offset8);
    /// assert_eq!((layout.time_bytes, layout.frequency_bytes, layout.line_bytes), (16 * 2048, 2048, 256));
    /// # Ok::<(), fringes_beamformer::BeamformerError>(())
    /// ```
    pub fn packed<V: VoltageSample>(beams: &FrbBeams, offset: Offset) -> Self {
        // Beams have weights for all of these, which are larger.
        let line_bytes = beams.feeds().saturating_mul(size_of::<V>());
        let pol_bytes = line_bytes.saturating_mul(beams.lines());
        let frequency_bytes = pol_bytes.saturating_mul(beams.pols());
        let time_bytes = frequency_bytes.saturating_mul(beams.frequencies());
        Self { offset, time_bytes, frequency_bytes, pol_bytes, line_bytes }
    }

    /// The distances, of times first.
    pub(super) fn strides(&self) -> [usize; 4] {
        [self.time_bytes, self.frequency_bytes, self.pol_bytes, self.line_bytes]
    }
}

/// Counts of the chain that a launch is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) frequencies: usize,
    pub(super) pols: usize,
    pub(super) outs: usize,
    pub(super) lines: usize,
    pub(super) feeds: usize,
    pub(super) north_beams: usize,
    pub(super) fine: usize,
    pub(super) products: usize,
    pub(super) blocks: usize,
    pub(super) sum_times: usize,
}

impl Counts {
    /// Of beams.
    pub(super) fn of(beams: &FrbBeams) -> Self {
        Self {
            frequencies: beams.frequencies(),
            pols: beams.pols(),
            outs: beams.outs(),
            lines: beams.lines(),
            feeds: beams.feeds(),
            north_beams: beams.north_beams(),
            fine: beams.fine_channels(),
            products: beams.product_count(),
            blocks: beams.blocks(),
            sum_times: beams.sum_times(),
        }
    }

    /// Sums of so many times.
    pub(super) fn sums(&self, times: usize) -> Result<usize, BeamformerError> {
        let (expected, actual) = (self.sum_times, times);
        if !times.is_multiple_of(expected) {
            let dimension = Dimension::Time;
            return Err(TypesError::Multiple { array: "voltages", dimension, expected, actual }.into());
        }
        Ok(times / expected)
    }

    /// Units of work of so many sums with beams in so many parts, if a launch can count them.
    pub(super) fn units(&self, sums: usize, parts: usize) -> Result<u32, DeviceError> {
        let units = product(&[self.frequencies, sums, self.outs, parts]);
        let voltages = product(&[sums, self.sum_times]);
        let weights = product(&[self.frequencies, self.pols.saturating_mul(self.outs).max(self.fine)]);
        for (what, actual) in [
            ("frequencies x sums x outs x parts of a launch", units),
            ("times of a launch", voltages),
            ("frequencies x polarisations x outs of a launch", weights),
        ] {
            check_u32(what, actual)?;
        }
        check_u32("frequencies x sums x outs x parts of a launch", units)
    }

    /// Powers of so many sums.
    pub(super) fn powers(&self, sums: usize) -> usize {
        product(&[self.frequencies, self.fine, sums, self.outs, self.north_beams, self.products])
    }

    /// Flags of so many sums.
    pub(super) fn flags(&self, sums: usize) -> usize {
        product(&[self.frequencies, sums, self.blocks])
    }

    /// Bytes from the first voltage to the end of the last one.
    pub(super) fn voltage_bytes(&self, sums: usize, voltage: usize, layout: &FrbLayout) -> usize {
        let counts = [product(&[sums, self.sum_times]), self.frequencies, self.pols, self.lines];
        let steps = counts.into_iter().zip(layout.strides());
        let first = self.feeds.saturating_mul(voltage);
        steps.fold(first, |end, (count, bytes)| end.saturating_add(count.saturating_sub(1).saturating_mul(bytes)))
    }
}

/// A layout that the kernels can read, at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) strides: [u64; 4],
    pub(super) signs: u32,
    in_pairs: bool,
    wide: bool,
    /// Address and distances, all bits of them.
    all: u64,
}

impl Layout {
    /// Checks a layout for voltages of so many bytes at an address.
    ///
    /// # Errors
    /// [`DeviceError::Alignment`] for distances that are no multiple of a voltage.
    pub(super) fn new(layout: &FrbLayout, counts: &Counts, voltage: usize, address: u64) -> Result<Self, DeviceError> {
        let strides = layout.strides().map(|stride| stride as u64);
        let (voltage, wide) = (voltage.max(1) as u64, voltage > 1);
        if let Some(&stride) = strides.iter().find(|stride| !stride.is_multiple_of(voltage)) {
            return Err(DeviceError::Alignment { buffer: "voltages", expected: voltage, address: stride });
        }
        let all = strides.iter().fold(address, |all, stride| all | stride);
        let in_pairs = all.is_multiple_of(2 * voltage) && counts.feeds.is_multiple_of(2);
        let signs = if layout.offset == Offset::Offset8 { OFFSET } else { SIGNED };
        Ok(Self { strides, signs, in_pairs, wide, all })
    }

    /// Checks that offsets within a block of times are of 31 bits, as the kernels of one launch have them.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`].
    pub(super) fn expect_block(&self, counts: &Counts) -> Result<(), DeviceError> {
        let [time, _, _, line] = self.strides.map(|stride| usize::try_from(stride).unwrap_or(usize::MAX));
        let limit = 1usize << (OFFSET_BITS - BLOCK_BITS);
        let actual = time.saturating_add(line.saturating_mul(counts.lines) >> BLOCK_BITS);
        let what = "bytes from a time to the next, with a 128th of its lines";
        if actual < limit { Ok(()) } else { Err(DeviceError::TooLarge { what, actual, limit: limit - 1 }) }
    }

    /// Checks that offsets within the lines of a time are of 31 bits, as the kernels of a grid have them.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`].
    pub(super) fn expect_lines(&self, counts: &Counts) -> Result<(), DeviceError> {
        let line = usize::try_from(self.strides[3]).unwrap_or(usize::MAX);
        let (actual, limit) = (line.saturating_mul(counts.lines), 1usize << OFFSET_BITS);
        let what = "bytes of the lines of a time";
        if actual < limit { Ok(()) } else { Err(DeviceError::TooLarge { what, actual, limit: limit - 1 }) }
    }

    /// The voltages' format as the kernels of a grid name it: 0 of 4+4 bits, 1 of 8.
    pub(super) fn format(&self) -> u32 {
        self.wide.into()
    }

    /// Whether address and distances are multiples of so many bytes, a power of two.
    pub(super) fn is_aligned(&self, bytes: u64) -> bool {
        self.all.is_multiple_of(bytes)
    }

    /// Whether two neighbouring feeds can be read at once.
    pub(super) fn in_pairs(&self) -> bool {
        self.in_pairs
    }
}

/// A number that kernels have in 32 bits.
pub(super) fn check_u32(what: &'static str, actual: usize) -> Result<u32, DeviceError> {
    u32::try_from(actual).map_err(|_| DeviceError::TooLarge { what, actual, limit: u32::MAX as usize })
}

/// A product, the largest number where it does not fit.
pub(super) fn product(counts: &[usize]) -> usize {
    counts.iter().fold(1usize, |all, &count| all.saturating_mul(count))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// CHIME: 16 frequencies of 4 lines of 256 feeds.
    const CHIME: Counts = Counts {
        frequencies: 16,
        pols: 2,
        outs: 4,
        lines: 4,
        feeds: 256,
        north_beams: 256,
        fine: 16,
        products: 1,
        blocks: 3,
        sum_times: 384,
    };
    const LAYOUT: FrbLayout = FrbLayout {
        offset: Offset::Offset8,
        time_bytes: 32768,
        frequency_bytes: 2048,
        pol_bytes: 1024,
        line_bytes: 256,
    };

    #[test]
    fn counts_are_of_whole_arrays() {
        assert_eq!(CHIME.sums(2 * 384).unwrap(), 2);
        assert!(matches!(CHIME.sums(385), Err(BeamformerError::Types(TypesError::Multiple { expected: 384, .. }))));
        assert_eq!((CHIME.powers(2), CHIME.flags(2)), (16 * 16 * 2 * 1024, 16 * 6));
        assert_eq!(CHIME.voltage_bytes(2, 1, &LAYOUT), 768 * 32768);
        let gaps = FrbLayout { line_bytes: 300, ..LAYOUT };
        assert_eq!(CHIME.voltage_bytes(2, 1, &gaps), 768 * 32768 + 3 * 44);
        assert_eq!(CHIME.units(100, 1).unwrap(), 6400);
        assert!(matches!(CHIME.units(1 << 26, 1), Err(DeviceError::TooLarge { .. })));
        assert!(matches!(CHIME.units(usize::MAX, 2), Err(DeviceError::TooLarge { .. })));
        assert_eq!(CHIME.powers(usize::MAX), usize::MAX);
    }

    #[test]
    fn layouts_say_how_they_are_read() {
        let read = |layout: FrbLayout, voltage, address| Layout::new(&layout, &CHIME, voltage, address);
        let chime = read(LAYOUT, 1, 512).unwrap();
        assert_eq!((chime.signs, chime.in_pairs(), chime.strides), (0, true, [32768, 2048, 1024, 256]));
        let signed = FrbLayout { offset: Offset::TwosComplement, ..LAYOUT };
        assert_eq!(read(signed, 1, 0).unwrap().signs, SIGNED);
        assert!(!read(LAYOUT, 1, 511).unwrap().in_pairs());
        let odd = FrbLayout { line_bytes: 257, ..LAYOUT };
        assert!(!read(odd, 1, 0).unwrap().in_pairs());
        assert!(matches!(read(odd, 2, 0), Err(DeviceError::Alignment { expected: 2, address: 257, .. })));
        let far = FrbLayout { time_bytes: (1 << 24) - 8, ..LAYOUT };
        let block = |layout: FrbLayout| read(layout, 1, 0).unwrap().expect_block(&CHIME);
        assert!(matches!(block(far), Err(DeviceError::TooLarge { .. })));
        assert!(block(FrbLayout { time_bytes: (1 << 24) - 10, ..LAYOUT }).is_ok());
        let huge = FrbLayout { time_bytes: usize::MAX, line_bytes: usize::MAX, ..LAYOUT };
        assert!(matches!(block(huge), Err(DeviceError::TooLarge { .. })));
        let lines = |layout: FrbLayout| read(layout, 1, 0).unwrap().expect_lines(&CHIME);
        assert!(matches!(lines(huge), Err(DeviceError::TooLarge { .. })));
        assert!(lines(far).is_ok());
    }
}
