//! Packs voltages `[channel][time][input]` into rows `[channel][time / 64][input][64]`.
//!
//! A transpose of 2-byte samples. Floor: every voltage is read once and every row written once, 4 bytes a sample (3 from 4+4 bits).
//!
//! A block moves 64 times x 64 inputs. A thread reads 8 inputs at two neighbouring times, pairs the samples of one input with
//! two byte permutes, and writes the 8 pairs to shared memory; from there each thread reads 16 bytes (8 times of one input) and writes
//! them to the row. Shared memory holds `[input][pair of times]` words; the 16-byte chunk of a word is XORed with its input / 8, which keeps
//! chunks whole and makes both directions free of bank conflicts:
//!
//! ```text
//! write: a warp has 8 groups of inputs x 4 pairs: bank = pair XOR 4 (input / 8)      32 different
//! read:  8 lanes read the 8 chunks of one row                                        32 different
//! ```

use fringes_device::arithmetic::prmt_b32;
use fringes_device::barrier::bar_sync_0;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, nctaid_z, tid_x};
use fringes_device::{Global, GlobalMut, Shared, unroll};

use crate::{places, rows};

/// Inputs of a block. The grid is (ceil(inputs / 64), blocks of time, channels or fewer); blocks beyond do nothing.
pub const INPUTS: u32 = 64;

/// Packs voltages of `SAMPLE` bytes: 2 (8-bit) or 1 (4+4-bit).
///
/// Where `present` (`[time][input]`, or no values: all present) is zero the sample counts as zero. Times past the end are zeros.
/// With `WIDE`, 8 inputs are read in one load, for which their number must be a multiple of 8.
///
/// # Safety
/// `voltages` holds `channels * times * inputs` samples and `rows` the rows that they fill; `present` holds `times * inputs` flags or none.
#[inline(always)]
pub unsafe fn pack<const SAMPLE: usize, const WIDE: bool>(
    voltages: Global<u8>,
    present: Global<u8>,
    rows: GlobalMut<u8>,
    channels: u32,
    times: u32,
    inputs: u32,
) {
    let shared = Shared::<u32>::dynamic();
    let rows = rows.cast::<[u32; 4]>();
    let (thread, block) = (tid_x(), ctaid_y());
    let blocks = rows::blocks(times as usize);
    if ctaid_x() >= inputs.div_ceil(INPUTS) || block as usize >= blocks {
        return; // a grid larger than the rows: all threads of the block leave
    }
    let first_input = ctaid_x() * INPUTS;
    // Reading: group of 8 inputs, pair of times. Writing: chunk of 8 times, and two inputs 32 apart.
    let (group, pair) = (thread % 8, thread / 8);
    let (chunk, row) = (thread % 8, thread / 8);
    let mut channel = ctaid_z();
    while channel < channels {
        let time = block * rows::TIMES as u32 + 2 * pair;
        let input = first_input + 8 * group;
        let first = |time| Samples { voltages, present, channel, times, inputs, time, input };
        let (early, late) = (first(time).read::<SAMPLE, WIDE>(), first(time + 1).read::<SAMPLE, WIDE>());
        // Word w of a time holds inputs 2 w and 2 w + 1.
        unroll!(w in 0 1 2 3 {
            let input = 8 * group + 2 * w as u32;
            shared.store(places::pair_of_times(input, pair), prmt_b32(early[w], late[w], 0x5410));
            shared.store(places::pair_of_times(input + 1, pair), prmt_b32(early[w], late[w], 0x7632));
        });
        bar_sync_0();
        let wide = shared.cast::<[u32; 4]>();
        unroll!(half in 0 1 {
            let local = row + 32 * half as u32;
            if first_input + local < inputs {
                let value = wide.load(places::pair_of_times(local, 4 * chunk) / 4);
                let input = (first_input + local) as usize;
                let byte = rows::offset(channel as usize, block as usize, input, blocks, inputs as usize);
                rows.store(byte / 16 + chunk as usize, value);
            }
        });
        bar_sync_0();
        channel += nctaid_z();
    }
}

/// Eight inputs at one time.
struct Samples {
    voltages: Global<u8>,
    present: Global<u8>,
    channel: u32,
    times: u32,
    inputs: u32,
    time: u32,
    input: u32,
}

impl Samples {
    /// The eight samples as 8-bit pairs, two in a word; zeros for what does not exist or is absent.
    #[inline(always)]
    unsafe fn read<const SAMPLE: usize, const WIDE: bool>(&self) -> [u32; 4] {
        let mut words = [0; 4];
        if self.time >= self.times || self.input >= self.inputs {
            return words;
        }
        let spectrum = self.channel as usize * self.times as usize + self.time as usize;
        let sample = spectrum * self.inputs as usize + self.input as usize;
        if WIDE {
            words = if SAMPLE == 2 {
                self.voltages.cast::<[u32; 4]>().load(sample / 8)
            } else {
                let packed = self.voltages.cast::<[u32; 2]>().load(sample / 8);
                [widen(packed[0]), widen(packed[0] >> 16), widen(packed[1]), widen(packed[1] >> 16)]
            };
        }
        let present = self.time as usize * self.inputs as usize + self.input as usize;
        if !WIDE || !self.present.is_empty() {
            unroll!(i in 0 1 2 3 4 5 6 7 {
                if self.input + (i as u32) < self.inputs {
                    let shift = 16 * (i % 2);
                    if !WIDE {
                        let value = if SAMPLE == 2 {
                            u32::from(self.voltages.cast::<u16>().load(sample + i))
                        } else {
                            widen(u32::from(self.voltages.load(sample + i))) & 0xffff
                        };
                        words[i / 2] |= value << shift;
                    }
                    if !self.present.is_empty() && self.present.load(present + i) == 0 {
                        words[i / 2] &= !(0xffff << shift);
                    }
                }
            });
        }
        words
    }
}

/// Two samples of 4+4 bits (real in the high nibble), in the low 16 bits, as two 8-bit pairs.
#[inline(always)]
fn widen(packed: u32) -> u32 {
    let nibbles =
        ((packed >> 4) & 0x0f) | ((packed & 0x0f) << 8) | ((packed & 0xf000) << 4) | ((packed & 0x0f00) << 16);
    // Sign of each nibble in bit 3: x XOR 8 - 8 without carries between bytes, since (x XOR 8) + 0x78 stays below 0x88.
    ((nibbles ^ 0x0808_0808) + 0x7878_7878) ^ 0x8080_8080
}

#[cfg(test)]
mod tests {
    use super::widen;

    #[test]
    fn nibbles_keep_their_sign_and_place() {
        for re in -8i8..8 {
            for im in -8i8..8 {
                let byte = u32::from((re as u8) << 4 | (im as u8 & 15));
                let expected = u32::from(u16::from_le_bytes([re as u8, im as u8]));
                assert_eq!(widen(byte) & 0xffff, expected);
                assert_eq!(widen(byte << 8) >> 16, expected);
            }
        }
    }
}
