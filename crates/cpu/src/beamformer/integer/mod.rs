//! Products of 4-bit or 8-bit voltages and weights of one or two digits of 8 bits: exact sums of i32.
//!
//! ```text
//! left   [time][step]                              a word: the bytes of one or two inputs
//! table  [digit][panel of 8 beams][step][16 words] for each beam the words of its real and of its imaginary part
//! sums   [time][number][panel][16 numbers]         re, im of each beam, one number or two, high and low
//! ```
//!
//! A sum has a number for each digit. But AVX2 and AVX-512 take weights of 16 bits whole, as one digit: of up to
//! [`RUN`] inputs a number holds the sum, and of more, the sums of runs are added in two, high and low.
//!
//! | kernel | inputs of a step | word of voltages | words of weights |
//! |---|---|---|---|
//! | plain, AVX2, AVX-512 | 1 | `re, im` of 16 bits | `re, -im` and `im, re` of 16 bits |
//! | AVX-512 VNNI | 2 | `re, im` of 8 bits, twice | `re, -im` and `im, re` of 8 bits, twice, each 128 too large |
//!
//! A *tile* is six times and one panel, with registers of 512 bits two panels.
//!
//! The instruction `vpdpbusd` takes unsigned bytes times signed ones, so VNNI's sums are too large by 128 times the sum
//! of a time's voltages: they begin with minus that. Nothing overflows, whatever the voltages: a digit and a part are
//! of 128 at most, and sums of [`MOST_INPUTS`] inputs below 2^31 (those that are too large on the way wrap, and are
//! right in the end). All kernels give the same bits.

mod weights;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use bytemuck::Pod;
use fringes_types::VoltageSample;
use ndarray::ArrayView2;
use num_complex::Complex;

pub use self::weights::WeightBits;
use super::unpack::parts;
use crate::correlator::InstructionSet;

/// Most inputs of integer weights: sums of i32 hold them.
pub const MOST_INPUTS: usize = fringes_kernel_abi::tied_array::MOST_INPUTS as usize;

const _: () = assert!(MOST_INPUTS * 2 * 128 * 128 < 1 << 31);

/// Inputs whose sums of whole weights of 16 bits fit i32.
const RUN: usize = 256;

// Of all runs, the high numbers are the sums over 256, and one for each run.
const _: () = assert!(RUN * 2 * 128 * 32_639 < 1 << 31 && (MOST_INPUTS + 1) * 32_639 < 1 << 31);

/// Beams of a panel.
const PANEL: usize = 8;

/// Numbers of a panel's row.
const LANES: usize = 2 * PANEL;

/// Times of a tile, and most panels.
const GROUP: usize = 6;
const PANELS: usize = 2;

/// A row of a panel.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Words([u32; LANES]);

/// Sums of a tile's times and one of its panels.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Tile([[i32; LANES]; GROUP]);

/// An inner loop. A word holds the parts of [`Kernel::INPUTS`] inputs.
trait Kernel: Copy {
    /// A part, of 8 or 16 bits.
    type Part: Pod + From<i8>;
    /// Inputs of a step: 4 bytes are their parts.
    const INPUTS: usize = 2 / size_of::<Self::Part>();
    /// What is added to each byte of weights.
    const OFFSET: u8 = 0;
    /// Whether a part holds a weight of 16 bits.
    const WHOLE: bool = false;
    /// Panels of a tile, at most [`PANELS`].
    const PANELS: usize = 1;

    /// Digit `digit` of an integer; the integer itself if parts hold it.
    fn part(bits: WeightBits, integer: i32, digit: usize) -> Self::Part {
        bits.digit(integer, digit).into()
    }

    /// Adds the products of the panels of a tile, or of one, and of the words of six times to its sums.
    fn multiply(self, panels: &[&[Words]], rows: [&[u32]; GROUP], tile: &mut [Tile; PANELS]);

    /// [`Integers::products`], compiled for the same instructions where what is around the tiles gains by that.
    fn products(self, integers: &mut Integers, steps: usize) {
        integers.products(self, steps);
    }
}

/// Plain Rust.
#[derive(Debug, Clone, Copy)]
struct Portable;

impl Kernel for Portable {
    type Part = i16;

    fn multiply(self, panels: &[&[Words]], rows: [&[u32]; GROUP], [tile, ..]: &mut [Tile; PANELS]) {
        let Some(panel) = panels.first() else { return };
        let parts = |word: u32| -> [i32; 2] { bytemuck::cast::<_, [i16; 2]>(word).map(i32::from) };
        for (sums, row) in tile.0.iter_mut().zip(rows) {
            for (Words(weights), &voltage) in panel.iter().zip(row) {
                let x = parts(voltage);
                for (sum, &weight) in sums.iter_mut().zip(weights) {
                    let w = parts(weight);
                    *sum += w[0] * x[0] + w[1] * x[1];
                }
            }
        }
    }
}

