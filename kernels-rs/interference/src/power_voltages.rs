//! `S1 = sum |x|^2` and `S2 = sum |x|^4` of voltages `[channel][time][input]`, of each channel, block of times and
//! input.
//!
//! A thread has a channel, a block and as many inputs as a word of 4 bytes holds (of f32 one of 8 bytes), and eight
//! times in flight. Neighbouring threads have neighbouring inputs, then blocks, then channels. Blocks lie on a grid
//! that begins `lead` times before the first one, as those of [heaps](crate::heaps). Where inputs make no whole words a
//! thread has one input.
//!
//! Floor: every voltage is read once, 16 bytes are written for each sum. In machine code of sm_90 the loop has 339
//! instructions for 32 voltages of 4 bits without flags, 10.6 each, of which 6.2 are those of the sums; flags take a
//! byte each, and are loaded one by one.

use fringes_device::arithmetic::{dp4a_s32_s32, dp4a_u32_u32, prmt_b32};
use fringes_device::convert::cvt_f32_f16;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Value, unroll};

use crate::formats::{F16, F32, Format, I4, I8, Sum, power_of_float, powers};
use crate::heaps::product;

/// Sums of up to four inputs: of powers, and of their squares.
type Sums<S> = [[S; 2]; 4];

/// A format, of which threads have words.
pub trait Columns: Format {
    /// A word.
    type Word: Value;
    /// Inputs of a word.
    const INPUTS: u32;
    /// No voltages.
    const NONE: Self::Word;

    /// A word with one voltage, its first one.
    ///
    /// # Safety
    /// There is such a voltage.
    unsafe fn single(voltages: Global<u8>, index: usize) -> Self::Word;

    /// The word with nothing in place of an input.
    fn without(word: Self::Word, input: u32) -> Self::Word;

    /// Adds words of eight times.
    fn add_columns(sums: &mut Sums<Self::Sum>, words: [Self::Word; 8]);
}

impl Columns for I4 {
    type Word = u32;
    const INPUTS: u32 = 4;
    const NONE: u32 = 0;

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, index: usize) -> u32 {
        voltages.load(index) as u32
    }

    #[inline(always)]
    fn without(word: u32, input: u32) -> u32 {
        word & !(0xff << (8 * input))
    }

    #[inline(always)]
    fn add_columns(sums: &mut Sums<u64>, words: [u32; 8]) {
        // Of 8 voltages each, powers of at most 128.
        let mut narrow = [[0u32; 2]; 4];
        unroll!(pair in 0 1 2 3 {
            let (a, b) = (words[2 * pair], words[2 * pair + 1]);
            let low = a & 0x0f0f_0f0f | b << 4 & 0xf0f0_f0f0;
            let high = a >> 4 & 0x0f0f_0f0f | b & 0xf0f0_f0f0;
            unroll!(odd in 0 1 {
                // Powers at both times of one input in the low bytes, and of the one after the next in the high ones.
                let power = powers(prmt_b32(low, high, [0x6420, 0x7531][odd]));
                unroll!(half in 0 1 {
                    let of = &mut narrow[odd + 2 * half];
                    let ones = [0x0101, 0x0101_0000][half];
                    of[0] = dp4a_u32_u32(power, ones, of[0]);
                    of[1] = dp4a_u32_u32(power, power & (ones * 255), of[1]);
                });
            });
        });
        unroll!(input in 0 1 2 3 { unroll!(kind in 0 1 {
            sums[input][kind] = sums[input][kind].plus(narrow[input][kind] as u64);
        }); });
    }
}

impl Columns for I8 {
    type Word = u32;
    const INPUTS: u32 = 2;
    const NONE: u32 = 0;

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, index: usize) -> u32 {
        voltages.cast::<u16>().load(index) as u32
    }

    #[inline(always)]
    fn without(word: u32, input: u32) -> u32 {
        word & !(0xffff << (16 * input))
    }

    #[inline(always)]
    fn add_columns(sums: &mut Sums<u64>, words: [u32; 8]) {
        let mut narrow = [0u32; 2];
        unroll!(half in 0 1 {
            // Four squares of at most (2 127^2)^2 are below 2^32.
            let mut squares = [0u32; 2];
            unroll!(i in 0 1 2 3 { unroll!(input in 0 1 {
                let two = words[4 * half + i];
                let power = dp4a_s32_s32(two & [0xffff, 0xffff_0000][input], two, 0) as u32;
                narrow[input] = narrow[input].wrapping_add(power);
                squares[input] = squares[input].wrapping_add(power.wrapping_mul(power));
            }); });
            unroll!(input in 0 1 { sums[input][1] = sums[input][1].plus(squares[input] as u64); });
        });
        unroll!(input in 0 1 { sums[input][0] = sums[input][0].plus(narrow[input] as u64); });
    }
}

