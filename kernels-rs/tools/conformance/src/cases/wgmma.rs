//! Cases of `wgmma`. Every shape: a product over 128 bytes of K in four steps, with `A` from shared memory and from
//! registers. The elements are small whole numbers, so that every sum is exact in whatever order; compared with the
//! product in integers.

use fringes_device::Shared;
use fringes_device::barrier::bar_sync_0;
use fringes_device::fence::fence_proxy_async;
use fringes_device::index::tid_x;
use fringes_device::layout::atoms::wgmma::{Accumulator as Tiles, M64K32_S32_S8};
use fringes_device::wgmma::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;

/// Type of the elements of `A` and `B`.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug, Clone, Copy)]
enum Kind {
    S8,
    F16,
    BF16,
    TF32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kind {
    /// A word of elements.
    fn word(self, random: &mut Random) -> u32 {
        let mut whole = || f32::from(random.below(17) as i16 - 8);
        match self {
            Self::S8 => random.bits(),
            Self::F16 => {
                let mut half = || u32::from(half::f16::from_f32(whole()).to_bits());
                half() | half() << 16
            }
            Self::BF16 => whole().to_bits() >> 16 | whole().to_bits() & 0xffff_0000,
            Self::TF32 => whole().to_bits(),
        }
    }

    /// The elements of a word; those that are not there are 0.
    fn elements(self, word: u32) -> [i32; 4] {
        let half = |bits: u32| half::f16::from_bits(bits as u16).to_f32() as i32;
        match self {
            Self::S8 => word.to_le_bytes().map(|byte| i32::from(byte as i8)),
            Self::F16 => [half(word), half(word >> 16), 0, 0],
            Self::BF16 => [f32::from_bits(word << 16) as i32, f32::from_bits(word & 0xffff_0000) as i32, 0, 0],
            Self::TF32 => [f32::from_bits(word) as i32, 0, 0, 0],
        }
    }

    /// `A B`, twice; rows of 32 words of `A`, then columns of 32 words of `B`.
    fn product(self, input: &[u32]) -> Vec<u32> {
        let rows: Vec<[i32; 128]> = input
            .chunks(32)
            .map(|words| {
                let mut row = [0; 128];
                words.iter().zip(row.chunks_mut(4)).for_each(|(&word, to)| to.copy_from_slice(&self.elements(word)));
                row
            })
            .collect();
        let (a, b) = rows.split_at(64);
        let dot = |a: &[i32; 128], b: &[i32; 128]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>();
        let bits = |sum: i32| if matches!(self, Self::S8) { sum as u32 } else { (sum as f32).to_bits() };
        let once: Vec<u32> = a.iter().flat_map(|a| b.iter().map(move |b| bits(dot(a, b)))).collect();
        once.repeat(2)
    }
}

/// Equal bits, or zeros of either sign.
#[cfg(not(target_arch = "nvptx64"))]
fn same_number(_: &[u32], _: usize, want: u32, have: u32) -> bool {
    want == have || (want | have) & 0x7fff_ffff == 0
}

/// The body once for each register of a 64 x N accumulator.
macro_rules! each_register {
    (8, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 $body) };
    (16, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 $body) };
    (32, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 $body) };
    (40, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 $body) };
    (48, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 $body) };
    (64, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 $body) };
    (96, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 $body) };
    (128, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 $body) };
    (160, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 $body) };
    (192, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 $body) };
    (256, $k:ident, $body:block) => { fringes_device::unroll!($k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 $body) };
}

/// `A` (64 rows of 128 bytes) and `B` (`columns` of them) into shared memory, permuted, seen by the tensor cores.
///
/// # Safety
/// - All 128 threads of the block call it together; `input` and `shared` have `32 (64 + columns)` words, and nobody
///   uses those of shared memory.
#[inline(always)]
unsafe fn place(input: fringes_device::Global<u32>, shared: Shared<u32>, columns: usize, swizzle: Swizzle) {
    let mut word = tid_x() as usize;
    while word < 32 * (64 + columns) {
        shared.store(swizzle.apply(4 * word as u32) as usize / 4, input.load(word));
        word += 128;
    }
    fence_proxy_async();
    bar_sync_0();
}

