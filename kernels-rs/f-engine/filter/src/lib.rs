#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The polyphase filter by itself: packed samples to filtered f32 samples, `filter_16` and its like.
//!
//! ```text
//! out[input][s][p] = sum_t w[t][p] x[input][s step + t step + p]       p < step
//! ```
//!
//! Samples are two's complement, big-endian, packed, of 2 to 11 bits (8: bytes), and begin at any bit; the step is a
//! multiple of 128 (real samples: twice the channels), so that rows of a step are whole pieces of 16 bytes. A kernel a
//! number of taps, 4, 8, 16 and 32; fewer taps are followed by weights of 0.
//!
//! # Cost
//! What a sample costs with `B` bits and `T` taps, [`filter::rows`] being the rows of samples that a pass of the loop
//! takes:
//!
//! | what | amount | `B = 10`, `T = 16` |
//! |---|---|---|
//! | device memory | `B / 8 + 4` bytes | 5.25 |
//! | shared memory | `B / 8` bytes in, 4 out | 5.25 |
//! | multiply-adds | `T` | 16 |
//! | decode: 2 loads, a byte permutation, a shift, 2 three-input operations, 2 subtractions for 2 samples | 4 | 4 |
//! | store and its address, 8 bytes | 2 | 2 |
//! | copies, waits, the loop | 1.5 | 1.5 |
//!
//! 24 instructions (23.7 in the machine code) for 5.25 bytes: an H200 issues 132 x 4 x 32 x 1.98e9 = 33.5e12 a second,
//! enough for 1400 Gsamples/s, and its memory moves 4.08e12 bytes a second, enough for 777. A section of spectra reads
//! `T - 1` rows before its own: `(T - 1) / section` more samples and multiply-adds.
//!
//! # A block
//! of 128 threads has [`filter::STRIP`] neighbouring columns of a section of one input's spectra; a thread has two
//! columns. Rows of samples come to shared memory by asynchronous copies, two passes ahead of their use. A thread has
//! its weights and `T` sums of each column in registers: a sample is added to the sums of the `T` spectra that it
//! belongs to, of which the first is then complete.

pub mod filter;

use fringes_device::{Global, GlobalMut};

use filter::Arguments;

macro_rules! kernels {
    ($($name:ident $taps:literal $blocks:literal;)*) => {
        $( const _: () = assert!(fringes_kernel_abi::f_engine::filter::has($taps, $blocks)); )*

        fringes_device::kernel! { $(
        #[doc = concat!("The filter of up to ", $taps, " taps. Arguments are those of [`Arguments`].")]
        #[launch(threads(128), min_blocks($blocks))]
        pub fn $name(
            samples: Global<[u32; 4]>,
            weights: Global<[f32; 2]>,
            starts: Global<u64>,
            out: GlobalMut<[f32; 2]>,
            bits: u32,
            columns: u32,
            taps: u32,
            spectra: u32,
            section: u32,
            inputs: u32,
        ) {
            let arguments = Arguments { samples, weights, starts, out, bits, columns, taps, spectra, section, inputs };
            // SAFETY: the launch has the threads and, checked, the shared memory; what the arguments say is checked
            // against the views.
            unsafe { filter::run::<$taps>(arguments) }
        }
        )* }
    };
}

kernels! {
    filter_4 4 10;
    filter_8 8 8;
    filter_16 16 5;
    filter_32 32 3;
}
