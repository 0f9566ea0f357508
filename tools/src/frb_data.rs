//! FRB beams in f64, and the judgement of what a GPU makes of them.

use std::ops::Range;

use fringes::Complex;
use fringes::beamformer::{FrbBeams, FrbProducts};
use fringes_reference::frb::{FineDetection, choose, detect, line_beams, line_weights, upchannelise};
use ndarray::{Array2, Array4, Array5, ArrayView2, ArrayView5, Axis, s};
use num_complex::Complex64 as C64;

/// Powers `[frequency][fine][time][beam][product]` in f64 of some of the frequencies, and their good blocks, of
/// voltages and a mask of these frequencies.
pub(crate) fn expected(
    beams: &FrbBeams,
    frequencies: Range<usize>,
    voltages: ArrayView5<'_, C64>,
    mask: Option<ArrayView2<'_, bool>>,
) -> (Array5<f64>, Array2<u32>) {
    let wide = |x: &Complex<f32>| C64::new(x.re.into(), x.im.into());
    let matrix = beams.matrix().slice(s![frequencies.clone(), .., ..]).map(wide);
    let gains = beams.gains().slice(s![frequencies.clone(), .., .., ..]).map(wide);
    let map = beams.map().slice(s![frequencies, ..]).mapv(|q| q as usize);
    let weights = line_weights(matrix.view(), gains.view());
    let all = line_beams(voltages, weights.view(), beams.conjugate(), beams.padded(), beams.line_sign().value());
    let fine = upchannelise(choose(all.view(), map.view()).view(), beams.upchannelisation(), beams.time_sign().value());
    let detection = FineDetection {
        group: beams.group(),
        blocks: beams.blocks(),
        per_pol: beams.products() == FrbProducts::PerPol,
        centre: beams.centre(),
        factors: beams.factors().iter().map(|&factor| factor.into()).collect(),
    };
    detect(fine.view(), &detection, mask)
}

/// Whether powers are within the bounds of noise, and 0 where no block is good; and their errors, as text.
///
/// # Bounds
/// A voltage has an error of 9e-4 of its rms at most, as FFT beams have, and that of the transform over time, 6e-4: its
/// power is off by twice that times a number of variance 1/2, and a mean of `terms` by that over their root. Beside it
/// every beam has a gain of its own, where phases of 45 degrees are rounded: 2.1e-4. By products of matrices the
/// numbers of the matrix are rounded by themselves, which are as many as lines. Of CHIME's shape sums of two powers are
/// added as f16, up to 24. All of it is relative to the mean over beams, as a power of few terms may be small. The mean
/// of all errors is below 1e-4.
pub(crate) fn judge(
    beams: &FrbBeams,
    by_products: bool,
    found: ArrayView5<'_, f32>,
    expected: &Array5<f64>,
    good: &Array2<u32>,
) -> (Result<(), String>, String) {
    if found.dim() != expected.dim() {
        return (Err(format!("expected powers of shape {:?}, got {:?}", expected.dim(), found.dim())), String::new());
    }
    let (mut squares, mut sum, mut count) = (0.0, 0.0, 0usize);
    for (found, expected) in found.lanes(Axis(3)).into_iter().zip(expected.lanes(Axis(3))) {
        let mean = expected.mean().unwrap_or(0.0);
        if mean == 0.0 {
            if found.iter().any(|&power| power != 0.0) {
                return (Err("a sum of no good block is not 0".into()), String::new());
            }
            continue;
        }
        for (found, expected) in found.iter().zip(expected) {
            let error = (f64::from(*found) - expected) / mean;
            squares += error * error;
            sum += error;
            count += 1;
        }
    }
    let pols = beams.pols() / beams.product_count();
    let fewest = good.iter().copied().filter(|&good| good > 0).min().unwrap_or(1);
    let terms = (beams.group() * pols) as f64 * f64::from(fewest);
    let matrix = if by_products { 2f64.powi(-10) / 3f64.sqrt() / (beams.lines() as f64).sqrt() } else { 0.0 };
    let as_f16 = !by_products
        && (beams.lines(), beams.feeds(), beams.padded(), beams.outs()) == (4, 256, 512, 4)
        && (beams.upchannelisation(), beams.group()) == (128, 8);
    let sums = (beams.group() * pols * beams.blocks()) as f64 / 2.0;
    // Sums that grow evenly, in parts of up to 24.
    let rounded = 2f64.powi(-11) / 3f64.sqrt() * (sums.min(24.0) / 3.0 * (24.0 / sums).min(1.0)).sqrt();
    let sums_error = if as_f16 { rounded } else { 0.0 };
    let most_rms = (2f64.sqrt() * 9e-4f64.hypot(6e-4) / terms.sqrt()).hypot(2.1e-4).hypot(matrix).hypot(sums_error);
    let most_bias = 1e-4;
    let (rms, bias) = ((squares / count.max(1) as f64).sqrt(), sum / count.max(1) as f64);
    let text = format!("rms {rms:.2e}, mean {bias:.2e} of the powers' mean over beams");
    // NaN is within nothing.
    let within = rms <= most_rms && bias.abs() <= most_bias;
    match within {
        true => (Ok(()), text),
        false => (Err(format!("expected rms {most_rms:.2e} and mean {most_bias:.0e} at most, found {text}")), text),
    }
}

/// Voltages `[frequency][time][chosen][pol]` of some beams in f64.
pub(crate) fn expected_voltages(beams: &FrbBeams, chosen: &[usize], voltages: ArrayView5<'_, C64>) -> Array4<C64> {
    let wide = |x: &Complex<f32>| C64::new(x.re.into(), x.im.into());
    let weights = line_weights(beams.matrix().map(wide).view(), beams.gains().map(wide).view());
    let all = line_beams(voltages, weights.view(), beams.conjugate(), beams.padded(), beams.line_sign().value());
    let all = choose(all.view(), beams.map().mapv(|q| q as usize).view());
    let dim = (beams.frequencies(), voltages.dim().0, chosen.len(), beams.pols());
    Array4::from_shape_fn(dim, |(frequency, time, number, pol)| all[(frequency, time, pol, chosen[number])])
}