/// Where register `k` of a thread goes: row and column of `D`.
#[inline(always)]
const fn row_and_column(k: usize, thread: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (16 * warp + lane / 4 + 8 * (k / 2 % 2), 8 * (k / 4) + 2 * (lane % 4) + k % 2)
}

/// Words from the first register of a lane's `A` to each, in rows of 32 words.
const FACTOR: [usize; 4] = [0, 256, 4, 260];

// The cases' places are those of the layout atoms: what holds on a GPU here holds for them.
const _: () = {
    // Two tiles of eight columns, the fewest that show where the second one begins.
    let Some(d) = Tiles::new(M64K32_S32_S8.tile, 16) else { panic!() };
    let (a, mut thread) = (&M64K32_S32_S8.a, 0);
    while thread < 128 {
        let mut k = 0;
        while k < d.registers() {
            let (row, column) = d.position(0, k, thread);
            assert!(row == row_and_column(k, thread).0 && column == row_and_column(k, thread).1);
            k += 1;
        }
        let mut place = 0;
        while place < 16 {
            let word = 32 * row_and_column(0, thread).0 + thread % 4 + FACTOR[place / 4];
            let element = a.apply((place | thread << 4) as u64) as usize;
            assert!(element == word / 32 + 64 * (4 * (word % 32) + place % 4));
            place += 1;
        }
        thread += 1;
    }
};

macro_rules! products {
    ($($name:ident, $ss:ident $rs:ident [$($ss_constants:tt)*] [$($rs_constants:tt)*], $n:tt, $element:ty, $kind:expr;)*) => {
        kernels! { $(
            #[doc = concat!("64 x ", stringify!($n), " products.")]
            #[threads(128)]
            fn $name(input, output) covers [$ss, $rs, wgmma_fence, wgmma_commit_group, wgmma_wait_group]
            with |case| case
                .capability(9, 0)
                .input(|random| random.many(32 * (64 + $n), |random| $kind.word(random)))
                .output(2 * 64 * $n)
                .shared(128 * (64 + $n))
                .within("bit for bit, zeros of either sign", same_number)
                .expect(|input| $kind.product(input))
            => {
                let shared = Shared::<u32>::dynamic();
                place(input, shared, $n, Swizzle::Bytes128);
                let a = Descriptor::new(shared.address(0), 16, 1024, Swizzle::Bytes128);
                let b = Descriptor::new(shared.address(32 * 64), 16, 1024, Swizzle::Bytes128);
                let (row, _) = row_and_column(0, tid_x() as usize);
                let first = 32 * row + tid_x() as usize % 4;
                let mut d = <[$element; $n / 2]>::zero();
                wgmma_fence();
                $ss$($ss_constants)*(&mut d, a, b, false);
                $ss$($ss_constants)*(&mut d, a.advance(32), b.advance(32), true);
                $ss$($ss_constants)*(&mut d, a.advance(64), b.advance(64), true);
                $ss$($ss_constants)*(&mut d, a.advance(96), b.advance(96), true);
                wgmma_commit_group();
                wgmma_wait_group::<0>();
                d.hold();
                let results: fringes_device::GlobalMut<$element> = output.cast();
                each_register!($n, k, {
                    let (row, column) = row_and_column(k, tid_x() as usize);
                    results.store($n * row + column, d[k]);
                });
                bar_sync_0(); // the registers of one product are free before the next begins
                // The same with `A` in registers: 8 rows apart, 16 bytes apart, 32 bytes further in each step.
                let mut factors = [[0; 4]; 4];
                fringes_device::unroll!(step in 0 1 2 3 {
                    let at = first + 8 * step;
                    factors[step] = FACTOR.map(|word| input.load(at + word));
                });
                let mut d = <[$element; $n / 2]>::zero();
                wgmma_fence();
                $rs$($rs_constants)*(&mut d, factors[0], b, false);
                $rs$($rs_constants)*(&mut d, factors[1], b.advance(32), true);
                $rs$($rs_constants)*(&mut d, factors[2], b.advance(64), true);
                $rs$($rs_constants)*(&mut d, factors[3], b.advance(96), true);
                wgmma_commit_group();
                wgmma_wait_group::<0>();
                d.hold();
                each_register!($n, k, {
                    let (row, column) = row_and_column(k, tid_x() as usize);
                    results.store(64 * $n + $n * row + column, d[k]);
                });
            }
        )* }
    };
}

