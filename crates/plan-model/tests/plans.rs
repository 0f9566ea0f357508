//! Plans: what is conserved, what grows, what is refused.

use fringes_plan_model::{
    Beams, Coefficients, Machine, Plan, PlanError, Precision, Products, Resource, Role, Roles, Samples, Telescope,
    Voltages,
};
use proptest::prelude::*;

fn large() -> Telescope {
    Telescope {
        antennas: 2000,
        bandwidth_hz: 1.3e9,
        channels: 65536,
        precision: Precision::Half,
        ..Telescope::default()
    }
}

#[test]
fn a_measured_size_has_the_measured_rate() {
    let coefficients = Coefficients::h200().unwrap();
    let telescope = Telescope { channels: 4096, ..Telescope::default() };
    let single = coefficients.curve("f_single").unwrap().at(4096.0).unwrap();
    assert!((coefficients.f_rate(&telescope).unwrap() / (single * 1e9) - 1.0).abs() < 1e-12);
    let call = coefficients.curve("x_call_i8").unwrap().at(1024.0).unwrap();
    let rate = coefficients.x_rate(1024.0, Voltages::Bits8).unwrap();
    assert!((rate / (call * 1e12) - 1.0).abs() < 1e-12);
    let powers = coefficients.curve("beams_powers_512").unwrap().at(256.0).unwrap();
    let rate = coefficients.beam_rate(512.0, 256.0, Products::Powers { spectra: 16 }).unwrap();
    assert!((rate / (powers * 1e12) - 1.0).abs() < 1e-12);
}

#[test]
fn beams_are_no_faster_than_the_board_s_limit_pays_for() {
    let coefficients = Coefficients::h200().unwrap();
    let timed = coefficients.curve("beams_voltages_512").unwrap();
    for count in [16.0, 64.0, 256.0, 1024.0] {
        let rate = coefficients.beam_rate(512.0, count, Products::Voltages).unwrap();
        let joule = coefficients.beam_operations_a_joule(count, Products::Voltages).unwrap().unwrap();
        assert!(rate / joule <= 700.0 * (1.0 + 1e-12), "{count}: {} W", rate / joule);
        let timed = timed.at(count).unwrap() * 1e12;
        assert!(rate <= timed * (1.0 + 1e-12) && rate > 0.8 * timed, "{count}: {rate} of {timed}");
    }
}

#[test]
fn an_instrument_on_one_gpu_keeps_up_with_as_many_antennas_as_the_record_of_the_f_engine_says() {
    // The bench's `instrument_stream` keeps up with 50.2 antennas of 1712 Msamples/s, F and X one after the other, with
    // 4096 channels. It writes rows, which are slower than heaps, of which the coefficient is.
    let plan = Plan::new(&Telescope::default(), &Machine { gpu_share: 1.0, ..Machine::default() }).unwrap();
    let antennas = 64.0 / (plan.compute.f + plan.compute.x);
    assert!((antennas / 50.2 - 1.0).abs() < 0.1, "{antennas}");
    // Copies of samples from pinned memory: 13.0 antennas.
    let f = plan.ranks.iter().find(|rank| rank.role == Role::F).unwrap();
    let copies = f.needs.iter().find(|need| need.0 == Resource::HostToGpu).unwrap().1;
    assert!((64.0 / copies / 13.0 - 1.0).abs() < 0.02, "{}", 64.0 / copies);
}

#[test]
fn the_issue_s_question_has_an_answer() {
    let plan = Plan::new(&large(), &Machine::default()).unwrap();
    assert_eq!(plan.rates.voltages, 4000.0 * 1.3e9 * 2.0);
    assert_eq!(plan.rates.between_hosts, plan.rates.voltages, "F and X are apart: all of it");
    assert!(plan.ranks.iter().all(|rank| rank.loads.iter().all(|load| load.1 <= 1.0 + 1e-9)));
    assert_eq!(plan.gpus(), plan.ranks.iter().map(|rank| rank.gpus).sum::<u32>());
    assert!(plan.one_more.iter().any(|more| more.then >= more.now));
}

