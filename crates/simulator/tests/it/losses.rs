//! Lost packets.

use fringes_simulator::{Loss, LostRange, PointSource, Simulation, Simulator};

fn simulation(loss: Option<Loss>) -> Simulation {
    let mut simulation = Simulation::new(2, 2, 1e6);
    simulation.sources.push(PointSource::new(0.1));
    simulation.loss = loss;
    simulation
}

#[test]
fn lost_samples_are_zero_flagged_and_counted_and_others_untouched() {
    let ranges = vec![
        LostRange { start: 1_000, end: 1_001, inputs: vec![1] },
        LostRange { start: 6_399, end: 6_401, inputs: vec![] },
        LostRange { start: 5_000, end: 9_000, inputs: vec![3] },
    ];
    let loss = Loss { packet_samples: 640, probability: 0.05, ranges: ranges.clone() };
    let mut whole = Simulator::new(simulation(None)).unwrap();
    let mut lossy = Simulator::new(simulation(Some(loss))).unwrap();
    let times = 200_000;
    for start in [0u64, 640_000, 123] {
        whole.seek(start);
        lossy.seek(start);
        lossy.take_counts();
        let (expected, found) = (whole.next_i8(times).unwrap(), lossy.next_i8(times).unwrap());
        let presence = found.presence().unwrap();
        assert_eq!(presence.samples_per_block(), if start == 123 { 1 } else { 640 });
        let mut lost = [0u64; 4];
        for ((input, time), &code) in found.data().indexed_iter() {
            let gone = lossy.truth().is_lost(input, start + time as u64).unwrap();
            assert_eq!(presence.is_present(input, time), !gone);
            assert_eq!(code, if gone { 0 } else { expected.data()[(input, time)] });
            lost[input] += u64::from(gone);
        }
        assert_eq!(lossy.counts().lost_samples, lost);
        if start == 0 {
            // 313 packets, the last one of half its samples: a lost one of those is counted whole.
            for (input, &lost) in lost.iter().enumerate() {
                let packets = lossy.counts().lost_packets[input];
                assert!(packets * 640 == lost || packets * 640 == lost + 320);
            }
        }
    }
    let truth = lossy.truth();
    let gone = |input, sample| truth.is_lost(input, sample).unwrap();
    // The packet of sample 1000 is 640 to 1279; those of 6399 and 6400 are 5760 to 7039.
    assert!(gone(1, 640) && gone(1, 1_279) && (0..4).all(|input| gone(input, 5_760) && gone(input, 7_039)));
    assert!((4_480..9_600).all(|sample| gone(3, sample)));
}

#[test]
fn only_given_ranges_are_lost_without_a_probability_and_all_with_one() {
    let range = LostRange { start: 100, end: 200, inputs: vec![0] };
    let mut loss = Loss { packet_samples: 50, probability: 0.0, ranges: vec![range] };
    let mut simulator = Simulator::new(simulation(Some(loss.clone()))).unwrap();
    let samples = simulator.next_packed(10, 10_000).unwrap();
    let flags = samples.presence().unwrap().flags().to_owned();
    for ((input, packet), &present) in flags.indexed_iter() {
        assert_eq!(present, !(input == 0 && (2..4).contains(&packet)));
    }
    assert_eq!(simulator.counts().lost_packets, [2, 0, 0, 0]);
    loss.probability = 1.0;
    let mut simulator = Simulator::new(simulation(Some(loss))).unwrap();
    let samples = simulator.next_packed(10, 10_000).unwrap();
    assert!(samples.data().iter().all(|&byte| byte == 0) && samples.presence().unwrap().flags().iter().all(|p| !p));
    assert_eq!(simulator.counts().clamped_samples, [0; 4]);
}

#[test]
fn packets_are_lost_with_their_probability_and_apart() {
    let loss = Loss { packet_samples: 16, probability: 0.2, ranges: vec![] };
    let mut simulator = Simulator::new(simulation(Some(loss))).unwrap();
    let packets = 50_000;
    let samples = simulator.next_i8(16 * packets).unwrap();
    let flags = samples.presence().unwrap().flags().to_owned();
    let sigma = (0.2 * 0.8 / packets as f64).sqrt();
    for input in 0..4 {
        let lost = flags.row(input).iter().filter(|&&present| !present).count() as f64 / packets as f64;
        assert!((lost - 0.2).abs() < 5.0 * sigma, "{lost}");
        // Two in a row, and two inputs at once: the square.
        let pairs = flags.row(input).windows(2).into_iter().filter(|pair| !pair[0] && !pair[1]).count();
        let both = flags.row(input).iter().zip(flags.row((input + 1) % 4)).filter(|&(a, b)| !a && !b).count();
        for count in [pairs, both] {
            assert!((count as f64 / packets as f64 - 0.04).abs() < 6.0 * (0.04f64 / packets as f64).sqrt(), "{count}");
        }
    }
}