products! {
    wgmma_s8_n8, wgmma_mma_async_m64n8k32_s32_s8_s8 wgmma_mma_async_m64n8k32_s32_s8_s8_a_registers [] [], 8, i32, Kind::S8;
    wgmma_s8_n16, wgmma_mma_async_m64n16k32_s32_s8_s8 wgmma_mma_async_m64n16k32_s32_s8_s8_a_registers [] [], 16, i32, Kind::S8;
    wgmma_s8_n32, wgmma_mma_async_m64n32k32_s32_s8_s8 wgmma_mma_async_m64n32k32_s32_s8_s8_a_registers [] [], 32, i32, Kind::S8;
    wgmma_s8_n64, wgmma_mma_async_m64n64k32_s32_s8_s8 wgmma_mma_async_m64n64k32_s32_s8_s8_a_registers [] [], 64, i32, Kind::S8;
    wgmma_s8_n96, wgmma_mma_async_m64n96k32_s32_s8_s8 wgmma_mma_async_m64n96k32_s32_s8_s8_a_registers [] [], 96, i32, Kind::S8;
    wgmma_s8_n128, wgmma_mma_async_m64n128k32_s32_s8_s8 wgmma_mma_async_m64n128k32_s32_s8_s8_a_registers [] [], 128, i32, Kind::S8;
    wgmma_s8_n160, wgmma_mma_async_m64n160k32_s32_s8_s8 wgmma_mma_async_m64n160k32_s32_s8_s8_a_registers [] [], 160, i32, Kind::S8;
    wgmma_s8_n192, wgmma_mma_async_m64n192k32_s32_s8_s8 wgmma_mma_async_m64n192k32_s32_s8_s8_a_registers [] [], 192, i32, Kind::S8;
    wgmma_s8_n256, wgmma_mma_async_m64n256k32_s32_s8_s8 wgmma_mma_async_m64n256k32_s32_s8_s8_a_registers [] [], 256, i32, Kind::S8;
    wgmma_f16_n8, wgmma_mma_async_m64n8k16_f32_f16_f16 wgmma_mma_async_m64n8k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 8, f32, Kind::F16;
    wgmma_f16_n16, wgmma_mma_async_m64n16k16_f32_f16_f16 wgmma_mma_async_m64n16k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 16, f32, Kind::F16;
    wgmma_f16_n32, wgmma_mma_async_m64n32k16_f32_f16_f16 wgmma_mma_async_m64n32k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 32, f32, Kind::F16;
    wgmma_f16_n40, wgmma_mma_async_m64n40k16_f32_f16_f16 wgmma_mma_async_m64n40k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 40, f32, Kind::F16;
    wgmma_f16_n48, wgmma_mma_async_m64n48k16_f32_f16_f16 wgmma_mma_async_m64n48k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 48, f32, Kind::F16;
    wgmma_f16_n64, wgmma_mma_async_m64n64k16_f32_f16_f16 wgmma_mma_async_m64n64k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 64, f32, Kind::F16;
    wgmma_f16_n96, wgmma_mma_async_m64n96k16_f32_f16_f16 wgmma_mma_async_m64n96k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 96, f32, Kind::F16;
    wgmma_f16_n128, wgmma_mma_async_m64n128k16_f32_f16_f16 wgmma_mma_async_m64n128k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 128, f32, Kind::F16;
    wgmma_f16_n160, wgmma_mma_async_m64n160k16_f32_f16_f16 wgmma_mma_async_m64n160k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 160, f32, Kind::F16;
    wgmma_f16_n192, wgmma_mma_async_m64n192k16_f32_f16_f16 wgmma_mma_async_m64n192k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 192, f32, Kind::F16;
    wgmma_f16_n256, wgmma_mma_async_m64n256k16_f32_f16_f16 wgmma_mma_async_m64n256k16_f32_f16_f16_a_registers [::<0, 0>] [::<0>], 256, f32, Kind::F16;
    wgmma_bf16_n8, wgmma_mma_async_m64n8k16_f32_bf16_bf16 wgmma_mma_async_m64n8k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 8, f32, Kind::BF16;
    wgmma_bf16_n16, wgmma_mma_async_m64n16k16_f32_bf16_bf16 wgmma_mma_async_m64n16k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 16, f32, Kind::BF16;
    wgmma_bf16_n32, wgmma_mma_async_m64n32k16_f32_bf16_bf16 wgmma_mma_async_m64n32k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 32, f32, Kind::BF16;
    wgmma_bf16_n64, wgmma_mma_async_m64n64k16_f32_bf16_bf16 wgmma_mma_async_m64n64k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 64, f32, Kind::BF16;
    wgmma_bf16_n96, wgmma_mma_async_m64n96k16_f32_bf16_bf16 wgmma_mma_async_m64n96k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 96, f32, Kind::BF16;
    wgmma_bf16_n128, wgmma_mma_async_m64n128k16_f32_bf16_bf16 wgmma_mma_async_m64n128k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 128, f32, Kind::BF16;
    wgmma_bf16_n192, wgmma_mma_async_m64n192k16_f32_bf16_bf16 wgmma_mma_async_m64n192k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 192, f32, Kind::BF16;
    wgmma_bf16_n256, wgmma_mma_async_m64n256k16_f32_bf16_bf16 wgmma_mma_async_m64n256k16_f32_bf16_bf16_a_registers [::<0, 0>] [::<0>], 256, f32, Kind::BF16;
    wgmma_tf32_n8, wgmma_mma_async_m64n8k8_f32_tf32_tf32 wgmma_mma_async_m64n8k8_f32_tf32_tf32_a_registers [] [], 8, f32, Kind::TF32;
    wgmma_tf32_n16, wgmma_mma_async_m64n16k8_f32_tf32_tf32 wgmma_mma_async_m64n16k8_f32_tf32_tf32_a_registers [] [], 16, f32, Kind::TF32;
    wgmma_tf32_n32, wgmma_mma_async_m64n32k8_f32_tf32_tf32 wgmma_mma_async_m64n32k8_f32_tf32_tf32_a_registers [] [], 32, f32, Kind::TF32;
    wgmma_tf32_n64, wgmma_mma_async_m64n64k8_f32_tf32_tf32 wgmma_mma_async_m64n64k8_f32_tf32_tf32_a_registers [] [], 64, f32, Kind::TF32;
    wgmma_tf32_n96, wgmma_mma_async_m64n96k8_f32_tf32_tf32 wgmma_mma_async_m64n96k8_f32_tf32_tf32_a_registers [] [], 96, f32, Kind::TF32;
    wgmma_tf32_n128, wgmma_mma_async_m64n128k8_f32_tf32_tf32 wgmma_mma_async_m64n128k8_f32_tf32_tf32_a_registers [] [], 128, f32, Kind::TF32;
    wgmma_tf32_n192, wgmma_mma_async_m64n192k8_f32_tf32_tf32 wgmma_mma_async_m64n192k8_f32_tf32_tf32_a_registers [] [], 192, f32, Kind::TF32;
    wgmma_tf32_n256, wgmma_mma_async_m64n256k8_f32_tf32_tf32 wgmma_mma_async_m64n256k8_f32_tf32_tf32_a_registers [] [], 256, f32, Kind::TF32;
}

