//! 32768 channels against the reference's filter, rotation and dither in f64, with a transform by halves in place of
//! its sums over all samples.

use fringes::{Backend, Complex, FrameSample, Frames, Heaps};
use fringes_reference::delay::{rotate, split};
use fringes_reference::dft::root_of_unity;
use fringes_reference::dither::dither;
use fringes_reference::pfb::pfb_fir;
use fringes_reference::quantiser::quantise_value;
use num_complex::Complex64 as C64;

use super::case::{Case, Fault, packed, typed};
use super::check::TIE;
use super::{COMPLEX, NAMES};
use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

/// Delay and phase of each input: without rates, so that the model's value is known.
const DELAYS: [[f64; 4]; 2] = [[-37.3, 0.0, 0.11, 0.0], [12.4, 0.0, -0.23, 0.0]];

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    if session.quick || !session.wants(NAMES[0]) {
        return Ok(());
    }
    let complex = COMPLEX.map(|format| typed(format, true));
    for format in [8, 10].map(packed).into_iter().chain(complex) {
        let case = Case {
            spectra: 4,
            spectra_per_frame: 2,
            dither: Some(3),
            delays: DELAYS.to_vec(),
            ..Case::new(1 << 15, format, 16)
        };
        let sizes =
            params([("channels", case.channels), ("taps", case.taps), ("inputs", 2), ("spectra", case.spectra)]);
        session.case(NAMES[0], format!("{format}, f64 reference"), sizes, |session| {
            let verdict = run(&Backend::on(session.device.clone()), &case).map_err(|fault| fault.to_string());
            Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "the f64 reference", verdict })
        })?;
    }
    Ok(())
}

/// `sum_n x[n] exp(-2 pi i k n / N)` of a power of two of points.
fn transform(x: &[C64]) -> Vec<C64> {
    let points = x.len();
    if points == 1 {
        return x.to_vec();
    }
    let half = |first: usize| transform(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned = |k: usize| odd[k % odd.len()] * root_of_unity(k as u64, points as u64).conj();
    (0..points).map(|k| even[k % even.len()] + turned(k)).collect()
}

fn run(gpu: &Backend, case: &Case) -> Result<(), Fault> {
    let samples = case.samples()?;
    let whole = case.cuts(&[samples.ncols()])?;
    let floats = case.streamed::<Complex<f32>>(gpu, &samples, &whole)?.frames;
    let integers = case.streamed::<Complex<i8>>(gpu, &samples, &whole)?.frames;
    let (plan, gains) = (case.plan()?, case.gains());
    let gain = gains.iter().fold(0f64, |largest, gain| largest.max(f64::from(gain.norm())));
    let full_scale = gain * case.half() * case.parts().sqrt() * plan.weights().iter().sum::<f64>().abs();
    let value = |x: Complex<f32>| C64::new(x.re.into(), x.im.into());
    let mut spectra = 0;
    for (stamp, input, float) in present(&floats) {
        let Some((.., integer)) = present(&integers).into_iter().find(|(s, i, _)| (*s, *i) == (stamp, input)) else {
            return Err(format!("no spectrum {stamp} of integers").into());
        };
        let [delay, _, phase, _] = DELAYS[input];
        let (coarse, fine) = split(delay);
        let start = (stamp as i64 - coarse - case.first as i64) as usize;
        let x: Vec<C64> =
            samples.row(input).iter().skip(start).take(plan.window_samples()).map(|&x| value(x)).collect();
        let filtered: Vec<C64> = pfb_fir(&x, plan.weights(), plan.step(), 0, 1).iter().copied().collect();
        let mut expected = transform(&filtered);
        expected.truncate(case.channels);
        if plan.is_complex() {
            expected.rotate_right(case.channels / 2);
        }
        rotate(&mut expected, coarse, fine, phase, plan.is_complex());
        for (channel, x) in expected.into_iter().enumerate() {
            let exact = x * value(gains[(channel, input)]);
            let error = (exact - value(float[channel])).norm();
            if error.is_nan() || error > 1e-5 * full_scale {
                let what = format!("spectrum {stamp}, channel {channel}, input {input}");
                return Err(format!("{what}: expected {exact}, got {}", float[channel]).into());
            }
            let number = stamp / plan.stride() as u64;
            let exact = exact + dither(case.dither.unwrap_or(0), number, input as u32, channel as u32);
            let found = C64::new(integer[channel].re.into(), integer[channel].im.into());
            for (exact, found) in [(exact.re, found.re), (exact.im, found.im)] {
                let tie = (exact.clamp(-127.0, 127.0).fract().abs() - 0.5).abs() < TIE;
                if found != quantise_value(exact, 127.0) && !tie {
                    let what = format!("spectrum {stamp}, channel {channel}, input {input}");
                    return Err(format!("{what}: expected {exact} rounded, got {found}").into());
                }
            }
        }
        spectra += 1;
    }
    // Frames begin at whole ones, so that fewer come out than the stream has.
    if spectra < case.spectra { Err(format!("only {spectra} spectra").into()) } else { Ok(()) }
}

/// Spectra that are there: stamp, input, values by channel.
fn present<Q: FrameSample>(pieces: &[Frames<Heaps<Q>>]) -> Vec<(u64, usize, Vec<Q>)> {
    let mut all = Vec::new();
    for piece in pieces {
        let (frames, antennas, channels, spectra, pols) = piece.voltages.data().dim();
        for time in 0..frames * spectra {
            for input in (0..antennas * pols).filter(|&input| piece.spectra_present[(time, input)]) {
                let at = |channel| (time / spectra, input / pols, channel, time % spectra, input % pols);
                let values = (0..channels).map(|channel| piece.voltages.data()[at(channel)]).collect();
                all.push((piece.voltages.clock().sample_of(time), input, values));
            }
        }
    }
    all
}
