#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! FRB beams of four full lines: feeds are transformed over time first, beams are made of fine channels, and powers are
//! summed in registers.
//!
//! Transforms over time and sums over feeds commute. So no row of a beam has to be kept: a block keeps the fine
//! channels of feeds, and with them makes all four sums over lines, which `fringes_kernels_beamformer_frb::form`
//! cannot.
//!
//! # A pass
//! Shared memory holds 32 fine channels of 4 x 256 sums of a polarisation and a block of 128 times. A pass makes those
//! with `s f` equal to `c` modulo 4, where `s` is the sign of the transform, so the four of them are one step of a
//! transform by 4:
//!
//! ```text
//! z[t'] = sum over j < 4 of i^(c j) x[t' + 32 j]                       integers of 7 bits, four feeds in a register
//! Y[f]  = sum over t' < 32 of exp(2 pi i s f t' / 128) z[t']           products of matrices
//! H     = sum over lines of w Y                                        products of matrices, to shared memory
//! J     = sum over n < 256 of exp(+-2 pi i q n / 512) H[n]             products of matrices and half2 operations
//! p    += |J|^2                                                        of all 512 outputs, as f16 in registers
//! ```
//!
//! With `s f = 4 a + c` a negative sign has channels, and so results, the other way round in places `a`; 4 stands for a
//! `c` of 0 there, so that pairs stay pairs.
//!
//! Eight neighbouring fine channels are one result, of which a pass has two. So sums stay in registers from a result's
//! first pass to its last: 16 results of 4 x 512 outputs are 64 registers of 256 threads. Beams choose among the
//! outputs when they are stored.
//!
//! # Floor
//! CHIME: 5e7 transforms from 256 to 512 a second (see `fringes_kernels_beamformer_frb::form`). For each, with its
//! quarter of what precedes, a warp issues
//!
//! | part | instructions | pipes, in SM-cycles on an H200 |
//! |---|---|---|
//! | load voltages, `z` of four feeds at once | 8 loads, 32 ALU | ALU 16, shared memory 16 |
//! | as f16 | 8 ALU, 8 half2 | ALU 4, FMA 2 |
//! | over time | 4 MMAs, 12 half2 | tensor 6, FMA 3 |
//! | sum of lines | 4 MMAs, 5 | tensor 6, ALU 2 |
//! | store and load sums | 12 | shared memory 16 |
//! | 256 to 512 | 16 MMAs, 40 half2 | tensor 25, FMA 11 |
//! | powers | 20 half2 | FMA 6 |
//!
//! 190 with what is beside them, 48 issue cycles. Products and the FMA pipe hardly overlap: 59 cycles. What is measured
//! is 103.7, half of it in the last two rows; docs/frb.md, D-186, D-214 and D-217 have what was tried.

mod beams;
mod copies;
mod feeds;
mod sizes;
mod transform;
mod work;

use fringes_device::{Global, GlobalMut, TensorMap};

pub use sizes::{ChannelisedGiven, ChannelisedSizes};

fringes_device::kernel! {
    /// Powers of beams of four full lines of 4+4 bits, four sums over them, results of eight fine channels.
    #[launch(threads(256), min_blocks(1), shared_bytes(229504))]
    pub fn channelised_256_512_128_i4(voltages: TensorMap, good: Global<u8>, weights: Global<u32>, phases: Global<u32>, matrices: Global<u32>, places: Global<u32>, factors: Global<f32>, powers: GlobalMut<f32>, frequencies: u32, times: u32, beams: u32, pols: u32, summed: u32, blocks: u32, order: u32, signs: u32, frequency_stride: u32, pol_stride: u32) {
        let given = ChannelisedGiven { voltages, good, weights, phases, matrices, places, factors };
        let strides = [frequency_stride, pol_stride];
        let sizes = ChannelisedSizes { frequencies, times, beams, pols, summed, blocks, order, signs, strides };
        work::checked(given, powers, sizes);
    }
}

/// Lines.
pub(crate) const LINES: u32 = 4;

/// Feeds of a line.
pub(crate) const FEEDS: u32 = 256;

/// Sums over lines.
pub(crate) const OUTS: u32 = 4;

/// Times of a transform over time.
pub(crate) const TIMES: u32 = 128;

/// Passes of a block of times.
pub(crate) const PASSES: u32 = 4;

/// Fine channels of a pass.
pub(crate) const PASS_CHANNELS: u32 = TIMES / PASSES;

/// Results of all fine channels.
pub(crate) const FINE: u32 = TIMES / 8;

/// Warps of a block.
pub const WARPS: u32 = 8;

/// Feeds of each line that a warp takes at once, two words of four.
pub(crate) const WARP_FEEDS: u32 = 8;

/// Feeds of each line that a block takes at once.
pub(crate) const ROUND_FEEDS: u32 = WARP_FEEDS * WARPS;

/// Rounds of a pass.
pub(crate) const ROUNDS: u32 = FEEDS / ROUND_FEEDS;

/// Words of sums over lines, `[a4][a mod 8][out][feed][a3]` of fine channels `a` of a pass, with feeds in the order of
/// [`beams`].
pub(crate) const SUM_WORDS: u32 = PASS_CHANNELS * OUTS * FEEDS;

/// Bytes of the sums of two fine channels and an out.
pub(crate) const ROW_BYTES: u32 = 8 * FEEDS;

/// Words of weights of a polarisation, `[unit][pair of feeds][lane][4]`.
pub(crate) const WEIGHT_WORDS: u32 = (FEEDS / WARP_FEEDS) * 256;

/// Bytes of the voltages of a round.
pub(crate) const ROUND_BYTES: u32 = ROUND_FEEDS * LINES * TIMES;

/// Bytes of shared memory: sums, weights, voltages of two rounds, and barriers.
pub const SHARED_BYTES: u32 = 4 * (SUM_WORDS + WEIGHT_WORDS) + 2 * ROUND_BYTES + 128;

const _: () = assert!(SHARED_BYTES == 229_504);

/// Registers of the matrices over time of a pass.
pub const MATRICES: usize = 16;