impl Columns for F16 {
    type Word = u32;
    const INPUTS: u32 = 1;
    const NONE: u32 = 0;

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, index: usize) -> u32 {
        voltages.cast::<u32>().load(index)
    }

    #[inline(always)]
    fn without(_: u32, _: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn add_columns(sums: &mut Sums<f64>, words: [u32; 8]) {
        unroll!(i in 0 1 2 3 4 5 6 7 {
            let word = words[i];
            power_of_float(&mut sums[0], cvt_f32_f16(word as u16), cvt_f32_f16((word >> 16) as u16));
        });
    }
}

impl Columns for F32 {
    type Word = [f32; 2];
    const INPUTS: u32 = 1;
    const NONE: [f32; 2] = [0.0; 2];

    #[inline(always)]
    unsafe fn single(voltages: Global<u8>, index: usize) -> [f32; 2] {
        let parts = voltages.cast::<f32>();
        [parts.load(2 * index), parts.load(2 * index + 1)]
    }

    #[inline(always)]
    fn without(_: [f32; 2], _: u32) -> [f32; 2] {
        [0.0; 2]
    }

    #[inline(always)]
    fn add_columns(sums: &mut Sums<f64>, words: [[f32; 2]; 8]) {
        unroll!(i in 0 1 2 3 4 5 6 7 { power_of_float(&mut sums[0], words[i][0], words[i][1]); });
    }
}

/// Voltages, and where their sums go.
#[derive(Clone, Copy)]
pub struct VoltageSums<F: Columns> {
    /// The voltages.
    pub voltages: Global<u8>,
    /// `[time][input]`: zero where the voltage is absent, or no values if all are present.
    pub present: Global<u8>,
    /// `[2][channel][block][input]`: of powers, then of their squares.
    pub sums: GlobalMut<F::Sum>,
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Inputs.
    pub inputs: u32,
    /// Times of a block.
    pub block: u32,
    /// Times of the first block that lie before the first time, fewer than a block has.
    pub lead: u32,
}

impl<F: Columns> VoltageSums<F> {
    /// Blocks that have any of the times.
    #[inline(always)]
    fn blocks(&self) -> u32 {
        if self.times == 0 { 0 } else { (self.times - 1).wrapping_add(self.lead) / self.block.max(1) + 1 }
    }

    /// Whether the views hold what the sizes say, and threads can be counted.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        let most = i32::MAX as u64;
        // SAFETY: no view is without an address.
        let address = unsafe { self.voltages.address(0) };
        let (spectra, cells) = (product(self.channels, self.times), product(self.channels, self.blocks()));
        address.is_multiple_of(if F::BYTES < 4 { F::BYTES as u64 } else { 4 })
            && self.lead < self.block
            && self.block as u64 <= most
            && self.times as u64 <= most
            && spectra <= most
            && product(spectra as u32, self.inputs) <= (self.voltages.len() / F::BYTES) as u64
            && product(cells as u32, self.inputs) <= u32::MAX as u64
            && 2 * product(cells as u32, self.inputs) <= self.sums.len() as u64
            && (self.present.is_empty() || product(self.times, self.inputs) <= self.present.len() as u64)
    }

    /// Sums what a thread has.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn run(&self) {
        let word = size_of::<F::Word>() as u64;
        let whole = self.voltages.address(0).is_multiple_of(word) && self.inputs.is_multiple_of(F::INPUTS);
        let inputs = if whole { F::INPUTS } else { 1 };
        let (number, blocks) = (self.inputs / inputs, self.blocks());
        let thread = ctaid_x() as u64 * ntid_x() as u64 + tid_x() as u64;
        if thread >= product(self.channels * blocks, number) {
            return;
        }
        let (input, rest) = (thread as u32 % number.max(1) * inputs, thread as u32 / number.max(1));
        let (block, channel) = (rest % blocks.max(1), rest / blocks.max(1));
        let start = product(block, self.block).saturating_sub(self.lead as u64) as u32;
        let end = (product(block + 1, self.block) - self.lead as u64).min(self.times as u64) as u32;
        let words = self.voltages.cast::<F::Word>();
        let mut sums = [[F::Sum::ZERO; 2]; 4];
        let mut time = start;
        while time < end {
            let mut x = [F::NONE; 8];
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let at = time + i as u32;
                if at < end {
                    let voltage = product(channel * self.times + at, self.inputs) + input as u64;
                    x[i] = if whole { words.load((voltage / F::INPUTS as u64) as usize) } else { F::single(self.voltages, voltage as usize) };
                }
            });
            if !self.present.is_empty() {
                unroll!(i in 0 1 2 3 4 5 6 7 {
                    let at = time + i as u32;
                    let mut of = 0;
                    while at < end && of < inputs {
                        if self.present.load((product(at, self.inputs) + (input + of) as u64) as usize) == 0 {
                            x[i] = F::without(x[i], of);
                        }
                        of += 1;
                    }
                });
            }
            F::add_columns(&mut sums, x);
            time += 8;
        }
        let all = product(self.channels * blocks, self.inputs);
        let cell = product(channel * blocks + block, self.inputs) + input as u64;
        unroll!(of in 0 1 2 3 {
            if (of as u32) < inputs {
                self.sums.store((cell + of as u64) as usize, sums[of][0]);
                self.sums.store((all + cell + of as u64) as usize, sums[of][1]);
            }
        });
    }
}