/// Weights of a channel, packed, and a block of voltages and of sums: a worker's scratch.
#[derive(Debug)]
pub(super) struct Integers {
    instructions: InstructionSet,
    bits: WeightBits,
    inputs: usize,
    beams: usize,
    /// Digits of the weights of the table, and numbers of a sum.
    digits: usize,
    numbers: usize,
    table: Vec<Words>,
    /// What integers of each beam are multiplied by.
    scales: Vec<f32>,
    rounded: Vec<[i32; 2]>,
    words: Vec<u32>,
    /// What sums of each time begin with.
    starts: Vec<i32>,
    sums: Vec<i32>,
}

impl Integers {
    /// Nothing yet.
    pub(super) fn new(instructions: InstructionSet, bits: WeightBits) -> Self {
        Self {
            instructions,
            bits,
            inputs: 0,
            beams: 0,
            digits: 0,
            numbers: 0,
            table: Vec::new(),
            scales: Vec::new(),
            rounded: Vec::new(),
            words: Vec::new(),
            starts: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Bytes of scratch of blocks of so many times, at most.
    pub(super) fn bytes(bits: WeightBits, inputs: usize, beams: usize, times: usize) -> u64 {
        let [inputs, times] = [inputs as u64 + 1, times as u64];
        let rows = (beams.div_ceil(PANEL) * bits.digits()) as u64;
        let table = rows.saturating_mul(inputs).saturating_mul(size_of::<Words>() as u64);
        let sums = rows.saturating_mul(times).saturating_mul((LANES * size_of::<i32>()) as u64);
        let voltages = inputs.saturating_mul(4 * times + 8);
        table.saturating_add(sums).saturating_add(voltages).saturating_add(4 * (beams as u64 + times))
    }

    /// Rounds and packs the weights `[beam][input]` of a channel in place of those of another; `largest` is the
    /// magnitude of each beam's largest part, that of its weights if `None`.
    pub(super) fn pack(&mut self, weights: ArrayView2<'_, Complex<f32>>, largest: Option<&[f32]>) {
        match self.instructions {
            InstructionSet::Portable => self.pack_for::<Portable>(weights, largest),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => self.pack_for::<x86::Pairs<false>>(weights, largest),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => self.pack_for::<x86::Pairs<true>>(weights, largest),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Vnni => self.pack_for::<x86::Vnni>(weights, largest),
            #[cfg(not(target_arch = "x86_64"))]
            _ => self.pack_for::<Portable>(weights, largest),
        }
    }

    fn pack_for<K: Kernel>(&mut self, weights: ArrayView2<'_, Complex<f32>>, largest: Option<&[f32]>) {
        let (beams, inputs) = weights.dim();
        assert!(inputs <= MOST_INPUTS, "sums of i32");
        let digits = if K::WHOLE { 1 } else { self.bits.digits() };
        let (panels, steps) = (beams.div_ceil(PANEL), inputs.div_ceil(K::INPUTS));
        (self.inputs, self.beams, self.digits) = (inputs, beams, digits);
        self.numbers = if K::WHOLE && inputs <= RUN { 1 } else { self.bits.digits() };
        self.scales.clear();
        self.table.clear();
        self.table.resize(digits * panels * steps, Words([0; LANES]));
        for (beam, weights) in weights.rows().into_iter().enumerate() {
            let scale = self.bits.round(weights, largest.map(|largest| largest[beam]), &mut self.rounded);
            self.scales.push(scale);
            for digit in 0..digits {
                let rows = &mut self.table[(digit * panels + beam / PANEL) * steps..][..steps];
                let of = |part: i32| K::part(self.bits, part, digit);
                for (row, weights) in rows.iter_mut().zip(self.rounded.chunks(K::INPUTS)) {
                    // [beam][real or imaginary part of the product][input]
                    let pairs: &mut [[K::Part; 2]] = bytemuck::cast_slice_mut(&mut row.0);
                    let (real, imaginary) = pairs[2 * K::INPUTS * (beam % PANEL)..].split_at_mut(K::INPUTS);
                    for (([re, im], real), imaginary) in weights.iter().zip(real).zip(imaginary) {
                        (*real, *imaginary) = ([of(*re), of(-im)], [of(*im), of(*re)]);
                    }
                }
            }
        }
        let offset = u32::from_ne_bytes([K::OFFSET; 4]);
        // Modulo 256, the sum of 128 and a byte is the byte with its top bit flipped.
        self.table.iter_mut().flat_map(|row| &mut row.0).for_each(|word| *word ^= offset);
    }

    /// Forms the sums of a block of voltages `[time][input]`, those zero whose flag is not set.
    pub(super) fn multiply<V: VoltageSample>(
        &mut self,
        voltages: ArrayView2<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) {
        match self.instructions {
            InstructionSet::Portable => self.multiply_by(Portable, voltages, presence),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => self.multiply_by(x86::Pairs::<false>::checked(), voltages, presence),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => self.multiply_by(x86::Pairs::<true>::checked(), voltages, presence),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512Vnni => self.multiply_by(x86::Vnni::checked(), voltages, presence),
            #[cfg(not(target_arch = "x86_64"))]
            _ => self.multiply_by(Portable, voltages, presence),
        }
    }

    fn multiply_by<K: Kernel, V: VoltageSample>(
        &mut self,
        kernel: K,
        voltages: ArrayView2<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) {
        let steps = self.inputs.div_ceil(K::INPUTS);
        self.load::<K, V>(voltages, presence, steps);
        self.sums.resize(self.starts.len() * self.row(), 0);
        if steps == 0 || self.starts.is_empty() {
            return self.sums.fill(0);
        }
        kernel.products(self, steps);
    }

    /// Forms the sums of words that are loaded.
    #[inline(always)]
    fn products<K: Kernel>(&mut self, kernel: K, steps: usize) {
        let row = self.row();
        // Of weights that are whole, the sums of a run at a time.
        let run = if self.numbers > self.digits { RUN } else { steps };
        let low = row / 2;
        let Self { table, words, starts, sums, .. } = self;
        let times = starts.len();
        for (number, of_tile) in table.chunks(steps * K::PANELS).enumerate() {
            let mut panels: [&[Words]; PANELS] = [&[]; PANELS];
            let present = of_tile.len() / steps;
            panels.iter_mut().zip(of_tile.chunks_exact(steps)).for_each(|(to, panel)| *to = panel);
            for time in (0..times).step_by(GROUP) {
                // Beyond the last time comes the last again, for nothing.
                let at = |n: usize| (time + n).min(times - 1);
                let words = |n: usize| &words[at(n) * steps..][..steps];
                let rows: [_; GROUP] = std::array::from_fn(words);
                for from in (0..steps).step_by(run) {
                    let depth = from..steps.min(from + run);
                    let panels = panels.map(|panel| panel.get(depth.clone()).unwrap_or_default());
                    let mut tile = [Tile(std::array::from_fn(|n| [starts[at(n)]; LANES])); PANELS];
                    kernel.multiply(&panels[..present], rows.map(|row| &row[depth.clone()]), &mut tile);
                    for (panel, tile) in (number * K::PANELS..).zip(&tile[..present]) {
                        for (time, tile) in (time..times).zip(&tile.0) {
                            let first = time * row + panel * LANES;
                            if run == steps {
                                sums[first..][..LANES].copy_from_slice(tile);
                            } else {
                                add_run(from == 0, tile, &mut sums[first..][..low + LANES]);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Makes words of voltages.
    fn load<K: Kernel, V: VoltageSample>(
        &mut self,
        voltages: ArrayView2<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
        steps: usize,
    ) {
        let Self { words, starts, .. } = self;
        words.resize(voltages.nrows() * steps, 0);
        starts.clear();
        for (time, row) in voltages.rows().into_iter().enumerate() {
            let words = &mut words[time * steps..][..steps];
            let pairs: &mut [[K::Part; 2]] = bytemuck::cast_slice_mut(&mut *words);
            let (pairs, rest) = pairs.split_at_mut(row.len());
            rest.fill([K::Part::from(0); 2]);
            parts(row, pairs);
            if let Some(presence) = presence {
                let missing = pairs.iter_mut().zip(presence.row(time)).filter(|(_, present)| !**present);
                missing.for_each(|(pair, _)| *pair = [K::Part::from(0); 2]);
            }
            starts.push(if K::OFFSET == 0 { 0 } else { -i32::from(K::OFFSET) * sum_of_bytes(words) });
        }
    }

    /// Numbers of a time's sums.
    fn row(&self) -> usize {
        self.beams.div_ceil(PANEL) * LANES * self.numbers
    }

    /// What integers of each beam are multiplied by.
    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Sums of the times of the block in turn: the numbers of each, the high ones and, of two, the low ones.
    pub(super) fn times(&self) -> impl Iterator<Item = (&[i32], Option<&[i32]>)> {
        self.sums.chunks_exact(self.row().max(1)).map(|row| {
            if self.numbers == 1 {
                return (row, None);
            }
            let (high, low) = row.split_at(row.len() / 2);
            (high, Some(low))
        })
    }
}

/// Adds the sums of a run to the high numbers, which `numbers` begins with, and the low ones, which it ends with; the
/// first run's are written over what was there.
fn add_run(first: bool, run: &[i32; LANES], numbers: &mut [i32]) {
    let (high, low) = numbers.split_at_mut(numbers.len() - LANES);
    for ((high, low), sum) in high.iter_mut().zip(low).zip(run) {
        let before = if first { [0; 2] } else { [*high, *low] };
        (*high, *low) = (before[0] + (sum >> 8), before[1] + (sum & 0xff));
    }
}

/// The sum of signed bytes.
fn sum_of_bytes(words: &[u32]) -> i32 {
    bytemuck::cast_slice::<_, i8>(words).iter().map(|&byte| i32::from(byte)).sum()
}
