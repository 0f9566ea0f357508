//! Cases of tensor copies: a block that lies partly outside of its tensor, by plain and multicast
//! load and by store; compared with a copy element by element.

use fringes_device::Shared;
use fringes_device::barrier::bar_sync_0;
use fringes_device::bulk::{cp_async_bulk_commit_group, cp_async_bulk_wait_group};
use fringes_device::index::tid_x;
use fringes_device::mbarrier::*;
use fringes_device::tensor::*;
use fringes_device::wgmma::Swizzle;

use super::bulk::{barrier_at, copy_out};

/// Words of the region that a load fills; a block has at most as many, and the second begins at a multiple of 1024
/// bytes.
const REGION: usize = 256;

/// The tensor with the block stored at `coordinates` and zeros elsewhere, then the block as loaded, twice.
#[cfg(not(target_arch = "nvptx64"))]
fn copied(dimensions: &[u64], block: &[u32], coordinates: &[i32], input: &[u32]) -> Vec<u32> {
    let words: u64 = dimensions.iter().product();
    let mut target = vec![0; words as usize];
    let mut loaded = Vec::new();
    // Where an element of the block at `coordinates` lies, if inside.
    let place = |element: u32, coordinates: &[i32]| {
        let (mut rest, mut at, mut stride, mut inside) = (element, 0i64, 1i64, true);
        for ((&size, &extent), &first) in dimensions.iter().zip(block).zip(coordinates) {
            let place = i64::from(first) + i64::from(rest % extent);
            rest /= extent;
            inside &= (0..size as i64).contains(&place);
            at += place * stride;
            stride *= size as i64;
        }
        inside.then_some(at as usize)
    };
    let stored: Vec<i32> = coordinates.iter().map(|&first| first.max(0)).collect();
    for element in 0..block.iter().product::<u32>() {
        let value = place(element, coordinates).map_or(0, |at| input[at]);
        loaded.push(value);
        if let Some(at) = place(element, &stored) {
            target[at] = value;
        }
    }
    [target, loaded.clone(), loaded].concat()
}

macro_rules! copies {
    ($($name:ident, $load:ident, $multicast:ident, $store:ident, $prefetch:ident, [$($dimension:literal),*], [$($block:literal),*], [$($at:literal),*], $swizzle:literal;)*) => {
        tensor_kernels! { $(
            #[doc = concat!("Block `", stringify!([$($block),*]), "` at `", stringify!([$($at),*]), "` of a tensor `", stringify!([$($dimension),*]), "`.")]
            #[threads(64)]
            fn $name(source, target, input, output) covers [prefetch_tensormap, $load, $multicast, $store, $prefetch]
            with |case| case
                .capability(9, 0)
                .input(|random| random.words([$($dimension),*].iter().product::<usize>()))
                .output([$($dimension),*].iter().product::<usize>() + 2 * [$($block),*].iter().product::<usize>())
                .shared(8 * REGION as u32 + 16)
                .zeroed()
                .expect(|input| copied(&[$($dimension),*], &[$($block),*], &[$($at),*], input))
            => crate::Tensor { dimensions: &[$($dimension),*], block: &[$($block),*], swizzle: $swizzle }
            => {
                const WORDS: usize = 1 $(* $dimension)*;
                const BLOCK: usize = 1 $(* $block)*;
                let shared = Shared::<u32>::dynamic();
                let mbarrier = barrier_at(shared, 2 * REGION);
                if tid_x() == 0 {
                    prefetch_tensormap(source);
                    $prefetch(source, [$(if $at < 0 { 0 } else { $at }),*]);
                    mbarrier_arrive_expect_tx_shared_b64(mbarrier, 8 * BLOCK as u32);
                    $load(shared.address(0), source, [$($at),*], mbarrier);
                    $multicast(shared.address(REGION), source, [$($at),*], mbarrier, 1);
                }
                while !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {}
                bar_sync_0();
                if tid_x() == 0 {
                    $store(target, [$(if $at < 0 { 0 } else { $at }),*], shared.address(0));
                    cp_async_bulk_commit_group();
                    cp_async_bulk_wait_group::<0>();
                }
                let _ = input;
                unswizzle(shared, $swizzle, BLOCK);
                copy_out(shared, output, WORDS, BLOCK, 64);
                copy_out(shared.part(REGION, BLOCK), output, WORDS + BLOCK, BLOCK, 64);
            }
        )* }
    };
}

