//! Spectra of streams that are cut anywhere.

use fringes_delay_model::DelaySegment;

use super::*;

fn timeline(together: Together) -> Timeline {
    let plan = Channelizer::real(8).taps(3).build().unwrap();
    let inputs = Inputs::new(2, 1).unwrap();
    let mut timeline = Timeline::new(plan, inputs, 16 * 10);
    let segment = |delay: f64, rate: f64| DelayModel::from_segment(DelaySegment::new(0, vec![delay, rate])).unwrap();
    timeline.set_delays(vec![segment(3.2, 0.013), segment(-40.7, -0.02)]).unwrap();
    timeline.take_together(together);
    timeline
}

fn chunk(presence: Option<&SamplePresence>, first_sample: u64, times: usize) -> ChunkAxes<'_> {
    let (format, inputs) = (ChunkFormat::Packed { bits: 8 }, Inputs::new(2, 1).unwrap());
    ChunkAxes { format, inputs, times, first_sample, sample_rate_hz: 1.0, centre_hz: None, presence }
}

/// Windows and flags of all spectra of a stream that is cut at some samples, and how many are held at most.
fn all(together: Together, cuts: &[usize]) -> (Vec<(u64, i64, bool)>, u64) {
    let mut timeline = timeline(together);
    let (mut found, mut first, mut held) = (Vec::new(), 1000u64, 0);
    let limits: Vec<u64> = timeline.history().collect();
    let mut add = |timeline: &Timeline, advance: &Advance| {
        let flags = advance.flags();
        assert_eq!(advance.is_complete(), flags.iter().all(|&present| present));
        for (time, input) in (0..advance.spectra).flat_map(|time| [(time, 0), (time, 1)]) {
            let start = timeline.window(advance, time, input).start + advance.first_sample;
            let stamp = advance.first_stamp + 16 * time as u64;
            let section = &advance.sections[input];
            let section = section.iter().find(|section| section.spectra.contains(&time)).unwrap();
            assert_eq!(start, stamp as i64 - section.coarse);
            found.push((stamp, start, flags[(time, input)]));
        }
    };
    for &times in cuts {
        let flags = Array2::from_shape_fn((2, times), |(input, time)| (first as usize + time + 37 * input) % 311 > 8);
        let presence = SamplePresence::new(1, flags).unwrap();
        let advance = timeline.advance(&chunk(Some(&presence), first, times)).unwrap().unwrap();
        for (samples, &limit) in timeline.held_after(&advance).zip(&limits) {
            assert!(samples <= limit, "{samples} {limit}");
            held = samples.max(held);
        }
        add(&timeline, &advance);
        timeline.commit(advance);
        first += times as u64;
    }
    let rest = timeline.advance_rest().unwrap().unwrap();
    add(&timeline, &rest);
    (found, held)
}

#[test]
fn spectra_are_the_same_however_a_stream_is_cut_and_whichever_are_taken_together() {
    let (expected, _) = all(Together::SINGLE, &[7000]);
    // Some windows have missing samples, and some inputs' delays step.
    assert!(expected.len() > 600 && expected.iter().filter(|(.., present)| !present).count() > 20);
    assert!(expected.iter().filter(|(.., present)| *present).count() > 200);
    for together in [Together::SINGLE, Together { frame: 10, part: 4 }, Together { frame: 20, part: 20 }] {
        for cuts in [vec![7000], vec![1, 6999], vec![700; 10], vec![35; 200]] {
            assert_eq!(all(together, &cuts).0, expected, "{together:?} {cuts:?}");
        }
    }
}
