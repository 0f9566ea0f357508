//! Finer channels of feeds in the emulator, against sums in f64.

use std::f64::consts::TAU;

use fringes_device::{Global, GlobalMut};
use fringes_emulator::{GlobalMemory, Launch};
use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use fringes_kernels_beamformer_frb::{OFFSET, SIGNED};
use fringes_kernels_beamformer_grid::{CHANNEL_KERNELS, ChannelKernel, ChannelSizes, EIGHT, FOUR};
use half::f16;
use ndarray::Array5;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::C64;

/// The rms error of all channels over their rms, of noise `[time][frequency][pol][line][feed]` with `gap` bytes between
/// lines.
fn error(
    kernel: &ChannelKernel,
    [format, signs]: [u32; 2],
    [blocks, frequencies, pols, lines, feeds]: [usize; 5],
    sign: Sign,
    gap: usize,
) -> f64 {
    let times: usize = kernel.name().strip_prefix("channels_").unwrap().parse().unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(times as u64);
    let limit = if format == FOUR { 7 } else { 127 };
    let voltages = Array5::from_shape_simple_fn((blocks * times, frequencies, pols, lines, feeds), || {
        Complex::new(random.random_range(-limit..=limit), random.random_range(-limit..=limit))
    });
    let bytes = if format == FOUR { 1 } else { 2 };
    let row = feeds * bytes + gap;
    let mut data = vec![0x5a; voltages.len() / feeds * row - gap];
    for (line, voltages) in voltages.rows().into_iter().enumerate() {
        for (feed, x) in voltages.iter().enumerate() {
            let at = line * row + feed * bytes;
            match format {
                FOUR => data[at] = ((x.re as u8) << 4 | (x.im as u8 & 15)) ^ if signs == OFFSET { 0x88 } else { 0 },
                _ => data[at..at + 2].copy_from_slice(&[x.re as u8, x.im as u8]),
            }
        }
    }
    let exponent = -3;
    let phases = match times {
        64.. => phase_table(Size::new(times, times).unwrap(), sign, exponent),
        _ => Vec::new(),
    };
    let quads = feeds.next_multiple_of(4);
    let mut memory = GlobalMemory::new();
    let voltage_view = Global::from(memory.upload(&data));
    let phase_view = Global::from(memory.upload(&phases));
    let out = memory.allocate::<u32>(blocks * frequencies * times * pols * lines * quads);
    let [line, pol, frequency] = [row, row * lines, row * lines * pols].map(|bytes| bytes as u64);
    let sizes = ChannelSizes {
        blocks: blocks as u32,
        frequencies: frequencies as u32,
        pols: pols as u32,
        lines: lines as u32,
        feeds: feeds as u32,
        format,
        signs,
        negative: u32::from(sign == Sign::Negative),
        scale: 2f32.powi(exponent),
        strides: [frequency * frequencies as u64, frequency, pol, line],
    };
    let shared = if times < 64 { 0 } else { 4 * 33 * times as u32 };
    Launch::new(kernel.declaration, [3, 1, 1], [256, 1, 1])
        .shared_bytes(shared)
        .run(&mut memory, || (kernel.run)(voltage_view, phase_view, GlobalMut::from(out), sizes))
        .assert_clean();
    let words = memory.values(out);
    let roots: Vec<C64> = (0..times).map(|k| C64::cis(sign.value() * TAU * k as f64 / times as f64)).collect();
    let (mut errors, mut squares) = (0.0, 0.0);
    let mut at = 0;
    for block in 0..blocks {
        for frequency in 0..frequencies {
            for f in 0..times {
                for column in 0..pols * lines * quads {
                    let (pol, line, feed) = (column / quads / lines, column / quads % lines, column % quads);
                    let parts = [words[at] as u16, (words[at] >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64());
                    at += 1;
                    assert!(parts.iter().all(|part| part.is_finite()));
                    if feed < feeds {
                        let expected: C64 = (0..times)
                            .map(|t| {
                                let x = voltages[(block * times + t, frequency, pol, line, feed)];
                                C64::new(x.re.into(), x.im.into()) * roots[f * t % times]
                            })
                            .sum();
                        errors += (C64::new(parts[0], parts[1]) * 2f64.powi(-exponent) - expected).norm_sqr();
                        squares += expected.norm_sqr();
                    }
                }
            }
        }
    }
    (errors / squares).sqrt()
}

#[test]
fn channels_of_every_number() {
    for kernel in CHANNEL_KERNELS {
        let times: usize = kernel.name().strip_prefix("channels_").unwrap().parse().unwrap();
        // Rounded to f16 once, by 2^-11 / sqrt(3) rms at most; that of a microkernel is at most 9e-4.
        let bound = if times < 64 { 2f64.powi(-11) / 3f64.sqrt() } else { 9e-4 };
        let feeds = if times < 64 { 70 } else { 11 };
        let four = error(kernel, [FOUR, SIGNED], [2, 2, 2, 3, feeds], Sign::Positive, 1);
        let eight = error(kernel, [EIGHT, SIGNED], [1, 1, 2, 2, 20], Sign::Negative, 0);
        let whole = error(kernel, [FOUR, OFFSET], [1, 2, 1, 2, 16], Sign::Negative, 0);
        println!("{}: {four:.2e} {eight:.2e} {whole:.2e} of {bound:.2e}", kernel.name());
        assert!(four < bound && eight < bound && whole < bound, "{}: {four} {eight} {whole}", kernel.name());
    }
}
