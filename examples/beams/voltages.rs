//! Voltages of a chunk: noise of each input's own, and the sources' waves.

use fringes::{Complex, Voltages};
use ndarray::{Array3, Axis};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::args::CHUNK;
use crate::common::Failure;
use crate::fold::is_on;
use crate::sky::Sky;

type C32 = Complex<f32>;

/// Standard deviation of the real and of the imaginary part of an input's noise.
pub(crate) const SIGMA: f64 = 14.0;
/// Spectra for which the satellite stands still, and the transmitter sends or is silent.
const STILL: usize = 64;

/// The voltages of a chunk, 8 bits.
pub(crate) fn of_chunk(sky: &Sky, chunk: usize) -> Result<Voltages<Complex<i8>>, Failure> {
    let setup = &sky.setup;
    let pulsar = sky.pulsar_at(sky.middle_s(chunk))?;
    let mut data = Array3::default((setup.channels, CHUNK, sky.inputs.len()));
    data.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(channel, mut data)| {
        let seed = setup.seed << 48 ^ (chunk as u64) << 8 ^ channel as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let scaled = |toward: [f64; 3], power: f64| -> Vec<C32> {
            let of = |wave: Complex<f64>| (wave * power.sqrt() * SIGMA).to_f32();
            sky.wave(toward, channel).into_iter().map(of).collect()
        };
        let pulsar = scaled(pulsar, setup.pulsar);
        let transmitter = scaled(sky.transmitter(), setup.transmitter);
        let mut satellite = Vec::new();
        for (time, row) in data.outer_iter_mut().enumerate() {
            let spectrum = chunk * CHUNK + time;
            if time % STILL == 0 {
                let seconds = (spectrum + STILL / 2) as f64 * setup.clock.spectrum_seconds();
                satellite = scaled(sky.satellite_at(seconds), setup.satellite);
            }
            let sends = transmits(spectrum / STILL);
            let mut signals = || [0; 2].map(|_| normal(&mut random));
            let (pulse, sent, drifting) = (signals(), signals(), signals());
            for (input, voltage) in row.into_iter().enumerate() {
                let (antenna, pol) = (input / 2, input % 2);
                let mut value = normal(&mut random) * SIGMA as f32 + satellite[antenna] * drifting[pol];
                if is_on(spectrum) {
                    value += pulsar[antenna] * pulse[pol];
                }
                if sends {
                    value += transmitter[antenna] * sent[pol];
                }
                let part = |value: f32| value.round_ties_even().clamp(-127.0, 127.0) as i8;
                *voltage = Complex::new(part(value.re), part(value.im));
            }
        }
    });
    let voltages = Voltages::new(data, sky.inputs)?.with_frequencies(setup.frequencies())?;
    Ok(voltages.with_clock(setup.clock_of(chunk))?)
}

/// Whether the transmitter sends: bursts without a pattern, half of the time.
fn transmits(block: usize) -> bool {
    (block as u64 ^ 0x5555).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1
}

fn normal(random: &mut Xoshiro256PlusPlus) -> C32 {
    Complex::new(random.sample(StandardNormal), random.sample(StandardNormal))
}

trait ToF32 {
    fn to_f32(self) -> C32;
}

impl ToF32 for Complex<f64> {
    fn to_f32(self) -> C32 {
        Complex::new(self.re as f32, self.im as f32)
    }
}
