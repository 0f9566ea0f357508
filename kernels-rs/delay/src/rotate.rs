//! Fine rotation: every voltage times the gain of its channel and input, and a phase that is linear in the channel.
//!
//! ```text
//! y[channel][time][input] = gain[channel][input] exp(2 pi i (base + k slope)) x[channel][time][input]
//! k = first channel + channel
//! ```
//!
//! with `[base, slope]` of each time and input in [fixed point](fringes_kernels_common::rotation). Integers are then
//! dithered if wanted, clamped and rounded half to even; a value with a part beyond the limit, or NaN, counts for its
//! input, once.
//!
//! Floor: every sample is read once and written once, `2 S` bytes a sample of `S` bytes, beside 16 bytes a time and
//! input for [`followed`] channels, and gains, which the L2 keeps.
//!
//! A thread follows its runs of samples through [`followed`] channels. It has a rotation and a step for each sample,
//! and four products a channel take the rotation to the next. What is beyond the limit is looked for with one
//! comparison a part; clamping and counting is a branch that legal values do not take.

use fringes_device::index::tid_x;
use fringes_device::warp::{redux_sync_add_u32, shfl_sync_idx_b32, vote_sync_all_pred, vote_sync_any_pred};
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernel_abi::delay::runs;
use fringes_kernels_common::complex::Complex;
use fringes_kernels_common::dither;
use fringes_kernels_common::format::{Format, SAMPLES};
use fringes_kernels_common::quantise::clamped;
use fringes_kernels_common::rotation::{Step, high, product, unit};

use crate::layout::Layout;
use crate::work::{Tiles, divide};

/// Samples that a thread follows, at most.
const SLOTS: usize = 8;

/// Inputs of a run, at most.
const INPUTS: usize = 4;

/// Channels that a thread follows a rotation through by multiplication.
#[inline(always)]
pub const fn followed<F: Format>() -> u32 {
    runs(F::FORMAT).channels
}

/// Channels, at most: those of a thread beyond them still fit 32 bits.
pub const MOST_CHANNELS: u32 = 1 << 31;

/// Voltages, and what they are multiplied by.
#[derive(Clone, Copy)]
pub struct Rotation<L> {
    /// Where they lie.
    pub layout: L,
    /// The voltages, or no values if those that are written to are rotated in place.
    pub from: Global<u8>,
    /// What becomes of them.
    pub to: GlobalMut<u8>,
    /// `[time][input]`: base and slope in turns of 2^-64.
    pub phases: Global<[u64; 2]>,
    /// `[channel][input]`, or no values for a gain of one.
    pub gains: Global<Complex>,
    /// `[input]`: counts the values that did not fit beside what it holds; or no values where nothing is counted.
    pub saturated: GlobalMut<u64>,
    /// Number of the first channel, in phases and dither.
    pub first_channel: u32,
    /// Seed of the dither.
    pub seed: u64,
    /// Number of the spectrum at time 0, for the dither.
    pub first_spectrum: u64,
}

/// A run's first sample and what changes it.
struct Slots {
    rotations: [Complex; SLOTS],
    steps: [Step; SLOTS],
    words: [[u32; 2]; SLOTS],
}

impl<L: Layout> Rotation<L> {
    /// Whether the views hold all voltages, phases, gains and counts, and runs are whole.
    #[inline(always)]
    pub fn fit<F: Format>(&self) -> bool {
        let layout = &self.layout;
        let (inputs, samples) = (u64::from(layout.inputs()), layout.samples());
        layout.whole()
            && layout.channels() <= MOST_CHANNELS
            && samples <= (self.to.len() / F::BYTES) as u64
            && (self.from.is_empty() || samples <= (self.from.len() / F::BYTES) as u64)
            && u64::from(layout.times()) * inputs <= self.phases.len() as u64
            && (self.gains.is_empty() || u64::from(layout.channels()) * inputs <= self.gains.len() as u64)
            && (self.saturated.is_empty() || inputs <= self.saturated.len() as u64)
    }

    /// Tiles, if they can be counted: 32 threads by the channels of a thread.
    #[inline(always)]
    pub fn tiles<F: Format>(&self) -> Option<u32> {
        let threads = self.layout.threads();
        let tiles = threads.div_ceil(32).saturating_mul(self.layout.channels().div_ceil(followed::<F>()).into());
        if threads <= u64::from(u32::MAX - 31) { u32::try_from(tiles).ok() } else { None }
    }