/// Factors in other places of shared memory, and factors of any size.
pub mod places {
    use super::*;

    #[cfg(not(target_arch = "nvptx64"))]
    use fringes_device::tensor_core::{Accumulator as Sum, Factor, error_bound};

    /// Columns of `D`.
    const N: usize = 64;

    /// Bytes of a swizzle's row.
    const fn line(swizzle: Swizzle) -> u32 {
        swizzle.row_bytes()
    }

    /// A factor of 64 rows of 128 bytes of K: blocks of as many bytes of K as a row of the permutation has, each with
    /// all rows.
    ///
    /// # Safety
    /// - All 128 threads of the block call it; `input` and `shared` have 2048 words from `first` on, and nobody uses
    ///   those of shared memory.
    /// - A fence for the tensor cores and a barrier follow.
    #[inline(always)]
    unsafe fn place_blocks(input: fringes_device::Global<u32>, shared: Shared<u32>, first: usize, swizzle: Swizzle) {
        let mut word = tid_x();
        while word < 32 * 64 {
            let (row, byte) = (word / 32, 4 * (word % 32));
            let place =
                byte / line(swizzle) * 64 * line(swizzle) + swizzle.apply(row * line(swizzle) + byte % line(swizzle));
            shared.store(first + place as usize / 4, input.load(first + word as usize));
            word += 128;
        }
    }

