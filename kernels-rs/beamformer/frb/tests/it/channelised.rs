//! Powers of the kernel that takes feeds in finer channels, in the emulator.

use fringes_kernels_beamformer_frb::SIGNED;
use ndarray::Array2;

use crate::common::Case;

/// The rms error of sums of so many powers: as of the kernel of one sum over lines (`emulated.rs`), and of sums of f16
/// of up to 24 sums of two, which grow evenly.
fn bound(terms: f64) -> f64 {
    let sums = terms / 2.0;
    let rounded = 2f64.powi(-11) / 3f64.sqrt() * (sums.min(24.0) / 3.0).sqrt() * (24.0 / sums).min(1.0).sqrt();
    (2f64.sqrt() * 9e-4f64.hypot(6e-4) / terms.sqrt()).hypot(2.1e-4).hypot(rounded)
}

/// Compares a case with the chain in f64: `terms` powers are in each sum.
fn check(case: &Case, terms: f64) {
    let [rms, mean] = case.errors_of(&case.run_channelised(1.0));
    let bound = bound(terms);
    println!("rms {rms:.2e} of {bound:.2e}, mean {mean:.2e}");
    assert!(rms < bound, "rms {rms:.2e}, at most {bound:.2e}");
    assert!(mean.abs() < 1e-4, "bias {mean:.2e}");
}

fn noise(frequencies: usize, pols: usize, beams: usize, [results, blocks]: [usize; 2], seed: u64) -> Case {
    Case::noise("frb_256_512_128_i4_4", [frequencies, pols, 4, 4, 256, beams], [results, blocks], seed)
}

#[test]
fn powers_of_all_outs() {
    check(&noise(1, 2, 250, [1, 2], 1), 32.0);
    let mut case = noise(2, 1, 250, [1, 1], 2);
    case.signs = SIGNED;
    case.centre = true;
    check(&case, 8.0);
}

/// Powers of more blocks than are summed in registers.
#[test]
fn powers_of_many_blocks() {
    check(&noise(1, 2, 20, [1, 4], 9), 64.0);
}

#[test]
fn polarisations_by_themselves_and_masked_blocks() {
    let mut case = noise(1, 2, 99, [2, 3], 6);
    case.summed = false;
    case.grid = 3;
    case.gap = 16;
    case.good = Some(Array2::from_shape_fn((1, 6), |(frequency, block)| (frequency + block) % 3 != 0));
    check(&case, 16.0);
}

/// Conjugates of all have the same powers, with outputs and finer channels of the other sign.
#[test]
fn powers_of_the_other_sign() {
    for centre in [false, true] {
        let case = Case { centre, ..noise(1, 2, 250, [1, 1], 3) };
        let mut other = case.clone();
        other.voltages.mapv_inplace(|voltage| voltage.conj());
        other.weights.mapv_inplace(|weight| weight.conj());
        other.map.mapv_inplace(|output| (512 - output) % 512);
        let [rms, mean] = case.errors_of(&other.run_channelised(-1.0));
        println!("rms {rms:.2e}, mean {mean:.2e}");
        assert!(rms < bound(16.0) && mean.abs() < 1e-4, "rms {rms:.2e}, mean {mean:.2e}");
    }
}

#[test]
fn nothing_good_gives_zeros() {
    let mut case = noise(1, 1, 20, [2, 2], 7);
    case.good = Some(Array2::from_elem((1, 4), false));
    assert!(case.run_channelised(1.0).iter().all(|&power| power == 0.0));
}

/// Finer channels the other way round are those of the other sign.
#[test]
fn the_sign_over_time_turns_channels_round() {
    let mut case = noise(1, 1, 40, [1, 1], 8);
    for (number, voltage) in case.voltages.iter_mut().enumerate() {
        // A tone in the middle of group 3; the other sign has it at 128 - 28, in group 12.
        let time = number / 1024;
        let angle = std::f64::consts::TAU * (3 * 8 + 4) as f64 * time as f64 / 128.0;
        *voltage = num_complex::Complex::new((7.0 * angle.cos()).round() as i8, (7.0 * angle.sin()).round() as i8);
    }
    let [negative, positive] = [-1.0, 1.0].map(|sign| case.run_channelised(sign));
    let of = |powers: &ndarray::Array5<f32>, fine: usize| powers.slice(ndarray::s![0, fine, 0, .., 0]).sum();
    let total = |powers: &ndarray::Array5<f32>| (0..16).map(|fine| of(powers, fine)).sum::<f32>();
    assert!(of(&negative, 3) > 0.9 * total(&negative));
    assert!(of(&positive, 12) > 0.9 * total(&positive));
}
