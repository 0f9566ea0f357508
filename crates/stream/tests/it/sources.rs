//! Sources: polarisations that come apart, cuts of chunks.

use fringes_stream::SampleBlock;
use fringes_stream::source::{Antennas, Blocks, PairPolarisations, Received, Source, SourceInfo};
use fringes_types::{Inputs, PackedSamples, SamplePresence, Samples};
use ndarray::{Array2, s};

fn pol(first: u64, times: usize, pol: i8, absent: bool) -> Received {
    let inputs = Inputs::single_pol(2).unwrap();
    let data = Array2::from_shape_fn((2, times), |(antenna, time)| 10 * antenna as i8 + pol + (time % 3) as i8);
    let samples = Samples::new(data, inputs).unwrap().with_first_sample(first).with_sample_rate(1e6).unwrap();
    let flags = SamplePresence::new(10, Array2::from_elem((2, times.div_ceil(10)), !absent)).unwrap();
    Received::Samples(if absent { samples.with_presence(flags).unwrap() } else { samples }.into())
}

fn source(chunks: Vec<Received>) -> Blocks<impl Iterator<Item = Result<Received, fringes_stream::BoxError>> + Send> {
    let info = SourceInfo {
        label: "one".into(),
        inputs: Inputs::single_pol(2).unwrap(),
        sample_rate_hz: 1e6,
        sample_zero: None,
        end_sample: None,
    };
    Blocks::new(info, chunks.into_iter().map(Ok))
}

#[test]
fn polarisations_are_paired_and_what_never_matches_is_counted() {
    let x = source(vec![pol(0, 40, 1, false), Received::Idle, pol(40, 40, 1, false), pol(80, 40, 1, true)]);
    let y = source(vec![pol(40, 40, 5, false), pol(60, 20, 5, false), pol(80, 40, 5, false), pol(120, 40, 5, false)]);
    let mut pair = PairPolarisations::new(x, y).unwrap();
    let mut chunks = Vec::new();
    while let Some(received) = pair.next().unwrap() {
        if let Received::Samples(SampleBlock::Int8(samples)) = received {
            chunks.push(samples);
        }
    }
    assert_eq!(chunks.iter().map(|chunk| chunk.first_sample()).collect::<Vec<_>>(), [40, 80]);
    assert_eq!(chunks[0].inputs(), Inputs::new(2, 2).unwrap());
    assert_eq!(chunks[0].data().slice(s![.., 1]).to_vec(), [2, 6, 12, 16]);
    let flags = chunks[1].presence().unwrap();
    assert_eq!((0..4).map(|input| flags.is_present(input, 25)).collect::<Vec<_>>(), [false, true, false, true]);
    // 0..40 of x and 60..80 of y; the last of y is not asked for, as x has ended.
    assert_eq!(pair.counts().unmatched, 2);
}

#[test]
fn sources_of_other_rates_or_antennas_are_not_paired() {
    let mut other = source(vec![]).info().clone();
    other.sample_rate_hz = 2e6;
    let error = PairPolarisations::new(source(vec![]), Blocks::new(other, std::iter::empty())).unwrap_err();
    let expected = "expected a second polarisation as the first, 2 antennas of 1 polarisations at 1000000 Hz, of one \
                    polarisation each from the source, found 2 antennas of 1 polarisations at 2000000 Hz";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_chunk_that_is_cut_keeps_samples_flags_and_stamps() {
    let inputs = Inputs::single_pol(3).unwrap();
    let values = Array2::from_shape_fn((3, 96), |(input, time)| (input as i16 * 100 + time as i16) - 200);
    let flags = Array2::from_shape_fn((3, 4), |(input, at)| (input + at) % 3 != 0);
    let presence = SamplePresence::new(24, flags).unwrap();
    let packed = PackedSamples::pack(values.view(), 10, inputs).unwrap().with_first_sample(1000);
    let block = SampleBlock::from(packed.with_presence(presence.clone()).unwrap());
    for cut in [0, 8, 32, 48, 88, 96] {
        let [first, second] = block.clone().split_at(cut).unwrap();
        assert_eq!((first.first_sample(), first.times()), (1000, cut));
        assert_eq!((second.first_sample(), second.times()), (1000 + cut as u64, 96 - cut));
        for (part, from) in [(first, 0), (second, cut)] {
            let SampleBlock::Packed(part) = part else { panic!("packed") };
            for ((input, time), &value) in part.unpack().unwrap().data().indexed_iter() {
                assert_eq!(value, values[(input, from + time)]);
                let flag = part.presence().unwrap().is_present(input, time);
                assert_eq!(flag, presence.is_present(input, from + time), "cut {cut}, input {input}, time {time}");
            }
        }
    }
    let error = block.split_at(12).unwrap_err().to_string();
    assert!(error.contains("12") && error.contains('8'), "{error}");
}

#[test]
fn some_antennas_of_a_source_are_those_of_all() {
    let inputs = Inputs::new(3, 2).unwrap();
    let data = Array2::from_shape_fn((6, 40), |(input, time)| (10 * input + time % 7) as i8);
    let flags = Array2::from_shape_fn((6, 4), |(input, block)| (input + block) % 3 != 0);
    let flags = SamplePresence::new(10, flags).unwrap();
    let samples = Samples::new(data, inputs).unwrap().with_first_sample(80).with_sample_rate(1e6).unwrap();
    let samples = samples.with_centre_frequency(2e8).unwrap().with_presence(flags).unwrap();
    let packed = PackedSamples::pack(samples.data().mapv(i16::from).view(), 10, inputs).unwrap();
    let packed = packed.with_first_sample(120).with_sample_rate(1e6).unwrap();
    let info =
        SourceInfo { label: "three".into(), inputs, sample_rate_hz: 1e6, sample_zero: None, end_sample: Some(160) };
    let chunks = [Received::Samples(samples.clone().into()), Received::Samples(packed.clone().into())];
    let of = |antennas| Antennas::new(Blocks::new(info.clone(), chunks.clone().into_iter().map(Ok)), antennas);
    let mut source = of(1..3).unwrap();
    assert_eq!((source.info().inputs.antennas(), source.info().end_sample), (2, Some(160)));
    let Some(Received::Samples(SampleBlock::Int8(part))) = source.next().unwrap() else { panic!("samples") };
    assert_eq!(part.data(), samples.data().slice(s![2.., ..]));
    assert_eq!((part.first_sample(), part.centre_hz(), part.sample_rate_hz()), (80, Some(2e8), 1e6));
    assert_eq!(part.presence().unwrap().flags(), samples.presence().unwrap().flags().slice(s![2.., ..]));
    let Some(Received::Samples(SampleBlock::Packed(part))) = source.next().unwrap() else { panic!("packed") };
    assert_eq!((part.data(), part.first_sample()), (packed.data().slice(s![2.., ..]), 120));
    assert!(source.next().unwrap().is_none());
    assert!(of(2..4).unwrap_err().to_string().contains("expected 4 antennas"));
    assert!(of(1..1).is_err());
}