#[test]
fn ranks_that_are_both_keep_their_own_share() {
    let machine = Machine { roles: Roles::Together, ..Machine::default() };
    let plan = Plan::new(&large(), &machine).unwrap();
    let gpus = f64::from(plan.gpus());
    assert_eq!(plan.ranks.len(), 1);
    assert!((plan.rates.between_ranks / plan.rates.voltages - (1.0 - 1.0 / gpus)).abs() < 1e-12);
    assert!(plan.rates.between_hosts < plan.rates.between_ranks);
    assert!(plan.bottleneck.load <= 1.0 + 1e-9);
    let one = Plan::new(&Telescope { antennas: 4, ..Telescope::default() }, &machine).unwrap();
    assert_eq!((one.gpus(), one.rates.between_hosts, one.rates.between_ranks), (1, 0.0, 0.0));
}

#[test]
fn ranks_of_a_given_share_are_taken_and_may_fall_behind() {
    let machine = Machine { antennas_per_f: Some(16), channels_per_x: Some(4096), ..Machine::default() };
    let plan = Plan::new(&Telescope::default(), &machine).unwrap();
    let ranks: Vec<_> = plan.ranks.iter().map(|rank| (rank.gpus, rank.antennas, rank.channels)).collect();
    assert_eq!(ranks, [(4, 16, 0), (1, 0, 4096)]);
    assert!(plan.bottleneck.load > 1.0);
    assert!(plan.one_more.iter().all(|more| more.now < 856e6));
    let one = Machine { roles: Roles::Together, ..machine };
    let plan = Plan::new(&Telescope::default(), &one).unwrap();
    assert_eq!((plan.gpus(), plan.ranks[0].antennas, plan.ranks[0].channels), (4, 16, 1024));
    let none = Machine { antennas_per_f: Some(0), ..Machine::default() };
    assert!(Plan::new(&Telescope::default(), &none).is_err());
}

#[test]
fn voltages_that_come_need_no_f_engine() {
    let plan = Plan::new(&Telescope { samples: Samples::Channelised, ..large() }, &Machine::default()).unwrap();
    assert!(plan.ranks.iter().all(|rank| rank.role == Role::X));
    assert_eq!((plan.compute.f, plan.rates.samples), (0.0, 0.0));
}

#[test]
fn energy_is_measured_or_said_not_to_be() {
    let beams = |products| Telescope { beams: Some(Beams { count: 256, products }), ..Telescope::default() };
    let plan = Plan::new(&beams(Products::Voltages), &Machine::default()).unwrap();
    let measured: Vec<bool> = plan.power.iter().map(|power| power.measured.is_some()).collect();
    assert_eq!(measured, [false, true, true], "F is in single precision");
    assert!(plan.notes.iter().any(|note| note.starts_with("F: energy was measured in half precision")));
    let gpus: Vec<_> = plan.power.iter().map(|power| power.gpu.as_deref()).collect();
    assert_eq!(gpus, [None, Some("NVIDIA H200"), Some("NVIDIA H200")]);
    for power in &plan.power[1..] {
        assert!(power.measured.unwrap() > 0.0 && power.most >= power.measured.unwrap());
    }
    let powers = Plan::new(&beams(Products::Powers { spectra: 16 }), &Machine::default()).unwrap();
    assert_eq!((powers.power[2].measured, powers.power[2].a_gpu, &powers.power[2].gpu), (None, None, &None));
    assert_eq!(plan.most_watts, f64::from(plan.gpus()) * 700.0);
    let four = Telescope { voltages: Voltages::Bits4, precision: Precision::Half, ..Telescope::default() };
    let four = Plan::new(&four, &Machine::default()).unwrap();
    assert!(four.power.iter().all(|power| power.measured.is_none() && power.most > 0.0));
    assert!(four.notes.iter().any(|note| note == "X: energy was measured with voltages of 8 bits alone"));
}

