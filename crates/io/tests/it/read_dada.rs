//! PSRDADA: what is written is read.

use crate::read_support;

use fringes_io::IoError;
use fringes_io::read::{ChannelSamples, DadaOrder, FileFormat, OpenOptions};
use fringes_types::{Complex, Frequencies, SpectrumClock, TypesError};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use read_support::{Everything, dada_header, open_bytes, read_all, read_bytes};

/// A recording to write: samples `[channel][pol][time]`.
#[derive(Debug, Clone)]
struct Recording {
    channels: usize,
    pols: usize,
    bits: u32,
    complex: bool,
    pol_fastest: bool,
    downward: bool,
    header_bytes: usize,
    times: usize,
    seed: u64,
}

impl Recording {
    fn value(&self, channel: usize, pol: usize, time: usize) -> [i32; 2] {
        let mut generator =
            Xoshiro256PlusPlus::seed_from_u64(self.seed ^ ((channel as u64) << 40 | (pol as u64) << 32 | time as u64));
        let half = 1 << (self.bits - 1);
        [generator.random_range(-half..half), generator.random_range(-half..half)]
    }

    fn sample_bytes(&self) -> usize {
        self.channels * self.pols * (1 + usize::from(self.complex)) * self.bits as usize / 8
    }

    fn fields(&self, first: usize) -> Vec<(&'static str, String)> {
        vec![
            ("HDR_VERSION", "1.0".to_owned()),
            ("HDR_SIZE", self.header_bytes.to_string()),
            ("TELESCOPE", "Effelsberg".to_owned()),
            ("SOURCE", "unset".to_owned()),
            ("UTC_START", "2020-01-01-12:00:00.25".to_owned()),
            ("OBS_OFFSET", (first * self.sample_bytes()).to_string()),
            ("FILE_SIZE", "1000000000".to_owned()),
            ("FREQ", "1400".to_owned()),
            ("BW", format!("{}", self.channels as f64 * if self.downward { -2.0 } else { 2.0 })),
            ("TSAMP", if self.complex { "0.5" } else { "0.25" }.to_owned()),
            ("NBIT", self.bits.to_string()),
            ("NDIM", (1 + u32::from(self.complex)).to_string()),
            ("NPOL", self.pols.to_string()),
            ("NCHAN", self.channels.to_string()),
            ("ORDER", if self.pol_fastest { "TFP" } else { "TPF" }.to_owned()),
        ]
    }

    fn file(&self, times: std::ops::Range<usize>) -> Vec<u8> {
        let mut bytes = dada_header(self.header_bytes, &self.fields(times.start));
        for time in times {
            for item in 0..self.channels * self.pols {
                let (channel, pol) = if self.pol_fastest {
                    (item / self.pols, item % self.pols)
                } else {
                    (item % self.channels, item / self.channels)
                };
                for part in &self.value(channel, pol, time)[..1 + usize::from(self.complex)] {
                    bytes.extend(&part.to_le_bytes()[..self.bits as usize / 8]);
                }
            }
        }
        bytes
    }

    fn expected(&self, present: impl Fn(usize) -> bool) -> Everything {
        let mut clamped = 0;
        let mut sample = |channel: usize, pol: usize, time: usize| {
            if !present(time) {
                return Complex::default();
            }
            let recorded = if self.downward { self.channels - 1 - channel } else { channel };
            let parts = &self.value(recorded, pol, time)[..1 + usize::from(self.complex)];
            clamped += u64::from(self.bits == 8 && parts.contains(&-128));
            let part = |part: usize| {
                parts.get(part).map_or(0.0, |&part| part.max(if self.bits == 8 { -127 } else { part }) as f32)
            };
            match (self.complex, self.downward) {
                (true, true) => Complex::new(part(0), -part(1)),
                (false, true) if time % 2 == 1 => Complex::new(-part(0), 0.0),
                _ => Complex::new(part(0), part(1)),
            }
        };
        let times = 0..self.times;
        let samples = (0..self.channels)
            .map(|channel| {
                (0..self.pols).map(|pol| times.clone().map(|time| sample(channel, pol, time)).collect()).collect()
            })
            .collect();
        Everything { samples, present: vec![times.map(present).collect(); self.pols], clamped, blocks: 0 }
    }
}

