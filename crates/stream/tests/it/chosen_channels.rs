//! Channels that are left out of dumps from a sample on.

use fringes_backend::Backend;
use fringes_correlator::{Bins, Integrator};
use fringes_f_engine::f_engine;
use fringes_interference::power_sums;
use fringes_stream::sink::{MemorySink, Overflow, Product, Sums};
use fringes_stream::source::Source;
use fringes_stream::{Fx, StreamError};
use fringes_types::{ChannelMask, Complex, Heaps, Visibilities, VoltageSample};
use ndarray::{Array2, s};

use crate::masks::{BLOCK, disturbed, disturbed_source, masker};
use crate::support::{FRAME, Gate, SPECTRA, block, dumps, engine, info, inputs, noise, schedule, whole};

const CHANNELS: usize = 64;

type Fx8 = Fx<Complex<i8>>;
type Changes<'a> = &'a [(u64, &'a [usize])];

/// Starts an instrument whose changes are all there before the first chunk, and waits for its end.
fn run<V: fringes_stream::StreamSample>(
    fx: Fx<V>,
    source: impl Source + 'static,
    changes: Changes<'_>,
) -> Result<fringes_stream::Report, StreamError> {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let running = fx.start(Gate { source, wait: Some(wait) }).unwrap();
    for (sample, channels) in changes {
        running.control().set_masked_channels(*sample, channels.to_vec());
    }
    go.send(()).unwrap();
    running.join().into_result()
}

/// Whether a channel of a block that begins with a sample is left out.
fn is_out(changes: Changes<'_>, begins: u64, channel: usize) -> bool {
    let last = changes.iter().filter(|&&(sample, _)| sample <= begins).max_by_key(|&&(sample, _)| sample);
    last.is_some_and(|(_, channels)| channels.contains(&channel))
}

/// Heaps with zeros in place of what is left out.
fn zeroed<V: VoltageSample + Default>(heaps: &Heaps<V>, changes: Changes<'_>) -> Heaps<V> {
    let mut data = heaps.data().to_owned();
    for batch in 0..heaps.batches() {
        let begins = heaps.clock().first_sample + batch as u64 * FRAME;
        for channel in (0..CHANNELS).filter(|&channel| is_out(changes, begins, channel)) {
            data.slice_mut(s![batch, .., channel, .., ..]).fill(V::default());
        }
    }
    let flags = heaps.presence().unwrap().to_owned();
    let heaps = Heaps::new(data).unwrap().with_clock(heaps.clock()).unwrap();
    heaps.with_frequencies(plan_frequencies()).unwrap().with_presence(flags).unwrap()
}

fn plan_frequencies() -> fringes_types::Frequencies {
    fringes_channelizer::Channelizer::real(CHANNELS).taps(4).build().unwrap().frequencies(1e6, None)
}

/// Spectra of a dump in which both antennas were present and the channel was kept.
fn valid(heaps: &Heaps<Complex<i8>>, changes: Changes<'_>, dump: u64, frames: u64, at: (usize, [usize; 2])) -> u64 {
    let flags = heaps.presence().unwrap();
    let (channel, antennas) = at;
    let kept = (0..heaps.batches()).filter(|&batch| {
        let begins = heaps.clock().first_sample + batch as u64 * FRAME;
        begins / (frames * FRAME) == dump
            && antennas.iter().all(|&antenna| flags[(batch, antenna)])
            && !is_out(changes, begins, channel)
    });
    kept.count() as u64 * SPECTRA
}

/// Antennas of a baseline of the packed lower triangle of four inputs.
fn antennas(baseline: usize) -> [usize; 2] {
    let a = (0..4).find(|a| (a + 1) * (a + 2) / 2 > baseline).unwrap();
    [a / 2, (baseline - a * (a + 1) / 2) / 2]
}

/// Chunks of noise, without those in which a packet of the second antenna was lost.
fn lossy(times: usize, end: u64) -> (fringes_stream::SampleBlock, impl Source + 'static) {
    let lost = |time: u64| (5000..5100).contains(&time) || (9 * FRAME..11 * FRAME).contains(&time);
    let of = move |first: u64, times: usize| {
        let flags = Array2::from_shape_fn((4, times), |(input, time)| input < 2 || !lost(first + time as u64));
        let flags = fringes_types::SamplePresence::new(1, flags).unwrap();
        Ok::<_, fringes_stream::BoxError>(block(first, times).with_presence(flags)?)
    };
    let chunks = (0..end.div_ceil(times as u64)).map(move |chunk| {
        let first = chunk * times as u64;
        Ok(fringes_stream::source::Received::Samples(of(first, times.min((end - first) as usize))?))
    });
    (of(0, end as usize).unwrap(), fringes_stream::source::Blocks::new(info(end), chunks))
}

#[test]
fn sums_and_counts_are_those_without_the_channels_whatever_the_chunks() {
    let (end, frames) = (24 * FRAME, 5);
    // Within a dump, at the start of a frame and within one, a set after a set, and an end.
    let changes: Changes<'_> = &[(7 * FRAME + 5, &[3, 32]), (11 * FRAME, &[63, 32, 0]), (17 * FRAME - 1, &[])];
    let (all, _) = lossy(1000, end);
    let frames_of = f_engine::<Complex<i8>>(&Backend::cpu(), all.as_chunk(), engine()).unwrap().frames;
    let heaps = &frames_of[0].voltages;
    assert!(heaps.presence().unwrap().iter().any(|&present| !present), "packets were lost");
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(frames), inputs(), CHANNELS).unwrap();
    let mut expected = integrator.push(&zeroed(heaps, changes)).unwrap();
    expected.extend(integrator.finish().unwrap());
    let kept = crate::support::in_one_call(all.as_chunk(), engine(), frames);
    assert_ne!(expected[2].data(), kept[2].data());
    for times in [1000, 128, 3 * FRAME as usize, 20_000] {
        let (sink, products) = MemorySink::new();
        let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(frames)).sink(sink, Overflow::Block);
        let report = run(fx, lossy(times, end).1, changes).unwrap();
        let actual = dumps(&products, 0);
        assert_eq!(actual.len(), expected.len());
        for (number, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
            assert_eq!((actual.data(), actual.clock()), (expected.data(), expected.clock()), "chunks of {times}");
            // Masked spectra are no missing ones.
            assert_eq!(actual.valid_samples(), kept[number].valid_samples());
            for ((channel, baseline), _) in actual.data().indexed_iter() {
                let of = valid(heaps, changes, number as u64, frames, (channel, antennas(baseline)));
                assert_eq!(actual.valid(channel, baseline), of, "dump {number}, {channel}, {baseline}");
            }
        }
        // Dumps of which nothing is left out have no counts of it.
        assert_eq!(
            [0, 1, 2, 3, 4].map(|dump| actual[dump].masked_samples().is_some()),
            [false, true, true, true, false]
        );
        // Frames 8 to 10, and 11 to 16.
        assert_eq!(report.masked, [3 * 2 + 6 * 3, (heaps.batches() * CHANNELS) as u64]);
    }
}