/// Undoes a permutation in both regions.
///
/// # Safety
/// - All 64 threads of the block call it together, after a barrier behind the copies.
/// - Both regions have `words` words, at most 256 and a multiple of what the permutation permutes.
#[inline(always)]
unsafe fn unswizzle(shared: Shared<u32>, swizzle: u32, words: usize) {
    if swizzle > 0 {
        let permutation = match swizzle {
            32 => Swizzle::Bytes32,
            64 => Swizzle::Bytes64,
            _ => Swizzle::Bytes128,
        };
        // Each thread moves 4 words of each region: those of its place to their place.
        let mut moved = [0; 8];
        let i = tid_x();
        fringes_device::unroll!(k in 0 1 2 3 {
            let from = permutation.apply(4 * (i + 64 * k as u32)) as usize / 4;
            if i as usize + 64 * k < words {
                moved[k] = shared.load(from);
                moved[4 + k] = shared.load(REGION + from);
            }
        });
        bar_sync_0();
        fringes_device::unroll!(k in 0 1 2 3 {
            let to = i as usize + 64 * k;
            if to < words {
                shared.store(to, moved[k]);
                shared.store(REGION + to, moved[4 + k]);
            }
        });
    }
    bar_sync_0();
}

copies! {
    tensor_1d, cp_async_bulk_tensor_1d_shared_global, cp_async_bulk_tensor_1d_shared_global_multicast, cp_async_bulk_tensor_1d_global_shared, cp_async_bulk_prefetch_tensor_1d, [256], [64], [-8], 0;
    tensor_2d, cp_async_bulk_tensor_2d_shared_global, cp_async_bulk_tensor_2d_shared_global_multicast, cp_async_bulk_tensor_2d_global_shared, cp_async_bulk_prefetch_tensor_2d, [32, 16], [16, 8], [-4, 12], 0;
    tensor_3d, cp_async_bulk_tensor_3d_shared_global, cp_async_bulk_tensor_3d_shared_global_multicast, cp_async_bulk_tensor_3d_global_shared, cp_async_bulk_prefetch_tensor_3d, [16, 8, 4], [8, 4, 2], [12, -2, 3], 0;
    tensor_4d, cp_async_bulk_tensor_4d_shared_global, cp_async_bulk_tensor_4d_shared_global_multicast, cp_async_bulk_tensor_4d_global_shared, cp_async_bulk_prefetch_tensor_4d, [8, 4, 4, 2], [4, 2, 2, 2], [4, -1, 1, 1], 0;
    tensor_5d, cp_async_bulk_tensor_5d_shared_global, cp_async_bulk_tensor_5d_shared_global_multicast, cp_async_bulk_tensor_5d_global_shared, cp_async_bulk_prefetch_tensor_5d, [8, 4, 2, 2, 3], [4, 2, 2, 2, 2], [-4, 3, 1, 0, 2], 0;
    tensor_2d_swizzled, cp_async_bulk_tensor_2d_shared_global, cp_async_bulk_tensor_2d_shared_global_multicast, cp_async_bulk_tensor_2d_global_shared, cp_async_bulk_prefetch_tensor_2d, [64, 16], [32, 8], [16, 11], 128;
    tensor_2d_swizzled_32, cp_async_bulk_tensor_2d_shared_global, cp_async_bulk_tensor_2d_shared_global_multicast, cp_async_bulk_tensor_2d_global_shared, cp_async_bulk_prefetch_tensor_2d, [64, 40], [8, 32], [-4, -9], 32;
    tensor_3d_swizzled_64, cp_async_bulk_tensor_3d_shared_global, cp_async_bulk_tensor_3d_shared_global_multicast, cp_async_bulk_tensor_3d_global_shared, cp_async_bulk_prefetch_tensor_3d, [32, 8, 4], [16, 5, 3], [20, 5, 2], 64;
    tensor_4d_swizzled_128, cp_async_bulk_tensor_4d_shared_global, cp_async_bulk_tensor_4d_shared_global_multicast, cp_async_bulk_tensor_4d_global_shared, cp_async_bulk_prefetch_tensor_4d, [64, 4, 4, 2], [32, 2, 2, 2], [48, -1, 3, 1], 128;
}