    /// Descriptor of 32 bytes of K of such a factor.
    #[inline(always)]
    fn step_of(address: u32, step: u32, swizzle: Swizzle) -> Descriptor {
        let block = 64 * line(swizzle);
        let at = 32 * step;
        match swizzle {
            // Blocks of 16 bytes of K, two for each product; 8 rows follow 8 rows.
            Swizzle::None => Descriptor::new(address + 2 * step * block, block, 128, swizzle),
            _ => Descriptor::new(address + at / line(swizzle) * block, 0, 8 * line(swizzle), swizzle)
                .advance(at % line(swizzle)),
        }
    }

    /// `A B` over all of K, stored by rows.
    macro_rules! over_k {
        ($input:ident, $output:ident, $element:ty, $swizzle:expr, |$d:ident, $a:ident, $b:ident, $more:ident| $product:expr) => {
            let shared = Shared::<u32>::dynamic();
            place_blocks($input, shared, 0, $swizzle);
            place_blocks($input, shared, 32 * 64, $swizzle);
            fence_proxy_async();
            bar_sync_0();
            let mut d = <[$element; N / 2]>::zero();
            wgmma_fence();
            fringes_device::unroll!(step in 0 1 2 3 {
                let ($a, $b) = (step_of(shared.address(0), step as u32, $swizzle), step_of(shared.address(32 * 64), step as u32, $swizzle));
                let ($d, $more) = (&mut d, step > 0);
                $product;
            });
            wgmma_commit_group();
            wgmma_wait_group::<0>();
            d.hold();
            let results: fringes_device::GlobalMut<$element> = $output.cast();
            each_register!(64, k, {
                let (row, column) = row_and_column(k, tid_x() as usize);
                results.store(N * row + column, d[k]);
            });
        };
    }

    /// The product once.
    #[cfg(not(target_arch = "nvptx64"))]
    fn once(kind: Kind, input: &[u32]) -> Vec<u32> {
        let mut twice = kind.product(input);
        twice.truncate(64 * N);
        twice
    }

    /// `A B` of factors whose lines of 128 bytes go along rows of `A` and columns of `B`: 64 lines of `A`, twice 64 of
    /// `B`.
    #[cfg(not(target_arch = "nvptx64"))]
    fn transposed(input: &[u32]) -> Vec<u32> {
        let element = |line: usize, at: usize| Kind::F16.elements(input[32 * line + at / 2])[at % 2];
        let sum = |row: usize, column: usize| {
            (0..64).map(|k| element(k, row) * element(64 + 64 * (column / 64) + k, column % 64)).sum::<i32>()
        };
        (0..64)
            .flat_map(|row| (0..128).map(move |column| (row, column)))
            .map(|(row, column)| (sum(row, column) as f32).to_bits())
            .collect()
    }

