//! The chain of a search for fast radio bursts: what its tests share.

mod chain;
mod detected;
mod errors;
mod presets;
mod stream;
mod voltages;

use fringes_backend::Backend;
use fringes_beamformer::{FrbBeams, FrbPowers, FrbVoltages, frb_beams};
use fringes_types::VoltageSample;
use ndarray::{Array3, Array4, Array5, ArrayView2};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// Half a unit in the last place of 1.
const U: f64 = 0.5 * f32::EPSILON as f64;

fn to_c64(value: C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

fn gains(dim: (usize, usize, usize, usize), seed: u64) -> Array4<C32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array4::from_shape_simple_fn(dim, || C32::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
}

fn matrix(dim: (usize, usize, usize), seed: u64) -> Array3<C32> {
    gains((dim.0, dim.1, dim.2, 1), seed).into_shape_with_order(dim).expect("as many")
}

/// Noise of 8 bits for so many times.
fn noise(beams: &FrbBeams, times: usize, seed: u64) -> Array5<Complex<i8>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let shape = (times, beams.frequencies(), beams.pols(), beams.lines(), beams.feeds());
    Array5::from_shape_simple_fn(shape, || Complex::new(rng.random_range(-127..=127), rng.random_range(-127..=127)))
}

/// Three frequencies, two polarisations, three lines of 20 feeds, 2 x 64 beams, 4 fine channels of 3 blocks.
fn small() -> FrbBeams {
    let builder = FrbBeams::builder(gains((3, 2, 3, 20), 1), matrix((3, 2, 3), 2), 64);
    builder.upchannelisation(16).group(4).blocks(3).centre(true).build().expect("a plan")
}

fn run<V: VoltageSample>(beams: &FrbBeams, voltages: &Array5<V>, mask: Option<ArrayView2<'_, bool>>) -> FrbPowers {
    let voltages = FrbVoltages::new(voltages).expect("voltages");
    frb_beams(&Backend::cpu(), beams, &voltages, mask).expect("powers")
}
