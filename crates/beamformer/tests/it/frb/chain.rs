//! One call against the reference, within the bound that it states.

use fringes_backend::{Backend, DeviceError};
use fringes_beamformer::{BeamformerError, FrbBeams, FrbProducts, FrbVoltages, frb_beams, frb_voltages};
use fringes_fft::Sign;
use fringes_reference::frb::{FineDetection, choose, detect, line_beams, line_weights, upchannelise};
use ndarray::{Array2, Array4, Array5, ArrayView2, s};
use num_complex::Complex;

use super::{C64, U, gains, matrix, noise, run, small, to_c64};

fn reference_beams(beams: &FrbBeams, voltages: &Array5<Complex<i8>>) -> Array4<C64> {
    let x = voltages.mapv(|x| C64::new(x.re.into(), x.im.into()));
    let weights = line_weights(beams.matrix().mapv(to_c64).view(), beams.gains().mapv(to_c64).view());
    let all = line_beams(x.view(), weights.view(), beams.conjugate(), beams.padded(), beams.line_sign().value());
    choose(all.view(), beams.map().mapv(|q| q as usize).view())
}

/// The sum of `a^2` over polarisations, outs, feeds and these times of a frequency.
fn absolute(beams: &FrbBeams, voltages: &Array5<Complex<i8>>, frequency: usize, times: std::ops::Range<usize>) -> f64 {
    let mut sum = 0.0;
    for spectrum in voltages.slice(s![times, frequency, .., .., ..]).outer_iter() {
        for (pol, x) in spectrum.outer_iter().enumerate() {
            for out in 0..beams.outs() {
                for n in 0..beams.feeds() {
                    let term = |line| {
                        let value: Complex<i8> = x[(line, n)];
                        let size = f64::from(value.re).hypot(value.im.into());
                        to_c64(beams.weights()[(frequency, pol, out, line, n)]).norm() * size
                    };
                    sum += (0..beams.lines()).map(term).sum::<f64>().powi(2);
                }
            }
        }
    }
    sum
}

fn check(beams: &FrbBeams, bandpass: &[f64], normalisation: f64, mask: Option<ArrayView2<'_, bool>>) {
    let voltages = noise(beams, 2 * beams.sum_times(), 7);
    let kept = reference_beams(beams, &voltages);
    let fine = upchannelise(kept.view(), beams.upchannelisation(), beams.time_sign().value());
    let detection = FineDetection {
        group: beams.group(),
        blocks: beams.blocks(),
        per_pol: beams.products() == FrbProducts::PerPol,
        centre: beams.centre(),
        factors: bandpass.iter().map(|response| normalisation / response).collect(),
    };
    let (expected, good) = detect(fine.view(), &detection, mask);
    let found = run(beams, &voltages, mask);
    assert_eq!(found.good_blocks, good);
    assert_eq!(found.data.dim(), expected.dim());
    let largest = detection.factors.iter().copied().fold(0.0, f64::max);
    for ((frequency, time), &good) in good.indexed_iter() {
        let part = s![frequency, .., time, .., ..];
        let pairs = found.data.slice(part).into_iter().zip(expected.slice(part)).map(|(a, b)| (f64::from(*a), *b));
        let error: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
        let row = beams.map().row(frequency).to_vec();
        let most = row.iter().map(|q| row.iter().filter(|other| *other == q).count()).max().unwrap_or(0) as f64;
        let size = (beams.padded() * beams.upchannelisation()) as f64;
        let roundings = (beams.group() + beams.pols() * beams.blocks() + 6) as f64;
        let steps = 2.1 * (beams.lines() as f64 + 5.0 + 7.0 * size.log2()) + roundings;
        let times = time * beams.sum_times()..(time + 1) * beams.sum_times();
        let scale = if good == 0 { 0.0 } else { beams.blocks() as f64 / f64::from(good) };
        let bound = scale * steps * U * largest * most * size * absolute(beams, &voltages, frequency, times);
        assert!(error <= bound, "{error:e}, bound {bound:e}");
        assert!(good == 0 || bound < 0.02 * expected.slice(part).sum(), "the bound tells nothing");
    }
}

