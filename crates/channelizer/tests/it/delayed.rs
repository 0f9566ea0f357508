//! A stream with delays against the two halves of a delay by themselves.

use fringes_backend::Backend;
use fringes_channelizer::{Channelizer, ChannelizerStream, channelize};
use fringes_delay::{DelayModel, FineRotation, Windows, channel_phases, rotate, shift};
use fringes_types::{Inputs, Samples};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn shifted_and_rotated_spectra_are_those_of_a_delayed_stream() {
    let backend = Backend::cpu();
    let inputs = Inputs::single_pol(3).unwrap();
    let models =
        [(0.0, 0.1), (37.3, 0.2), (5.5, -0.3)].map(|(delay, phase)| DelayModel::constant(delay, phase).unwrap());
    let coarse: Vec<i64> = models.iter().map(|model| model.evaluate(0).coarse).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let samples = Array2::from_shape_simple_fn((3, 4096), || random.random_range(-1.0f32..1.0));
    let samples = Samples::new(samples, inputs).unwrap();
    let plan = Channelizer::real(32).taps(4).build().unwrap();

    let mut stream =
        ChannelizerStream::new(&backend, plan.clone(), inputs).unwrap().with_delays(models.to_vec()).unwrap();
    let delayed = stream.push(&samples).unwrap().unwrap();

    let shifted = shift(&backend, &samples, &coarse).unwrap();
    let spectra = channelize(&backend, &shifted, &plan).unwrap();
    let phases = channel_phases(&models, spectra.clock(), spectra.times(), 32, false, Windows::Moved).unwrap();
    let rotated = rotate(&backend, &spectra, &FineRotation::new(phases)).unwrap().values;

    let late = (delayed.clock().first_sample / 64) as usize;
    let times = delayed.times().min(rotated.times() - late);
    assert!(times > 50);
    // Both filter and transform the same samples. The stream's rotation adds (2 + 2 sqrt 5) u of a spectrum's 2-norm,
    // the fine rotation, of f64, a rounding to f32 and the error of the fixed point phases.
    let u = f64::from(f32::EPSILON) / 2.0;
    let bound = (2.0 + 2.0 * 5f64.sqrt() + 1.0) * u + 1e-12;
    for time in 0..times {
        for input in 0..3 {
            let (mut apart, mut norm) = (0.0, 0.0);
            for channel in 0..32 {
                let expected = delayed.data()[(channel, time, input)];
                apart += f64::from((rotated.data()[(channel, time + late, input)] - expected).norm_sqr());
                norm += f64::from(expected.norm_sqr());
            }
            assert!(norm > 0.0 && apart.sqrt() <= bound * norm.sqrt(), "{time} {input}: {apart} of {norm}");
        }
    }
}
