//! Chunks of any number of times give the bits of one call.

use fringes_backend::Backend;
use fringes_beamformer::{FrbStream, FrbVoltages};
use ndarray::{Array2, Axis, concatenate, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{noise, run, small};

#[test]
fn frb_streams_have_the_bits_of_one_call() {
    let beams = small();
    let (sums, length, mut rng) = (6, beams.upchannelisation(), Xoshiro256PlusPlus::seed_from_u64(1));
    let times = sums * beams.sum_times();
    let voltages = noise(&beams, times, 2);
    let mask = Array2::from_shape_simple_fn((3, times / length), || rng.random_range(0..4) > 0);
    for masked in [false, true] {
        let expected = run(&beams, &voltages, masked.then(|| mask.view()));
        for longest in [1, 15, 16, 40, 48, 150, 1000] {
            let mut stream = FrbStream::new(Backend::cpu(), beams.clone());
            let (mut powers, mut good, mut done) = (Vec::new(), Vec::new(), 0);
            while done < times {
                let count = rng.random_range(0..=longest).min(times - done);
                let blocks = done / length..(done + count) / length;
                assert_eq!(stream.blocks_ended_by(count), blocks.len());
                let chunk = FrbVoltages::new(voltages.slice(s![done..done + count, .., .., .., ..])).unwrap();
                let part = mask.slice(s![.., blocks]);
                let out = stream.push(&chunk, masked.then_some(part)).unwrap();
                done += count;
                assert_eq!(stream.pending(), done % beams.sum_times());
                powers.push(out.data);
                good.push(out.good_blocks);
            }
            let views: Vec<_> = powers.iter().map(|part| part.view()).collect();
            assert_eq!(concatenate(Axis(2), &views).unwrap(), expected.data, "{longest}");
            let views: Vec<_> = good.iter().map(|part| part.view()).collect();
            assert_eq!(concatenate(Axis(1), &views).unwrap(), expected.good_blocks, "{longest}");
        }
    }
}

#[test]
fn frb_streams_stay_as_they_were_on_an_error_and_begin_anew_on_request() {
    let beams = small();
    let voltages = noise(&beams, 2 * beams.sum_times(), 3);
    let expected = run(&beams, &voltages, None);
    let mut stream = FrbStream::new(Backend::cpu(), beams.clone());
    let part = |times: std::ops::Range<usize>| FrbVoltages::new(voltages.slice(s![times, .., .., .., ..])).unwrap();
    stream.push(&part(0..50), None).unwrap();
    assert_eq!(stream.pending(), 2);
    // One line less; and a mask of a block too many.
    let lines = FrbVoltages::new(voltages.slice(s![..50, .., .., ..2, ..])).unwrap();
    let error = stream.push(&lines, None).unwrap_err();
    assert!(error.to_string().contains("expected shape [50, 3, 2, 3, 20], found [50, 3, 2, 2, 20]"), "{error}");
    let mask = Array2::from_elem((3, 3), true);
    let error = stream.push(&part(50..80), Some(mask.view())).unwrap_err();
    assert_eq!(error.to_string(), "mask [frequency][block]: expected shape [3, 2], found [3, 3]");
    assert_eq!(stream.pending(), 2);
    let second = stream.push(&part(50..96), None).unwrap();
    assert_eq!(second.data, expected.data.slice(s![.., .., 1.., .., ..]));
    stream.push(&part(0..7), None).unwrap();
    stream.reset();
    assert_eq!((stream.pending(), stream.push(&part(0..96), None).unwrap()), (0, expected));
}