#[test]
fn a_masker_leaves_out_what_it_finds_beside_them_and_bins_and_subsets_follow() {
    let end = 400 * FRAME;
    let block = BLOCK as u64 * FRAME / SPECTRA;
    let changes: Changes<'_> = &[(block - 9, &[7, 32]), (2 * block + 1, &[9]), (5 * block, &[])];
    let whole = disturbed(0, end as usize);
    let frames = f_engine::<Complex<i8>>(&Backend::cpu(), whole.as_chunk(), engine()).unwrap().frames.remove(0);
    let found = masker().mask(&power_sums(&Backend::cpu(), &frames.voltages, BLOCK).unwrap()).unwrap().mask;
    let mut both = found.masked().to_owned();
    for ((channel, number), masked) in both.indexed_iter_mut() {
        *masked |= is_out(changes, number as u64 * block, channel);
    }
    let masked = [found.masked(), both.view()].map(|of| of.iter().filter(|&&masked| masked).count() as u64);
    // Channel 7 of block 1 and 2, channel 9 of 3 and 4, and 32 where the tone is not.
    assert!((4..=6).contains(&(masked[1] - masked[0])), "{masked:?}");
    let cells = both.len() as u64;
    let mask = ChannelMask::new(both, BLOCK, found.clock()).unwrap();
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(96), inputs(), CHANNELS).unwrap();
    let mut expected = integrator.push_masked(&frames.voltages, &mask).unwrap();
    expected.extend(integrator.finish().unwrap());
    for times in [1000, 300_000] {
        let (sink, products) = MemorySink::new();
        let bins = Bins::table(2, 3, vec![Some(1), Some(0), Some(0)]).unwrap();
        let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(96)).cadence_of(schedule(96), vec![1]);
        let fx = fx.bins(schedule(96), bins).mask(masker(), BLOCK).sink(sink, Overflow::Block);
        let report = run(fx, disturbed_source(times, end), changes).unwrap();
        assert_eq!(report.masked, [masked[1], cells]);
        let of: Vec<(usize, Visibilities<Complex<i64>>)> = products
            .take()
            .into_iter()
            .filter_map(|product| match product {
                Product::Dump(dump) => match &dump.sums {
                    Sums::Integers(sums) => Some((dump.cadence, sums.clone())),
                    Sums::Floats(_) => None,
                },
                _ => None,
            })
            .collect();
        let of = |cadence: usize| of.iter().filter(move |(of, _)| *of == cadence).map(|(_, sums)| sums);
        assert_eq!([0, 1, 2].map(|cadence| of(cadence).count()), [1, 1, 2].map(|each| each * expected.len()));
        let bins: Vec<_> = of(2).collect();
        for (number, expected) in expected.iter().enumerate() {
            let [all, some] = [0, 1].map(|cadence| of(cadence).nth(number).unwrap());
            assert_eq!(all.data(), expected.data(), "chunks of {times}");
            for channel in 0..CHANNELS {
                // Inputs 2 and 3 of all are 0 and 1 of the second antenna alone.
                for (baseline, part) in [(5, 0), (8, 1), (9, 2)] {
                    assert_eq!(all.valid(channel, baseline), expected.valid(channel, baseline));
                    assert_eq!(some.valid(channel, part), expected.valid(channel, baseline), "{channel} {part}");
                    assert_eq!(some.data()[(channel, part)], expected.data()[(channel, baseline)]);
                    let in_bins: u64 = (0..2).map(|bin| bins[2 * number + bin].valid(channel, baseline)).sum();
                    assert_eq!(in_bins, expected.valid(channel, baseline));
                }
            }
        }
    }
}