#[test]
fn power_is_work_times_the_energy_of_the_record() {
    // A block of 64 antennas and 4096 channels took 6.516 J for F and X, 0.781 J of it for X.
    let telescope = Telescope { precision: Precision::Half, ..Telescope::default() };
    let plan = Plan::new(&telescope, &Machine::default()).unwrap();
    let blocks = telescope.sample_rate() / (4.0 * 64.0 * 4096.0 * 2048.0);
    let watts: Vec<f64> = plan.power.iter().map(|power| power.measured.unwrap()).collect();
    assert!((watts[0] / (blocks * (6.5164499999999865 - 0.7812918994413417)) - 1.0).abs() < 1e-12, "{watts:?}");
    assert!((watts[1] / (blocks * 0.7812918994413417) - 1.0).abs() < 1e-12, "{watts:?}");
    for power in &plan.power {
        let ranks = plan.ranks.iter().filter(|rank| rank.role.name().starts_with(power.operation.name()));
        let gpus: f64 = ranks.map(|rank| f64::from(rank.gpus)).sum();
        assert!((power.a_gpu.unwrap() * gpus / power.measured.unwrap() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn energy_of_f_grows_as_its_rate_falls_outside_of_what_was_measured() {
    let coefficients = Coefficients::h200().unwrap();
    let busy = |channels: u32| {
        let telescope = Telescope { channels, precision: Precision::Half, ..Telescope::default() };
        coefficients.f_joules_a_sample(&telescope).unwrap().unwrap() * coefficients.f_rate(&telescope).unwrap()
    };
    for (channels, nearest) in [(512, 1024), (16384, 4096), (65536, 4096)] {
        assert!((busy(channels) / busy(nearest) - 1.0).abs() < 1e-12, "{channels}");
    }
    // Rates are of short runs, of which the board pays for some more than its 700 W; energy is of long ones, and of
    // kernels that were up to 6 % slower.
    let watts = [1024, 2048, 4096].map(busy);
    assert!(watts.iter().all(|watts| (600.0..=760.0 * 1.06).contains(watts)), "{watts:?}");
    let other = |change: &dyn Fn(&mut Telescope)| {
        let mut telescope = Telescope { precision: Precision::Half, ..Telescope::default() };
        change(&mut telescope);
        coefficients.f_joules_a_sample(&telescope).unwrap()
    };
    assert!(other(&|_| {}).is_some());
    assert_eq!(other(&|t| t.taps = 8), None);
    assert_eq!(other(&|t| t.sample_bits = 8), None);
    assert_eq!(other(&|t| t.voltages = Voltages::Half), None);
    assert_eq!(other(&|t| t.precision = Precision::Single), None);
}

#[test]
fn no_gpu_takes_more_than_its_board() {
    // One GPU for all of it has the time by rates, and not the energy: dumps are rare and links are wide.
    let telescope = Telescope { antennas: 512, samples: Samples::Channelised, dump_seconds: 1e5, ..large() };
    let machine =
        Machine { gpus_per_host: 1, gpu_share: 1.0, network: 1e15, host_link: Some(1e15), ..Machine::default() };
    let plan = Plan::new(&telescope, &machine).unwrap();
    let power = &plan.power[0];
    assert!((power.a_gpu.unwrap() - 700.0).abs() < 1e-9, "{power:?}");
    assert!(plan.notes.iter().any(|note| note.contains("they do not keep up in long runs")), "{:?}", plan.notes);
    // What F, X and beams take of one kind of ranks is together no more than that.
    let beams = Some(Beams { count: 256, products: Products::Voltages });
    let machine = Machine { roles: Roles::Together, ..machine };
    let plan = Plan::new(&Telescope { samples: Samples::Real, beams, ..telescope }, &machine).unwrap();
    let watts: f64 = plan.power.iter().map(|power| power.a_gpu.unwrap()).sum();
    assert!(watts <= 700.0 * (1.0 + 1e-12), "{watts}");
}

#[test]
fn nonsense_is_an_error_that_names_the_number() {
    let wrong = |change: &dyn Fn(&mut Telescope)| {
        let mut telescope = Telescope::default();
        change(&mut telescope);
        Plan::new(&telescope, &Machine::default()).unwrap_err().to_string()
    };
    assert_eq!(wrong(&|t| t.antennas = 0), "antennas: expected a number from 1 to 100000, found 0");
    assert_eq!(wrong(&|t| t.pols = 3), "polarisations: expected a number from 1 to 2, found 3");
    assert!(wrong(&|t| t.bandwidth_hz = f64::NAN).contains("found NaN"));
    assert!(wrong(&|t| t.bandwidth_hz = -1.0).starts_with("bandwidth in Hz"));
    assert!(wrong(&|t| t.dump_seconds = 0.0).starts_with("seconds of a dump"));
    assert!(wrong(&|t| t.channels = 131_072).contains("channels of the F-engine"));
    assert!(wrong(&|t| t.beams = Some(Beams { count: 0, products: Products::Voltages })).starts_with("beams"));
    assert!(wrong(&|t| t.bandwidth_hz = 1e12).contains("an antenna is the least"));
    let half = |t: &mut Telescope| (t.precision, t.sample_bits) = (Precision::Half, 12);
    assert!(wrong(&half).contains("expected 8 or 10, found 12"));
    assert!(Voltages::of_bits(5).unwrap_err().to_string().contains("expected 4, 8 or 16, found 5"));
    let machine = Machine { gpus_per_host: 0, ..Machine::default() };
    assert!(matches!(Plan::new(&Telescope::default(), &machine), Err(PlanError::Range { .. })));
}

proptest! {
    #[test]
    fn whatever_is_asked_there_is_a_plan_that_keeps_up_or_an_error(
        antennas in 1_u32..5000, pols in 1_u32..=2, band in 1e3_f64..1e10, channels in 1_u32..70_000,
        bits in 2_u32..=16, format in 0_usize..3, taps in 1_u32..=32, dump in 1e-3_f64..100.0, beams in 0_u32..2000,
        gpus_per_host in 1_u32..=16, together in any::<bool>(), kind in 0_usize..3,
    ) {
        let telescope = Telescope {
            antennas, pols, bandwidth_hz: band, channels, sample_bits: bits, taps, dump_seconds: dump,
            samples: [Samples::Real, Samples::Complex, Samples::Channelised][kind],
            voltages: [Voltages::Bits4, Voltages::Bits8, Voltages::Half][format],
            precision: Precision::Single,
            beams: (beams > 0).then_some(Beams { count: beams, products: Products::Powers { spectra: 16 } }),
        };
        let roles = if together { Roles::Together } else { Roles::Apart };
        let machine = Machine { gpus_per_host, roles, ..Machine::default() };
        if let Ok(plan) = Plan::new(&telescope, &machine) {
            let most = plan.ranks.iter().flat_map(|rank| &rank.loads).map(|load| load.1).fold(0.0, f64::max);
            prop_assert!(most <= 1.0 + 1e-9, "{most}");
            prop_assert_eq!(plan.bottleneck.load, most);
            for rank in &plan.ranks {
                prop_assert!(rank.role == Role::X || u64::from(rank.gpus) * u64::from(rank.antennas) >= u64::from(antennas));
                prop_assert!(rank.role == Role::F || u64::from(rank.gpus) * u64::from(rank.channels) >= u64::from(channels));
            }
            for more in &plan.one_more {
                prop_assert!(more.then >= more.now && more.now >= band * (1.0 - 1e-9), "{:?}", more);
            }
        }
    }
}
