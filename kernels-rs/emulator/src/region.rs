//! A stretch of memory: its bytes, one bit per byte for what has been written, and the shadow of its accesses.

use crate::shadow::Shadow;

/// Bytes with a record of which of them are initialised.
#[derive(Debug, Default, Clone)]
pub(crate) struct Region {
    pub(crate) bytes: Vec<u8>,
    /// Bit `i % 8` of byte `i / 8`: whether byte `i` was written.
    written: Vec<u8>,
    pub(crate) shadow: Shadow,
}

/// `bytes` one bits. `bytes` is 1, 2, 4, 8 or 16.
#[inline]
const fn ones(bytes: usize) -> u32 {
    (1 << bytes) - 1
}

impl Region {
    /// `bytes` bytes, none of them initialised.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], written: vec![0; bytes.div_ceil(8) + 2], shadow: Shadow::default() }
    }

    /// Makes every byte uninitialised.
    pub(crate) fn forget(&mut self) {
        self.written.fill(0);
    }

    /// Makes bytes uninitialised. `at` is a multiple of `bytes`, which is a multiple of 8.
    pub(crate) fn forget_part(&mut self, at: usize, bytes: usize) {
        self.written[at / 8..(at + bytes) / 8].fill(0);
    }

    /// Which of the bytes from `at` on are initialised, bit by byte. `at` is a multiple of `bytes`, which is 1, 2, 4, 8
    /// or 16.
    #[inline]
    fn written(&self, at: usize, bytes: usize) -> u32 {
        let word = u16::from_le_bytes([self.written[at / 8], self.written[at / 8 + 1]]);
        (u32::from(word) >> (at % 8)) & ones(bytes)
    }

    /// Whether all bytes are initialised.
    #[inline]
    pub(crate) fn is_written(&self, at: usize, bytes: usize) -> bool {
        self.written(at, bytes) == ones(bytes)
    }

    /// The first byte that is not initialised.
    pub(crate) fn first_unwritten(&self, at: usize, bytes: usize) -> usize {
        at + self.written(at, bytes).trailing_ones() as usize
    }

    /// Stores bytes and marks them as initialised.
    #[inline]
    pub(crate) fn store(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        let mask = ones(bytes.len()) << (at % 8);
        self.written[at / 8] |= mask as u8;
        self.written[at / 8 + 1] |= (mask >> 8) as u8;
    }

    /// Stores any number of bytes from the front on.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.written[..bytes.len() / 8].fill(0xff);
        if !bytes.len().is_multiple_of(8) {
            self.written[bytes.len() / 8] |= ones(bytes.len() % 8) as u8;
        }
    }

    /// Whether all of any number of bytes are initialised.
    pub(crate) fn all_written(&self, at: usize, bytes: usize) -> bool {
        (at..at + bytes).all(|i| self.written[i / 8] >> (i % 8) & 1 == 1)
    }
}