    /// Rotates all voltages.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes, and lie at multiples of 16 bytes, or for runs of one sample at multiples
    /// of its size.
    #[inline(always)]
    pub unsafe fn run<F: Format, const DITHER: bool>(&self, tiles: u32) {
        let layout = self.layout;
        let threads = layout.threads() as u32;
        // A thread's loads come before its stores of the same places.
        let from = if self.from.is_empty() {
            self.to
        } else {
            GlobalMut::from_raw_parts(self.from.address(0), self.from.len())
        };
        let mut tiles = Tiles::new(tiles);
        while let Some(tile) = tiles.take() {
            let (channels, group) = divide(tile, threads.div_ceil(32));
            let thread = 32 * group + tid_x() % 32;
            let mut counts = [0; INPUTS];
            if thread < threads {
                counts = self.follow::<F, DITHER>(from, thread, channels * followed::<F>());
            }
            if F::LIMIT > 0.0 && !self.saturated.is_empty() {
                let input = layout.place(thread.min(threads - 1)).input;
                unroll!(i in 0 1 2 3 { if i < L::INPUTS { self.count(input + i as u32, counts[i]); } });
            }
        }
    }

    /// Adds to the count of an input, together where the whole warp has the same.
    ///
    /// # Safety
    /// - All lanes of the warp call it together.
    /// - There are counts, and one of `input`.
    #[inline(always)]
    unsafe fn count(&self, input: u32, count: u32) {
        if vote_sync_any_pred(count != 0, u32::MAX) {
            if vote_sync_all_pred(input == shfl_sync_idx_b32(input, 0, 31, u32::MAX), u32::MAX) {
                let sum = redux_sync_add_u32(count, u32::MAX);
                if tid_x().is_multiple_of(32) {
                    self.saturated.atomic_add(input as usize, u64::from(sum));
                }
            } else if count != 0 {
                self.saturated.atomic_add(input as usize, u64::from(count));
            }
        }
    }

    /// Follows the runs of a thread through channels from `first` on; how many values did not fit, of each input.
    ///
    /// # Safety
    /// - The views [fit](Self::fit) the sizes, and lie at multiples of 16 bytes, or for runs of one sample at
    ///   multiples of its size.
    /// - `thread` is below the threads of the layout, `first` below its channels. No other thread has the same.
    #[inline(always)]
    unsafe fn follow<F: Format, const DITHER: bool>(
        &self,
        from: GlobalMut<u8>,
        thread: u32,
        first: u32,
    ) -> [u32; INPUTS] {
        let layout = self.layout;
        let place = layout.place(thread);
        let later = u64::from(layout.later()) * u64::from(layout.inputs());
        // The first run is always there; times past the end of rows are rotated to zero.
        let here = |run: usize| {
            run == 0 || u64::from(place.time) + run as u64 * u64::from(layout.later()) < u64::from(layout.times())
        };
        let mut slots = self.slots::<DITHER>(thread, first);
        let mut counts = [0; INPUTS];
        let end = layout.channels().min(first.saturating_add(followed::<F>()));
        let mut channel = first;
        let mut sample = place.start + u64::from(first) * layout.channel_stride();
        while channel < end {
            let mut loaded = [[0; 4]; 8];
            let ahead = |i: usize| channel + (i as u32) < end;
            unroll!(i in 0 1 2 3 { unroll!(run in 0 1 2 3 {
                if i < L::AHEAD && run < L::RUNS && ahead(i) && here(run) {
                    let at = sample + i as u64 * layout.channel_stride() + run as u64 * later;
                    loaded[(i * L::RUNS + run) % 8] = load::<F, L>(from, at);
                }
            }); });
            unroll!(i in 0 1 2 3 {
                if i < L::AHEAD && ahead(i) {
                    let number = channel + i as u32;
                    let gains = self.gains(number, place.input);
                    unroll!(run in 0 1 2 3 {
                        if run < L::RUNS && here(run) {
                            let x = F::unpack(loaded[(i * L::RUNS + run) % 8]);
                            let mut y = [[0.0; 2]; SAMPLES];
                            let mut legal = true;
                            unroll!(j in 0 1 2 3 4 5 6 7 {
                                if j < L::SAMPLES {
                                    let slot = (run * L::SAMPLES + j) % SLOTS;
                                    let factor = product(gains[j % L::INPUTS], slots.rotations[slot]);
                                    slots.rotations[slot] = slots.steps[slot].next(slots.rotations[slot]);
                                    y[j] = product(factor, x[j]);
                                    if DITHER {
                                        let [first, second] = slots.words[slot];
                                        let channel = self.first_channel.wrapping_add(number);
                                        let hash = dither::hash(dither::hash_start(channel, first), second);
                                        let [re, im] = dither::parts(hash);
                                        y[j] = [y[j][0] + re, y[j][1] + im];
                                    }
                                    legal = legal & (y[j][0].abs() <= F::LIMIT) & (y[j][1].abs() <= F::LIMIT);
                                }
                            });
                            if F::LIMIT > 0.0 && !legal {
                                unroll!(j in 0 1 2 3 4 5 6 7 {
                                    if j < L::SAMPLES {
                                        let (value, beyond) = clamped::<F>(y[j]);
                                        y[j] = value;
                                        counts[j % L::INPUTS] += beyond as u32;
                                    }
                                });
                            }
                            let at = sample + i as u64 * layout.channel_stride() + run as u64 * later;
                            store::<F, L>(self.to, at, F::pack(y));
                        }
                    });
                }
            });
            channel += L::AHEAD as u32;
            sample += L::AHEAD as u64 * layout.channel_stride();
        }
        counts
    }

