//! The same bits however the stream is cut.

use fringes_simulator::{
    Arrival, Band, Clock, Loss, LostRange, Placement, PointSource, Pulse, Simulation, Simulator, Tone,
};
use ndarray::{Array2, Axis, concatenate, s};

/// Everything at once.
pub(crate) fn everything() -> Simulation {
    let mut simulation = Simulation::new(3, 2, 1e8);
    simulation.seed = 11;
    simulation.epoch_sample = 5_000;
    let table = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 300 20 0\n c -50 400 3";
    let (antennas, epoch) = (table.parse().unwrap(), "2026-03-20T16:30:00".parse().unwrap());
    simulation.array = Some(Placement { antennas, epoch });
    let mut sky = PointSource::new(0.3).with_arrival(Arrival::Sky("05:34:31.95,+22:00:52.2".parse().unwrap()));
    sky.correlation = -0.4;
    let given = Arrival::Given { samples: vec![0.3, -1000.7, 1e6], rate: vec![1e-4, -1e-4, 3e-5] };
    let mut pulsed = PointSource::new(0.4).with_arrival(given.clone());
    pulsed.pulse = Some(Pulse { period_s: 13.77e-6, duty: 0.2, phase_turns: 0.3 });
    pulsed.band = Some(Band { low_hz: 1e7, high_hz: 2e7 });
    let mut local = PointSource::new(0.2);
    local.antenna_gains = vec![0.0, 1.0, 2.0];
    simulation.sources = vec![sky, pulsed, local];
    let mut tone = Tone::new(12.3e6, 0.2);
    tone.arrival = given;
    simulation.tones = vec![tone, Tone::new(31e6, 0.1)];
    simulation.clocks =
        vec![Clock::default(), Clock { offset_s: 1e-7, drift: 1e-6 }, Clock { offset_s: -3e-5, drift: 0.0 }];
    let range = LostRange { start: 7_000, end: 7_001, inputs: vec![2, 5] };
    simulation.loss = Some(Loss { packet_samples: 300, probability: 0.1, ranges: vec![range] });
    simulation
}

const CUTS: [usize; 9] = [1, 255, 256, 4096, 7, 0, 5000, 12_345, 3];

#[test]
fn bits_do_not_depend_on_how_the_stream_is_cut() {
    let mut simulator = Simulator::new(everything()).unwrap();
    for start in [0, (1 << 40) + 77] {
        simulator.seek(start);
        simulator.take_counts();
        let total = CUTS.iter().sum();
        let whole = simulator.next_i8(total).unwrap();
        let counts = simulator.take_counts();
        simulator.seek(start);
        let mut parts = Vec::new();
        let mut present = Vec::new();
        for times in CUTS {
            let part = simulator.next_i8(times).unwrap();
            let flags = part.presence().unwrap();
            present.push(Array2::from_shape_fn((6, times), |(input, time)| flags.is_present(input, time)));
            parts.push(part.into_data());
        }
        assert_eq!(simulator.next_sample(), start + total as u64);
        let joined = concatenate(Axis(1), &parts.iter().map(|part| part.view()).collect::<Vec<_>>()).unwrap();
        assert_eq!(joined, whole.data());
        let present = concatenate(Axis(1), &present.iter().map(|part| part.view()).collect::<Vec<_>>()).unwrap();
        let flags = whole.presence().unwrap();
        assert_eq!(present, Array2::from_shape_fn((6, total), |(input, time)| flags.is_present(input, time)));
        assert_eq!(*simulator.counts(), counts);
        assert!(counts.lost_samples.iter().all(|&lost| lost > 0));
    }
}