fn same(read: &Everything, expected: &Everything) {
    assert!(read.present == expected.present, "presence");
    assert!(read.samples == expected.samples, "samples");
    assert_eq!(read.clamped, expected.clamped);
}

fn small() -> Recording {
    Recording {
        channels: 2,
        pols: 2,
        bits: 8,
        complex: true,
        pol_fastest: false,
        downward: false,
        header_bytes: 4096,
        times: 100,
        seed: 3,
    }
}

fn recordings() -> impl Strategy<Value = Recording> {
    let sizes = (1usize..5, 1usize..=2, prop::sample::select(vec![8u32, 16]), 1usize..300, any::<u64>());
    (sizes, any::<[bool; 3]>(), prop::sample::select(vec![1024usize, 4096, 8192])).prop_map(
        |((channels, pols, bits, times, seed), [complex, pol_fastest, downward], header_bytes)| Recording {
            channels,
            pols,
            bits,
            complex,
            pol_fastest,
            downward,
            header_bytes,
            times,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_is_read_as_written(recording in recordings(), block in 1usize..100, cuts in any::<[prop::sample::Index; 2]>()) {
        // Three files, which overlap or not as it comes.
        let mut cuts = cuts.map(|cut| cut.index(recording.times));
        cuts.sort();
        let ends = [cuts[0].max(1), cuts[1].max(1), recording.times];
        let starts = [0, cuts[0].saturating_sub(5), cuts[1].saturating_sub(5)];
        let files: Vec<_> = starts.iter().zip(ends).map(|(&start, end)| recording.file(start..end)).collect();
        // A file that holds nothing new is out of order.
        if ends[1] > ends[0] && ends[2] > ends[1] {
            same(&read_bytes(&files, &OpenOptions::default(), block), &recording.expected(|_| true));
        }
        same(&read_bytes(&[recording.file(0..recording.times)], &OpenOptions::default(), block), &recording.expected(|_| true));
    }

    #[test]
    fn a_lost_file_is_zeros_that_are_flagged(recording in recordings(), block in 1usize..100) {
        let recording = Recording { times: 90, ..recording };
        let files = [recording.file(0..30), recording.file(60..90)];
        same(&read_bytes(&files, &OpenOptions::default(), block), &recording.expected(|time| !(30..60).contains(&time)));
    }
}

#[test]
fn the_header_says_what_the_recording_is() {
    let recording = small();
    let files = [recording.file(40..80), recording.file(80..100)];
    let reader = open_bytes(&files, &OpenOptions::default()).unwrap();
    let info = reader.info();
    assert_eq!(info.format, FileFormat::Dada);
    assert_eq!((info.inputs.antennas(), info.inputs.pols(), info.channels, info.bits), (1, 2, 2, 8));
    assert!(info.complex && info.channelised && !info.inverted);
    assert_eq!((info.sample_rate_hz, info.total_samples), (Some(2e6), Some(60)));
    let frequencies = info.frequencies.unwrap();
    assert_eq!((frequencies.first_hz, frequencies.step_hz), (1399e6, 2e6));
    // Forty samples of half a microsecond after 12:00:00.25 on 1 January 2020.
    let start = info.start.unwrap();
    assert_eq!((start.mjd_day, (start.seconds - 43200.25002).abs() < 1e-9), (58_849, true));
    assert_eq!((info.telescope.as_deref(), info.source.clone()), (Some("Effelsberg"), None));
}

#[test]
fn a_sample_that_is_cut_short_is_said_after_those_before_it() {
    let recording = Recording { bits: 16, ..small() };
    let whole = recording.file(0..100);
    for cut in 1..recording.sample_bytes() {
        let mut reader = open_bytes(&[whole[..whole.len() - cut].to_vec()], &OpenOptions::default()).unwrap();
        let (read, error) = read_all(reader.as_mut(), 64);
        assert_eq!(read.present[0].len(), 99);
        let error = error.unwrap();
        assert!(
            matches!(error, IoError::Truncated { actual, .. } if actual as usize == recording.sample_bytes() - cut)
        );
    }
}

#[test]
fn files_in_the_wrong_order_are_an_error() {
    let recording = small();
    let files = [recording.file(50..100), recording.file(0..50)];
    let (read, error) = read_all(open_bytes(&files, &OpenOptions::default()).unwrap().as_mut(), 64);
    assert_eq!(read.present[0].len(), 50);
    assert!(matches!(error, Some(IoError::FileOrder { .. })), "{error:?}");
}

#[test]
fn a_given_sample_rate_goes_before_the_recorded_one() {
    let options = OpenOptions { sample_rate_hz: Some(1e6), ..OpenOptions::default() };
    let reader = open_bytes(&[small().file(0..10)], &options).unwrap();
    assert_eq!(reader.info().sample_rate_hz, Some(1e6));
}

#[test]
fn wrong_fields_are_named() {
    for (key, value) in [
        ("NBIT", "4"),
        ("NBIT", "-8"),
        ("NDIM", "3"),
        ("NPOL", "0"),
        ("NCHAN", "4294967296"),
        ("NCHAN", "many"),
        ("HDR_SIZE", "0"),
        ("HDR_SIZE", "18446744073709551615"),
        ("ORDER", "FTP"),
        ("TSAMP", "-1"),
        ("TSAMP", "inf"),
        ("OBS_OFFSET", "-4"),
    ] {
        let recording = small();
        let mut fields = recording.fields(0);
        fields.iter_mut().find(|(field, _)| *field == key).unwrap().1 = value.to_owned();
        let mut bytes = dada_header(4096, &fields);
        bytes.extend([0; 64]);
        let error = open_bytes(&[bytes], &OpenOptions::default()).err().unwrap();
        assert!(matches!(&error, IoError::Field { field, .. } if *field == key), "{key} {value}: {error}");
    }
}

#[test]
fn the_caller_may_say_the_order_of_channels_and_polarisations() {
    // Files of both orders that say nothing, or the wrong thing.
    for (pol_fastest, said) in [(true, None), (true, Some("TPF")), (false, Some("TFP")), (false, Some("nonsense"))] {
        let recording = Recording { pol_fastest, ..small() };
        let bytes = String::from_utf8_lossy(&recording.file(0..recording.times)[..4096]).into_owned();
        let line = bytes.lines().find(|line| line.starts_with("ORDER")).unwrap();
        let wanted = said.map_or_else(|| "#".to_owned(), |said| format!("ORDER {said}"));
        let header = bytes.replacen(line, &format!("{wanted:<width$}", width = line.len()), 1);
        let mut file = recording.file(0..recording.times);
        file[..4096].copy_from_slice(header.as_bytes());
        let order = if pol_fastest { "tfp" } else { "TPF" }.parse().unwrap();
        let options = OpenOptions { dada_order: Some(order), ..OpenOptions::default() };
        same(&read_bytes(&[file.clone()], &options, 30), &recording.expected(|_| true));
        // Without it, the channels and polarisations of the first are exchanged.
        if (pol_fastest, said) == (true, None) {
            let read = read_bytes(&[file], &OpenOptions::default(), 30);
            assert_eq!(read.samples[0][1], recording.expected(|_| true).samples[1][0]);
        }
    }
    assert!("TFPX".parse::<DadaOrder>().is_err());
}

#[test]
fn blocks_become_samples_and_voltages_with_their_axes() {
    // Half-way through two files there is a gap.
    let recording = Recording { channels: 3, ..small() };
    let files = [recording.file(0..40), recording.file(60..100)];
    let expected = recording.expected(|time| !(40..60).contains(&time));
    let mut reader = open_bytes(&files, &OpenOptions::default()).unwrap();
    assert_eq!(reader.info().clock(7).sample_rate_hz, 2e6);
    let mut first = 0;
    while let Some(block) = reader.read(33).unwrap() {
        let voltages = block.voltages().unwrap();
        assert_eq!(voltages.data().dim(), (3, block.times(), 2));
        assert!(voltages.data().is_standard_layout());
        assert_eq!(voltages.frequencies(), Frequencies { first_hz: 1398e6, step_hz: 2e6 });
        let clock = SpectrumClock { first_sample: first, samples_between_spectra: 1, sample_rate_hz: 2e6 };
        assert_eq!(voltages.clock(), clock);
        for ((channel, time, input), value) in voltages.data().indexed_iter() {
            let at = first as usize + time;
            assert_eq!(*value, expected.samples[channel][input][at]);
            assert_eq!(voltages.presence().is_none_or(|flags| flags[(time, input)]), expected.present[input][at]);
        }
        for channel in 0..3 {
            let ChannelSamples::Complex(samples) = block.samples(channel).unwrap() else {
                unreachable!("complex samples")
            };
            assert_eq!((samples.first_sample(), samples.sample_rate_hz()), (first, 2e6));
            assert_eq!(samples.centre_hz(), Some(1398e6 + 2e6 * channel as f64));
            assert_eq!(samples.presence(), block.presence.as_ref());
            for ((input, time), value) in samples.data().indexed_iter() {
                assert_eq!(*value, expected.samples[channel][input][first as usize + time]);
            }
            assert_eq!(block.samples(channel).unwrap().as_chunk().times(), block.times());
        }
        let error = block.samples(3).unwrap_err();
        assert!(matches!(error, TypesError::Dimension { expected: 3, actual: 3, .. }), "{error}");
        first += block.times() as u64;
    }
    assert_eq!(first, 100);
    // Real samples are no voltages, and the caller's centre moves the channels.
    let recording = Recording { complex: false, channels: 2, ..small() };
    let options = OpenOptions { centre_frequency_hz: Some(5e9), ..OpenOptions::default() };
    let block = open_bytes(&[recording.file(0..9)], &options).unwrap().read(9).unwrap().unwrap();
    assert!(matches!(block.voltages(), Err(IoError::RealVoltages)));
    let ChannelSamples::Real(samples) = block.samples(1).unwrap() else { unreachable!("real samples") };
    assert_eq!(samples.centre_hz(), Some(5e9 + 1e6));
}

#[test]
fn a_recording_that_does_not_know_its_axes_says_so() {
    let mut fields: Vec<_> = small().fields(0);
    fields.retain(|(key, _)| !["FREQ", "BW", "TSAMP"].contains(key));
    let mut file = dada_header(4096, &fields);
    file.extend([1; 80]);
    let block = open_bytes(&[file.clone()], &OpenOptions::default()).unwrap().read(99).unwrap().unwrap();
    let voltages = block.voltages().unwrap();
    assert!(!voltages.clock().has_sample_rate());
    assert_eq!(voltages.frequencies(), Frequencies { first_hz: -0.5, step_hz: 1.0 });
    let options = OpenOptions { sample_rate_hz: Some(1e6), centre_frequency_hz: Some(1e9), ..OpenOptions::default() };
    let block = open_bytes(&[file], &options).unwrap().read(99).unwrap().unwrap();
    assert_eq!(block.info.channel_frequencies(), Frequencies { first_hz: 1e9 - 0.5e6, step_hz: 1e6 });
    assert!(block.voltages().unwrap().clock().has_sample_rate());
}
