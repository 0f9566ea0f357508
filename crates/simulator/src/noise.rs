//! Streams of white Gaussian noise that can be read anywhere: sample `n` of a stream depends on the seed, the stream
//! and `n` alone.
//!
//! A table of 2^22 normal values is made once. Each block of 4096 samples of a stream reads it from an offset of its
//! own, and turns every value's sign by a bit of its own. Offsets and bits come from a Xoshiro256++ generator whose
//! state is a hash of seed, stream and block.
//!
//! # Correlations
//! Signs are independent and even, so every product of two different samples, of one stream or of two, has the
//! expectation 0 whatever the offsets are: spectra are white and streams uncorrelated without an end to how long one
//! may integrate. What is left is in magnitudes. Two blocks whose offsets lie closer than 4096 (a chance of 2^-9 for
//! any shift at all, 2^-22 for a given one) share magnitudes, so their *powers* are correlated there; products of the
//! voltages are not. The table's mean square is 1, its other moments are those of 2^22 samples: the kurtosis is within
//! 0.005 of 3 (two standard deviations), and no value lies beyond about 5.2.

use pulp::{Arch, NullaryFnOnce};
use rand::rand_core::Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Samples that share an offset.
pub(crate) const BLOCK: usize = 4096;
/// Samples that are made side by side; reads begin and end at multiples of it.
pub(crate) const LANES: usize = 16;
const TABLE_BITS: u32 = 22;
const SIGN: u32 = 1 << 31;
/// Samples whose signs are the bits of one row of words.
const GROUP: usize = LANES * 32;

/// What a stream of random numbers is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    /// The table.
    Table,
    /// The receiver of an input.
    Receiver(usize),
    /// One of the two independent signals of a source.
    Source(usize, usize),
    /// Lost packets of an input.
    Loss(usize),
}

impl Stream {
    fn id(self) -> u64 {
        let (kind, index) = match self {
            Self::Table => (0, 0),
            Self::Receiver(input) => (1, input as u64),
            Self::Source(source, signal) => (2, 2 * source as u64 + signal as u64),
            Self::Loss(input) => (3, input as u64),
        };
        (kind << 56) | index
    }
}

/// The finaliser of SplitMix64: a bijection that mixes all bits (Steele, Lea and Flood 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A hash of the seed, a stream and a number of it: four words, different for different arguments.
fn key(seed: u64, stream: Stream, number: u64) -> [u64; 4] {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = mix(seed.wrapping_add(STEP));
    let second = mix(first ^ stream.id().wrapping_add(STEP));
    let third = mix(second.wrapping_add(STEP) ^ number);
    [first, second, third, mix(third.wrapping_add(STEP))]
}

/// A number in 0 to 1 (without 1), a multiple of 2^-53.
pub(crate) fn uniform(seed: u64, stream: Stream, number: u64) -> f64 {
    (key(seed, stream, number)[3] >> 11) as f64 * 2f64.powi(-53)
}

fn generator(seed: u64, stream: Stream, number: u64) -> Xoshiro256PlusPlus {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(key(seed, stream, number)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Xoshiro256PlusPlus::from_seed(bytes)
}

/// The table of normal values, and the seed that all streams share.
#[derive(Debug)]
pub(crate) struct Noise {
    seed: u64,
    arch: Arch,
    /// The first values follow the last ones, so that no block wraps.
    table: Vec<f32>,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let length = 1usize << TABLE_BITS;
        let mut random = generator(seed, Stream::Table, 0);
        let mut table: Vec<f32> = Vec::with_capacity(length + BLOCK);
        table.extend((0..length).map(|_| random.sample::<f32, _>(StandardNormal)));
        let square: f64 = table.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>() / length as f64;
        let scale = (1.0 / square.sqrt()) as f32;
        table.iter_mut().for_each(|value| *value *= scale);
        table.extend_from_within(..BLOCK);
        Self { seed, arch: Arch::new(), table }
    }

    /// The instructions that the processor has.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// Samples `start ..` of a stream times `scale` plus `offset`. `start` and the length are multiples of [`LANES`];
    /// samples before 0 are those from 2^64 down.
    pub(crate) fn read(&self, stream: Stream, start: u64, out: &mut [f32], scale: f32, offset: f32) {
        debug_assert!(start.is_multiple_of(LANES as u64) && out.len().is_multiple_of(LANES));
        let (mut start, mut rest) = (start, out);
        while !rest.is_empty() {
            let within = (start % BLOCK as u64) as usize;
            let (now, later) = rest.split_at_mut(rest.len().min(BLOCK - within));
            self.read_block(stream, start / BLOCK as u64, within, now, scale, offset);
            start = start.wrapping_add(now.len() as u64);
            rest = later;
        }
    }

    fn read_block(&self, stream: Stream, block: u64, within: usize, out: &mut [f32], scale: f32, offset: f32) {
        let mut random = generator(self.seed, stream, block);
        let from = (random.next_u64() >> (64 - TABLE_BITS)) as usize;
        let mut signs = [[0u32; LANES]; BLOCK / GROUP];
        for pair in signs.as_flattened_mut().chunks_exact_mut(2) {
            let word = random.next_u64();
            pair.copy_from_slice(&[word as u32, (word >> 32) as u32]);
        }
        let values = &self.table[from + within..][..out.len()];
        self.arch.dispatch(TurnSigns { out, values, signs: &signs, index: within / LANES, scale, offset });
    }
}

/// Values with signs turned by bits, `index` being the place in the block in units of [`LANES`].
struct TurnSigns<'a> {
    out: &'a mut [f32],
    values: &'a [f32],
    signs: &'a [[u32; LANES]],
    index: usize,
    scale: f32,
    offset: f32,
}

impl NullaryFnOnce for TurnSigns<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { out, values, signs, index, scale, offset } = self;
        let pairs = out.as_chunks_mut::<LANES>().0.iter_mut().zip(values.as_chunks::<LANES>().0);
        for (index, (out, values)) in (index..).zip(pairs) {
            let (signs, shift) = (&signs[index / 32], index % 32);
            for lane in 0..LANES {
                let sign = (signs[lane] << shift) & SIGN;
                out[lane] = f32::from_bits(values[lane].to_bits() ^ sign) * scale + offset;
            }
        }
    }
}