#[test]
fn packed_samples_are_the_codes_of_the_other_formats_at_any_cut() {
    let mut simulator = Simulator::new(everything()).unwrap();
    for bits in [2, 5, 8, 10, 12, 16] {
        for (start, times) in [(0, 9_001), (12_347, 4_103), (12_345_678_901, 13)] {
            simulator.seek(start);
            let packed = simulator.next_packed(bits, times).unwrap();
            simulator.seek(start);
            let wide = simulator.next_i16(times).unwrap();
            let (low, high) = (-(1i32 << (bits - 1)), (1i32 << (bits - 1)) - 1);
            let expected = wide.data().mapv(|code| i32::from(code).clamp(low, high) as i16);
            assert_eq!(packed.unpack().unwrap().data(), expected, "{bits} bits from {start}");
            assert_eq!(packed.presence(), wide.presence());
            if bits == 8 {
                simulator.seek(start);
                assert_eq!(simulator.next_i8(times).unwrap().data().mapv(i16::from), expected);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Simulator::new(everything()).unwrap().next_f32(30_000).unwrap().into_data())
    };
    assert_eq!(with(1), with(5));
}

#[test]
fn seeking_goes_anywhere_forwards_and_backwards() {
    let mut simulator = Simulator::new(everything()).unwrap();
    let whole = simulator.next_f32(40_000).unwrap().into_data();
    for start in [39_000, 0, 4_095, 17] {
        simulator.seek(start as u64);
        assert_eq!(simulator.next_sample(), start as u64);
        assert_eq!(simulator.next_f32(1_000).unwrap().data(), whole.slice(s![.., start..start + 1_000]));
    }
}

#[test]
fn buffers_are_used_again() {
    let mut simulator = Simulator::new(everything()).unwrap();
    let fresh = simulator.next_i8(5_000).unwrap();
    let fresh_packed = simulator.next_packed(10, 3_001).unwrap();
    simulator.seek(0);
    let data = Array2::from_elem((6, 5_000), 99i8);
    let place = data.as_ptr();
    let again = simulator.next_samples_in(data).unwrap();
    assert_eq!((&again, again.data().as_ptr()), (&fresh, place));
    let bytes = Array2::from_elem(fresh_packed.data().dim(), 0x5a);
    assert_eq!(simulator.next_packed_in(bytes, 10, 3_001).unwrap(), fresh_packed);
    // Rows of the caller's own, apart from each other.
    simulator.seek(5_000);
    let mut rows = vec![vec![0x5a; fresh_packed.data().ncols()]; 6];
    let mut slices: Vec<&mut [u8]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
    let presence = simulator.fill_packed(10, 3_001, &mut slices).unwrap();
    assert_eq!(presence.as_ref(), fresh_packed.presence());
    for (row, expected) in rows.iter().zip(fresh_packed.data().rows()) {
        assert_eq!(row, &expected.to_vec());
    }
}

#[test]
fn the_last_samples_of_the_counter_are_there_and_no_more() {
    let mut simulation = everything();
    // The sky is unknown at the end of the counter.
    simulation.sources.remove(0);
    let mut simulator = Simulator::new(simulation).unwrap();
    simulator.seek(u64::MAX - 10);
    assert!(simulator.next_i8(11).is_err());
    assert_eq!(simulator.next_sample(), u64::MAX - 10);
    assert_eq!(simulator.next_i8(10).unwrap().times(), 10);
}

#[test]
fn some_antennas_alone_have_the_bits_they_have_among_all() {
    for antennas in [0..1, 1..3, 2..3, 0..3] {
        let mut all = Simulator::new(everything()).unwrap();
        let mut some = Simulator::new(everything()).unwrap().of_antennas(antennas.clone()).unwrap();
        let inputs = 2 * antennas.start..2 * antennas.end;
        assert_eq!((some.inputs().antennas(), some.inputs().pols()), (antennas.len(), 2));
        for times in [5000, 300, 1] {
            let (whole, part) = (all.next_i8(times).unwrap(), some.next_i8(times).unwrap());
            assert_eq!(part.data(), whole.data().slice(s![inputs.clone(), ..]));
            let [whole, part] = [&whole, &part].map(|samples| samples.presence().unwrap().flags().to_owned());
            assert_eq!(part, whole.slice(s![inputs.clone(), ..]));
            let (whole, part) = (all.next_packed(10, times).unwrap(), some.next_packed(10, times).unwrap());
            assert_eq!(part.data(), whole.data().slice(s![inputs.clone(), ..]));
        }
        for input in 0..6 {
            let expected = if inputs.contains(&input) { all.counts().lost_samples[input] } else { 0 };
            assert_eq!(some.counts().lost_samples[input], expected);
        }
    }
    let wrong = |antennas| Simulator::new(everything()).unwrap().of_antennas(antennas).map(|_| ()).unwrap_err();
    assert_eq!(wrong(2..4), fringes_simulator::SimulatorError::Index { what: "antenna", expected: 3, actual: 4 });
    assert!(matches!(wrong(1..1), fringes_simulator::SimulatorError::Types(_)));
}
