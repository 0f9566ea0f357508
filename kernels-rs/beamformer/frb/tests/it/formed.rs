//! Voltages of beams by the first half alone, in the emulator.

use std::f64::consts::TAU;

use fringes_beamformer::internals::{Weights, output_words};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::{GlobalMemory, Launch};
use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use fringes_kernel_abi::frb::formed;
use fringes_kernels_beamformer_frb::{FORMED_KERNELS, FormedGiven, FormedSizes, OFFSET, SIGNED};
use half::f16;
use ndarray::{Array2, Array5};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::C64;

/// The rms error of voltages over their rms, of so many frequencies, polarisations, outs and beams along a line.
fn error(
    [frequencies, pols, outs, beams]: [usize; 4],
    times: usize,
    (signs, conjugate): (u32, bool),
    (groups, ahead): (usize, usize),
) -> f64 {
    let kernel = &FORMED_KERNELS[0];
    assert_eq!(kernel.name(), "formed_256_512_i4");
    let (lines, feeds, padded) = (4, 256, 512);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(beams as u64);
    let voltages = Array5::from_shape_simple_fn((times, frequencies, pols, lines, feeds), || {
        Complex::new(random.random_range(-7..=7i8), random.random_range(-7..=7i8))
    });
    let weights = Array5::from_shape_fn((frequencies, pols, outs, lines, feeds), |(frequency, ..)| {
        let size = random.random_range(0.5..2.0f32) * 3f32.powi(frequency as i32 - 1);
        Complex::from_polar(size, random.random_range(0.0..std::f32::consts::TAU))
    });
    let map = Array2::from_shape_fn((frequencies, beams), |(frequency, beam)| {
        ((beam * (17 + 13 * frequency) / 10 + 400) % padded) as u32
    });
    let size = Size::new(feeds, padded).unwrap();
    let table = Weights::new(weights.view(), size, 8.0 * 2f64.sqrt()).unwrap();
    let rows = output_words(map.view(), size).unwrap();
    let data: Vec<u8> = voltages
        .iter()
        .map(|x| ((x.re as u8) << 4 | (x.im as u8 & 15)) ^ if signs == OFFSET { 0x88 } else { 0 })
        .collect();
    let half = |value: f64| u32::from(f16::from_f64(value).to_bits());
    let scales = vec![half(1.0) | half(if conjugate { -1.0 } else { 1.0 }) << 16; frequencies];
    // Bytes before the voltages, which are then at an even address alone.
    let data = [vec![0; ahead], data].concat();
    let mut memory = GlobalMemory::new();
    let voltages_view = Global::from(memory.upload(&data));
    let given = FormedGiven {
        // SAFETY: they are there.
        voltages: unsafe { voltages_view.part(ahead, data.len() - ahead) },
        weights: Global::from(memory.upload(&table.words)),
        phases: Global::from(memory.upload(&phase_table(size, Sign::Positive, 0))),
        rows: Global::from(memory.upload(&rows)),
        scales: Global::from(memory.upload(&scales)),
    };
    let row = outs * beams * pols;
    let out = memory.allocate::<u32>(frequencies * times * row);
    let line = feeds as u64;
    let sizes = FormedSizes {
        frequencies: frequencies as u32,
        times: times as u32,
        splits: 2,
        outs: outs as u32,
        beams: beams as u32,
        pols: pols as u32,
        signs,
        strides: [line * (4 * pols * frequencies) as u64, line * (4 * pols) as u64, 4 * line, line],
        out_strides: [(times * row) as u64, row as u64],
    };
    let blocks = frequencies * 2 * outs.div_ceil(4);
    let shared_bytes = formed::shared_bytes(beams as u32, pols as u32, groups as u32) as u32;
    Launch::new(kernel.declaration, [blocks as u32, 1, 1], [formed::THREADS, 1, 1])
        .shared_bytes(shared_bytes)
        .run(&mut memory, || (kernel.run)(given, GlobalMut::from(out), sizes))
        .assert_clean();
    let words = memory.values(out);
    let (mut errors, mut squares) = (0.0, 0.0);
    for (at, word) in words.iter().enumerate() {
        let (rest, pol) = (at / pols, at % pols);
        let (rest, beam) = (rest / beams, rest % beams);
        let (rest, o) = (rest / outs, rest % outs);
        let (frequency, time) = (rest / times, rest % times);
        let q = map[(frequency, beam)] as usize;
        let mut expected = C64::default();
        for line in 0..lines {
            for n in 0..feeds {
                let (x, w) = (voltages[(time, frequency, pol, line, n)], weights[(frequency, pol, o, line, n)]);
                let turned = C64::cis(TAU * (q * n % padded) as f64 / padded as f64);
                expected += C64::new(w.re.into(), w.im.into()) * C64::new(x.re.into(), x.im.into()) * turned;
            }
        }
        let expected = if conjugate { expected.conj() } else { expected };
        let part = |bits: u32| f16::from_bits(bits as u16).to_f64();
        let found = C64::new(part(*word), part(*word >> 16)) * 2f64.powi(table.exponents[frequency]);
        errors += (found - expected).norm_sqr();
        squares += expected.norm_sqr();
    }
    (errors / squares).sqrt()
}

/// As FFT beams have it: 9e-4 at most.
#[test]
fn voltages_of_four_full_lines() {
    for (sizes, times, signs, groups) in [
        ([2, 2, 2, 250], 35, (OFFSET, false), (2, 0)),
        ([1, 1, 4, 33], 50, (SIGNED, true), (2, 0)),
        ([1, 2, 1, 256], 21, (SIGNED, false), (1, 2)),
        ([1, 2, 6, 300], 17, (OFFSET, false), (1, 0)),
        ([1, 2, 4, 129], 3, (OFFSET, true), (2, 6)),
    ] {
        let error = error(sizes, times, signs, groups);
        println!("rms {error:.2e}");
        assert!(error < 9e-4, "{sizes:?}: {error:.2e}");
    }
}