    /// In words for reports.
    #[cfg(not(target_arch = "nvptx64"))]
    const BOUND: &str = "`tensor_core::error_bound` of the sum of magnitudes";

    /// [`BOUND`]: GPU and emulator both lie within it.
    #[cfg(not(target_arch = "nvptx64"))]
    fn within(factor: Factor, input: &[u32], index: usize, want: u32, have: u32) -> bool {
        let elements = |row: usize| -> Vec<f64> {
            let words = &input[32 * row..32 * (row + 1)];
            match factor {
                Factor::TF32 => words.iter().map(|&word| factor.value(word)).collect(),
                _ => words.iter().flat_map(|word| [word & 0xffff, word >> 16]).map(|half| factor.value(half)).collect(),
            }
        };
        let products: Vec<f64> = elements(index / N).iter().zip(elements(64 + index % N)).map(|(a, b)| a * b).collect();
        let exact: f64 = products.iter().sum();
        let magnitude: f64 = products.iter().map(|product| product.abs()).sum();
        let bound = error_bound(Sum::F32, products.len(), magnitude);
        [want, have].iter().all(|&bits| (f64::from(f32::from_bits(bits)) - exact).abs() <= bound)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn f16_within(input: &[u32], index: usize, want: u32, have: u32) -> bool {
        within(Factor::F16, input, index, want, have)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn bf16_within(input: &[u32], index: usize, want: u32, have: u32) -> bool {
        within(Factor::BF16, input, index, want, have)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn tf32_within(input: &[u32], index: usize, want: u32, have: u32) -> bool {
        within(Factor::TF32, input, index, want, have)
    }

    kernels! {
        /// 8-bit factors without a permutation.
        #[threads(128)]
        fn wgmma_s8_unswizzled(input, output) covers [wgmma_mma_async_m64n64k32_s32_s8_s8]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::bits)).output(64 * N).shared(16384).expect(|input| once(Kind::S8, input)) => {
            over_k!(input, output, i32, Swizzle::None, |d, a, b, more| wgmma_mma_async_m64n64k32_s32_s8_s8(d, a, b, more));
        }

        /// 8-bit factors in rows of 32 bytes.
        #[threads(128)]
        fn wgmma_s8_swizzled_32(input, output) covers [wgmma_mma_async_m64n64k32_s32_s8_s8]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::bits)).output(64 * N).shared(16384).expect(|input| once(Kind::S8, input)) => {
            over_k!(input, output, i32, Swizzle::Bytes32, |d, a, b, more| wgmma_mma_async_m64n64k32_s32_s8_s8(d, a, b, more));
        }

