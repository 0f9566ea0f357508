//! Masked channels and bins in an instrument.

use fringes_backend::Backend;
use fringes_correlator::{BinnedIntegrator, Bins, Integrator};
use fringes_f_engine::f_engine;
use fringes_interference::{Masker, power_sums};
use fringes_stream::sink::{Collected, MemorySink, Overflow, Product, Sums};
use fringes_stream::source::{Blocks, Received};
use fringes_stream::{Fx, SampleBlock, StreamError};
use fringes_types::{Complex, Samples, Visibilities};
use ndarray::Array2;

use crate::support::{FRAME, engine, info, inputs, noise, sample, schedule};

/// Spectra of a block: 64 frames.
pub(crate) const BLOCK: usize = 256;

/// Noise with a tone that comes and goes in the middle of the band.
pub(crate) fn disturbed(first: u64, times: usize) -> SampleBlock {
    let data = Array2::from_shape_fn((inputs().len(), times), |(input, time)| {
        let time = first + time as u64;
        // On for an eighth of the time, in bursts of 2048 samples.
        let on = if time / 2048 % 8 == 0 { 60.0 } else { 0.0 };
        let tone = on * (std::f64::consts::TAU * 0.25 * time as f64).cos();
        (f64::from(sample(input, time)) / 2.0 + tone).round().clamp(-127.0, 127.0) as i8
    });
    Samples::new(data, inputs()).unwrap().with_first_sample(first).with_sample_rate(1e6).unwrap().into()
}

pub(crate) fn disturbed_source(
    times: usize,
    end: u64,
) -> Blocks<impl Iterator<Item = Result<Received, fringes_stream::BoxError>> + Send> {
    let chunks = (0..end.div_ceil(times as u64)).map(move |chunk| {
        let first = chunk * times as u64;
        Ok(Received::Samples(disturbed(first, times.min((end - first) as usize))))
    });
    Blocks::new(info(end), chunks)
}

pub(crate) fn masker() -> Masker {
    Masker::new(1e-4).unwrap()
}

fn sums(products: &Collected) -> Vec<(usize, Option<usize>, Visibilities<Complex<i64>>)> {
    let of = |product: Product| match product {
        Product::Dump(dump) => match &dump.sums {
            Sums::Integers(sums) => Some((dump.cadence, dump.bin, sums.clone())),
            Sums::Floats(_) => None,
        },
        _ => None,
    };
    products.take().into_iter().filter_map(of).collect()
}

#[test]
fn masked_dumps_are_those_of_one_masked_call_whatever_the_chunks() {
    let end = 400 * FRAME;
    let whole = disturbed(0, end as usize);
    let frames = f_engine::<Complex<i8>>(&Backend::cpu(), whole.as_chunk(), engine()).unwrap().frames.remove(0);
    let powers = power_sums(&Backend::cpu(), &frames.voltages, BLOCK).unwrap();
    let mask = masker().mask(&powers).unwrap().mask;
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(96), inputs(), 64).unwrap();
    let mut expected = integrator.push_masked(&frames.voltages, &mask).unwrap();
    expected.extend(integrator.finish().unwrap());
    // The tone's channel is masked, most others are not.
    let tone = mask.masked().row(32).iter().filter(|&&masked| masked).count();
    assert!(tone + 1 >= mask.blocks() && mask.masked_share() < 0.2, "{tone} of {}", mask.blocks());
    for times in [1000, 50_000, 300_000] {
        let (sink, products) = MemorySink::new();
        let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(96)).mask(masker(), BLOCK);
        let running = fx.sink(sink, Overflow::Block).start(disturbed_source(times, end)).unwrap();
        let report = running.join().into_result().unwrap();
        let actual = sums(&products);
        assert_eq!(actual.len(), expected.len());
        for ((_, _, actual), expected) in actual.iter().zip(&expected) {
            assert_eq!(actual.data(), expected.data(), "chunks of {times}");
            assert_eq!((actual.clock(), actual.times()), (expected.clock(), expected.times()));
            for ((channel, baseline), _) in actual.data().indexed_iter() {
                let valid = [actual, expected].map(|dump| dump.valid(channel, baseline));
                assert_eq!(valid[0], valid[1], "channel {channel}, baseline {baseline}");
            }
            assert!(actual.valid(32, 0) < actual.valid(5, 0));
        }
        let masked = mask.masked().iter().filter(|&&masked| masked).count() as u64;
        assert_eq!(report.masked, [masked, mask.masked().len() as u64]);
    }
}

#[test]
fn bins_beside_a_cadence_add_up_to_it() {
    let end = 120 * FRAME;
    let bins = || Bins::table(2, 3, vec![Some(1), Some(0), Some(0)]).unwrap();
    let whole = crate::support::whole(&[crate::support::block(0, end as usize)], end);
    let frames = f_engine::<Complex<i8>>(&Backend::cpu(), whole.as_chunk(), engine()).unwrap().frames.remove(0);
    let mut integrator =
        BinnedIntegrator::<Complex<i8>>::new(&Backend::cpu(), schedule(20), bins(), inputs(), 64).unwrap();
    let mut expected = integrator.push(&frames.voltages).unwrap();
    expected.extend(integrator.finish().unwrap());
    let (sink, products) = MemorySink::new();
    let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(20)).bins(schedule(20), bins());
    let running = fx.sink(sink, Overflow::Block).start(noise(3000, end)).unwrap();
    running.join().into_result().unwrap();
    let all = sums(&products);
    let of_bin = |bin: usize| all.iter().filter(move |dump| dump.1 == Some(bin)).collect::<Vec<_>>();
    let plain: Vec<_> = all.iter().filter(|dump| dump.1.is_none()).collect();
    assert_eq!(of_bin(0).len(), expected.len());
    for (number, expected) in expected.iter().enumerate() {
        let [first, second] = [0, 1].map(|bin| of_bin(bin)[number]);
        assert_eq!([first.0, second.0, plain[number].0], [1, 1, 0]);
        assert_eq!((&first.2, &second.2), (&expected.bins[0], &expected.bins[1]));
        assert_eq!(&first.2.data() + &second.2.data(), plain[number].2.data());
    }
}

#[test]
fn blocks_that_are_no_whole_frames_are_refused() {
    let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(2));
    let error = fx.mask(masker(), 6).start(noise(512, 512)).unwrap_err();
    assert!(matches!(error, StreamError::Plan { what: "spectra of a masker's block", .. }), "{error}");
}