    /// Rotations of a thread's samples in channel `first`, and what changes them. Times past the end have rotations of
    /// zero.
    ///
    /// # Safety
    /// - The views [fit](Self::fit) the sizes; `thread` is below the threads of the layout.
    #[inline(always)]
    unsafe fn slots<const DITHER: bool>(&self, thread: u32, first: u32) -> Slots {
        let layout = self.layout;
        let place = layout.place(thread);
        let channel = u64::from(self.first_channel) + u64::from(first);
        let mut slots = Slots { rotations: [[0.0; 2]; SLOTS], steps: [Step::NONE; SLOTS], words: [[0; 2]; SLOTS] };
        unroll!(slot in 0 1 2 3 4 5 6 7 {
            if slot < L::RUNS * L::SAMPLES {
                let (run, j) = (slot / L::SAMPLES, slot % L::SAMPLES);
                let time = u64::from(place.time) + run as u64 * u64::from(layout.later()) + (j / L::INPUTS) as u64;
                let input = place.input + (j % L::INPUTS) as u32;
                if time < u64::from(layout.times()) {
                    let index = time * u64::from(layout.inputs()) + u64::from(input);
                    let [base, slope] = self.phases.load(index as usize);
                    slots.rotations[slot] = unit(high(base.wrapping_add(slope.wrapping_mul(channel))));
                    slots.steps[slot] = Step::new(slope);
                    if DITHER {
                        slots.words[slot] = dither::words(self.seed, self.first_spectrum.wrapping_add(time), input);
                    }
                }
            }
        });
        slots
    }

    /// Gains of a run's inputs in a channel.
    ///
    /// # Safety
    /// - The views [fit](Self::fit) the sizes; `channel` is below the channels, and the run that begins with `input`
    ///   below the inputs.
    /// - Gains of runs of several inputs lie at multiples of 16 bytes.
    #[inline(always)]
    unsafe fn gains(&self, channel: u32, input: u32) -> [Complex; INPUTS] {
        let mut gains = [[1.0, 0.0]; INPUTS];
        if !self.gains.is_empty() {
            let index = u64::from(channel) * u64::from(self.layout.inputs()) + u64::from(input);
            if L::INPUTS == 1 {
                gains[0] = self.gains.load(index as usize);
            } else {
                unroll!(pair in 0 1 {
                    if 2 * pair < L::INPUTS {
                        let [a, b, c, d] = self.gains.cast::<[f32; 4]>().load(index as usize / 2 + pair);
                        gains[2 * pair] = [a, b];
                        gains[2 * pair + 1] = [c, d];
                    }
                });
            }
        }
        gains
    }
}

/// Loads a run at a sample.
///
/// # Safety
/// The run lies within the view, at a multiple of its size.
#[inline(always)]
unsafe fn load<F: Format, L: Layout>(from: GlobalMut<u8>, sample: u64) -> [u32; 4] {
    let run = sample as usize / L::SAMPLES;
    match F::BYTES * L::SAMPLES {
        1 => [from.load(run).into(), 0, 0, 0],
        2 => [from.cast::<u16>().load(run).into(), 0, 0, 0],
        4 => [from.cast::<u32>().load(run), 0, 0, 0],
        8 => {
            let [a, b] = from.cast::<[u32; 2]>().load(run);
            [a, b, 0, 0]
        }
        _ => from.cast::<[u32; 4]>().load(run),
    }
}

/// Stores a run at a sample.
///
/// # Safety
/// As [`load`], and no other thread uses the run.
#[inline(always)]
unsafe fn store<F: Format, L: Layout>(to: GlobalMut<u8>, sample: u64, words: [u32; 4]) {
    let run = sample as usize / L::SAMPLES;
    match F::BYTES * L::SAMPLES {
        1 => to.store(run, words[0] as u8),
        2 => to.cast::<u16>().store(run, words[0] as u16),
        4 => to.cast::<u32>().store(run, words[0]),
        8 => to.cast::<[u32; 2]>().store(run, [words[0], words[1]]),
        _ => to.cast::<[u32; 4]>().store(run, words),
    }
}