        /// 8-bit factors in rows of 64 bytes.
        #[threads(128)]
        fn wgmma_s8_swizzled_64(input, output) covers [wgmma_mma_async_m64n64k32_s32_s8_s8]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::bits)).output(64 * N).shared(16384).expect(|input| once(Kind::S8, input)) => {
            over_k!(input, output, i32, Swizzle::Bytes64, |d, a, b, more| wgmma_mma_async_m64n64k32_s32_s8_s8(d, a, b, more));
        }

        /// f16 of everyday sizes.
        #[threads(128)]
        fn wgmma_f16_random(input, output) covers [wgmma_mma_async_m64n64k16_f32_f16_f16]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::half2_finite)).output(64 * N).shared(16384).within(BOUND, f16_within) => {
            over_k!(input, output, f32, Swizzle::Bytes128, |d, a, b, more| wgmma_mma_async_m64n64k16_f32_f16_f16::<0, 0>(d, a, b, more));
        }

        /// bf16 of everyday sizes.
        #[threads(128)]
        fn wgmma_bf16_random(input, output) covers [wgmma_mma_async_m64n64k16_f32_bf16_bf16]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::bfloat2_finite)).output(64 * N).shared(16384).within(BOUND, bf16_within) => {
            over_k!(input, output, f32, Swizzle::Bytes64, |d, a, b, more| wgmma_mma_async_m64n64k16_f32_bf16_bf16::<0, 0>(d, a, b, more));
        }

        /// tf32 of everyday sizes, with low bits that do not count.
        #[threads(128)]
        fn wgmma_tf32_random(input, output) covers [wgmma_mma_async_m64n64k8_f32_tf32_tf32]
        with |case| case.capability(9, 0).input(|random| random.many(32 * 128, Random::finite)).output(64 * N).shared(16384).within(BOUND, tf32_within) => {
            over_k!(input, output, f32, Swizzle::Bytes32, |d, a, b, more| wgmma_mma_async_m64n64k8_f32_tf32_tf32(d, a, b, more));
        }

        /// Factors that are contiguous along the rows of `A` and the columns of `B`, of which there are two lines of
        /// 128 bytes.
        #[threads(128)]
        fn wgmma_f16_transposed(input, output) covers [wgmma_mma_async_m64n128k16_f32_f16_f16]
        with |case| case
            .capability(9, 0)
            .input(|random| random.many(32 * 192, |random| Kind::F16.word(random)))
            .output(64 * 128)
            .shared(24576)
            .within("bit for bit, zeros of either sign", same_number)
            .expect(transposed)
        => {
            let shared = Shared::<u32>::dynamic();
            place(input, shared, 128, Swizzle::Bytes128);
            let a = Descriptor::new(shared.address(0), 8192, 1024, Swizzle::Bytes128);
            let b = Descriptor::new(shared.address(32 * 64), 8192, 1024, Swizzle::Bytes128);
            let mut d = <[f32; 64]>::zero();
            wgmma_fence();
            fringes_device::unroll!(step in 0 1 2 3 {
                // 16 lines further.
                let (a, b) = (a.advance(2048 * step as u32), b.advance(2048 * step as u32));
                wgmma_mma_async_m64n128k16_f32_f16_f16::<1, 1>(&mut d, a, b, step > 0);
            });
            wgmma_commit_group();
            wgmma_wait_group::<0>();
            d.hold();
            let results: fringes_device::GlobalMut<f32> = output.cast();
            each_register!(128, k, {
                let (row, column) = row_and_column(k, tid_x() as usize);
                results.store(128 * row + column, d[k]);
            });
        }
    }
}

/// A change of the number of registers: nothing that a kernel computes.
pub mod registers {
    use fringes_device::index::tid_x;
    use fringes_device::wgmma::{setmaxnreg_dec, setmaxnreg_inc};
    use fringes_device::{Global, GlobalMut};

    fringes_device::kernel! {
        /// Two warpgroups, one gives registers to the other.
        ///
        /// # Safety
        /// As launched by its case.
        #[launch(threads(256), max_registers(80))]
        pub unsafe fn registers_moved(input: Global<u32>, output: GlobalMut<u32>) {
            let i = tid_x() as usize;
            if i < 128 {
                setmaxnreg_dec::<40>();
                output.store(i, input.load(i));
            } else {
                setmaxnreg_inc::<104>();
                output.store(i, !input.load(i));
            }
        }
    }

    /// The cases of this module.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn cases() -> Vec<crate::Case> {
        let declaration = <registers_moved as fringes_device::Kernel>::DECLARATION;
        let entry = crate::Entry::Plain(registers_moved);
        let intrinsics = &["setmaxnreg_dec", "setmaxnreg_inc"];
        let case = crate::Case::new("registers_moved", intrinsics, declaration, [256, 1, 1], entry);
        vec![case.capability(9, 0).output(256)]
    }
}