#[test]
fn frb_powers_are_within_their_bound_of_the_reference() {
    check(&small(), &[1.0; 4], 1.0, None);
    let mask = Array2::from_shape_fn((3, 6), |(frequency, block)| block >= 3 && (block + frequency) % 3 != 0);
    check(&small(), &[1.0; 4], 1.0, Some(mask.view()));
    // Everything else than the default.
    let map = Array2::from_shape_fn((2, 70), |(frequency, b)| ((7 * b + frequency) % 64) as u32);
    let bandpass = [0.5, 0.7, 1.0, 1.1, 1.0, 0.9, 0.6, 0.3];
    let other = FrbBeams::builder(gains((2, 2, 2, 33), 3), matrix((2, 3, 2), 4), 64)
        .map(map)
        .conjugate(true)
        .line_sign(Sign::Negative)
        .time_sign(Sign::Negative)
        .upchannelisation(32)
        .group(4)
        .blocks(2)
        .products(FrbProducts::PerPol)
        .bandpass(bandpass)
        .normalisation(1.0 / 48.0)
        .centre(true);
    let other = other.build().unwrap();
    assert_eq!((other.product_count(), other.fine_channels(), other.beams()), (2, 8, 210));
    check(&other, &bandpass, 1.0 / 48.0, None);
    // One polarisation, and no finer channels.
    let plain = FrbBeams::builder(gains((1, 1, 1, 64), 5), matrix((1, 1, 1), 6), 128).blocks(5).build().unwrap();
    check(&plain, &[1.0], 1.0, None);
}

#[test]
fn frb_masks_of_good_blocks_change_nothing() {
    let beams = small();
    let voltages = noise(&beams, beams.sum_times(), 8);
    let all = Array2::from_elem((3, 3), true);
    assert_eq!(run(&beams, &voltages, Some(all.view())), run(&beams, &voltages, None));
    let none = run(&beams, &voltages, Some(Array2::from_elem((3, 3), false).view()));
    assert!(none.data.iter().all(|&power| power == 0.0) && none.good_blocks.iter().all(|&good| good == 0));
}

#[test]
fn frb_parameters_can_be_taken_back_and_changed() {
    let beams = small();
    assert_eq!(beams.clone().into_builder().build().unwrap(), beams);
    let other = beams.into_builder().blocks(7).build().unwrap();
    assert_eq!(
        (other.sum_times(), other.beam(1, 63), other.beam(2, 0), other.beam(0, 64)),
        (112, Some(127), None, None)
    );
}

#[test]
fn frb_voltages_of_chosen_beams_are_within_their_bound() {
    let (beams, chosen) = (small(), [100, 3, 3, 64]);
    let voltages = noise(&beams, 21, 9);
    let of_grid = FrbVoltages::new(voltages.view()).unwrap();
    let found = frb_voltages(&Backend::cpu(), &beams, &of_grid, &chosen).unwrap();
    assert_eq!(found.dim(), (3, 21, 4, 2));
    let expected = reference_beams(&beams, &voltages);
    for ((frequency, time, number, pol), value) in found.indexed_iter() {
        let all = absolute(&beams, &voltages, frequency, time..time + 1);
        let bound = (3.0 + 5.0 + 7.0 * 6.0) * U * (64.0 * all).sqrt();
        assert!((to_c64(*value) - expected[(frequency, time, pol, chosen[number])]).norm() <= bound);
    }
    let error = frb_voltages(&Backend::cpu(), &beams, &of_grid, &[0, 128]).unwrap_err();
    assert_eq!(error.to_string(), "chosen beam: expected 0 to 127, found 128 at [1]");
}

#[test]
fn frb_memory_limits_are_kept() {
    let beams = small();
    let voltages = noise(&beams, beams.sum_times(), 10);
    let of_grid = FrbVoltages::new(voltages.view()).unwrap();
    let error = frb_beams(&Backend::cpu().with_memory_limit(1000), &beams, &of_grid, None).unwrap_err();
    assert!(matches!(error, BeamformerError::Device(DeviceError::MemoryLimit { limit: 1000, .. })), "{error}");
    // Room for one unit of work: 64 x 16 values and what transforms need.
    let limited = frb_beams(&Backend::cpu().with_memory_limit(12_000), &beams, &of_grid, None).unwrap();
    assert_eq!(limited, run(&beams, &voltages, None));
}