#[test]
fn sums_of_floats_have_the_bits_of_sums_without_the_channels() {
    let end = 8 * FRAME + 600;
    let changes: Changes<'_> = &[(6 * FRAME, &[4])];
    let (sink, products) = MemorySink::new();
    let fx = Fx::<Complex<f32>>::new(&Backend::cpu(), engine());
    let fx = fx.cadence(schedule(8)).sink(sink, Overflow::Block);
    // One chunk: sums of floats depend on where chunks are cut.
    run(fx, noise(end as usize, end), changes).unwrap();
    let Some(Product::Dump(dump)) = products.take().into_iter().next() else { panic!("a dump") };
    let Sums::Floats(sums) = &dump.sums else { panic!("floats") };
    assert_eq!([sums.valid(3, 0), sums.valid(4, 0)], [8 * SPECTRA, 6 * SPECTRA]);
    let all = whole(&[block(0, end as usize)], end);
    let frames = f_engine::<Complex<f32>>(&Backend::cpu(), all.as_chunk(), engine()).unwrap().frames.remove(0);
    let mut integrator = Integrator::<Complex<f32>>::new(&Backend::cpu(), schedule(8), inputs(), CHANNELS).unwrap();
    let expected = integrator.push(&zeroed(&frames.voltages, changes)).unwrap();
    assert_eq!(sums.data(), expected[0].data());
}

#[test]
fn a_channel_that_there_is_not_ends_the_run() {
    let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(2));
    let error = run(fx, noise(777, 9 * FRAME), &[(40 * FRAME, &[63, 64])]).unwrap_err();
    let due = 40 * FRAME;
    assert!(matches!(&error, StreamError::Change { what: "masked channels", sample, .. } if *sample == due), "{error}");
    assert!(error.to_string().contains("expected channels of 0..64, found 64"), "{error}");
}
