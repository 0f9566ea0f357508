//! GUPPI raw: what is written is read.

use crate::read_support;

use fringes_io::IoError;
use fringes_io::read::{FileFormat, OpenOptions};
use fringes_types::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use read_support::{Everything, cards, open_bytes, read_all, read_bytes};

/// A recording to write: samples `[antenna][channel][pol][time]`.
#[derive(Debug, Clone)]
struct Recording {
    antennas: usize,
    channels: usize,
    pols: usize,
    bits: u32,
    /// Samples that a block adds, and those of it that come again.
    fresh: usize,
    overlap: usize,
    blocks: usize,
    simple: bool,
    direct: bool,
    downward: bool,
    /// Packets in a block; `None`: told by PKTSIZE.
    packets: Option<usize>,
    seed: u64,
}

impl Recording {
    fn value(&self, antenna: usize, channel: usize, pol: usize, time: usize) -> [i32; 2] {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(
            self.seed ^ ((antenna as u64) << 48 | (channel as u64) << 40 | (pol as u64) << 32 | time as u64),
        );
        let half = 1 << (self.bits - 1);
        [generator.random_range(-half..half), generator.random_range(-half..half)]
    }

    fn block_samples(&self) -> usize {
        self.fresh + self.overlap
    }

    /// One block with its header.
    fn block(&self, number: usize) -> Vec<u8> {
        let sample_bytes = self.antennas * self.channels * self.pols * 2 * self.bits as usize / 8;
        let step = self.packets.unwrap_or(self.fresh);
        let mut fields = vec![
            ("BACKEND", "'TEST    '".to_owned()),
            ("TELESCOP", "'Arecibo '".to_owned()),
            ("SRC_NAME", "'B0329+54' / a / comment".to_owned()),
            ("RA_STR", "'03:32:59.37'".to_owned()),
            ("DEC_STR", "'-54:30:00'".to_owned()),
            ("OBSFREQ", "1400.0".to_owned()),
            ("OBSBW", format!("{}", 0.25 * self.channels as f64 * if self.downward { -1.0 } else { 1.0 })),
            ("OBSNCHAN", (self.antennas * self.channels).to_string()),
            ("NPOL", (if self.pols == 2 { 4 } else { 1 }).to_string()),
            ("NBITS", self.bits.to_string()),
            ("TBIN", "4e-6".to_owned()),
            ("OVERLAP", self.overlap.to_string()),
            ("BLOCSIZE", (self.block_samples() * sample_bytes).to_string()),
            ("PKTIDX", (number * step).to_string()),
            ("STT_IMJD", "58849".to_owned()),
            ("STT_SMJD", "86399".to_owned()),
            ("STT_OFFS", "0.5".to_owned()),
            ("PKTFMT", (if self.simple { "'SIMPLE'" } else { "'1SFA'" }).to_owned()),
            if self.packets.is_some() { ("PIPERBLK", step.to_string()) } else { ("PKTSIZE", sample_bytes.to_string()) },
        ];
        if self.antennas > 1 {
            fields.push(("NANTS", self.antennas.to_string()));
        }
        if self.direct {
            fields.push(("DIRECTIO", "'1'".to_owned()));
        }
        let mut bytes = cards(&fields);
        if self.direct {
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        let start = number * self.fresh;
        let mut put = |antenna, channel, pol, time| {
            for part in self.value(antenna, channel, pol, start + time) {
                bytes.extend(&part.to_le_bytes()[..self.bits as usize / 8]);
            }
        };
        if self.simple {
            for time in 0..self.block_samples() {
                (0..self.channels).for_each(|channel| (0..self.pols).for_each(|pol| put(0, channel, pol, time)));
            }
        } else {
            for (antenna, channel) in (0..self.antennas).flat_map(|a| (0..self.channels).map(move |c| (a, c))) {
                (0..self.block_samples())
                    .for_each(|time| (0..self.pols).for_each(|pol| put(antenna, channel, pol, time)));
            }
        }
        bytes
    }

    fn file(&self, blocks: impl Iterator<Item = usize>) -> Vec<u8> {
        blocks.flat_map(|number| self.block(number)).collect()
    }

    /// What is to be read, where `present` says of a time whether it is.
    fn expected(&self, present: impl Fn(usize) -> bool) -> Everything {
        let times = self.blocks * self.fresh + self.overlap;
        let mut clamped = 0;
        let mut sample = |input: usize, channel: usize, time: usize| {
            if !present(time) {
                return Complex::default();
            }
            let recorded = if self.downward { self.channels - 1 - channel } else { channel };
            let parts = self.value(input / self.pols, recorded, input % self.pols, time);
            clamped += u64::from(self.bits == 8 && parts.contains(&-128));
            let [re, im] = parts.map(|part| if self.bits == 8 { part.max(-127) } else { part } as f32);
            Complex::new(re, if self.downward { -im } else { im })
        };
        let inputs = self.antennas * self.pols;
        let samples = (0..self.channels)
            .map(|channel| {
                (0..inputs).map(|input| (0..times).map(|time| sample(input, channel, time)).collect()).collect()
            })
            .collect();
        Everything { samples, present: vec![(0..times).map(present).collect(); inputs], clamped, blocks: 0 }
    }
}

fn same(read: &Everything, expected: &Everything) {
    assert_eq!(read.present.len(), expected.present.len());
    assert!(read.present == expected.present, "presence");
    assert_eq!(read.samples.len(), expected.samples.len());
    assert!(read.samples == expected.samples, "samples");
    assert_eq!(read.clamped, expected.clamped);
}

fn small() -> Recording {
    Recording {
        antennas: 1,
        channels: 3,
        pols: 2,
        bits: 8,
        fresh: 10,
        overlap: 0,
        blocks: 4,
        simple: false,
        direct: false,
        downward: false,
        packets: None,
        seed: 7,
    }
}

fn recordings() -> impl Strategy<Value = Recording> {
    let shape = (1usize..4, 1usize..5, 1usize..=2, prop::sample::select(vec![8u32, 16]), any::<[bool; 4]>());
    let time = (1usize..30, 0usize..12, 1usize..5, any::<u64>());
    (shape, time).prop_map(|((antennas, channels, pols, bits, flags), (fresh, overlap, blocks, seed))| {
        let [simple, direct, downward, per_block] = flags;
        let antennas = if simple { 1 } else { antennas };
        let packets = per_block.then_some(fresh);
        // A block of one packet of several samples leaves the packets' samples a whole number.
        Recording { antennas, channels, pols, bits, fresh, overlap, blocks, simple, direct, downward, packets, seed }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_is_read_as_written(recording in recordings(), block in 1usize..60, split in 0usize..5) {
        let split = split.min(recording.blocks);
        let files = [recording.file(0..split), recording.file(split..recording.blocks)];
        let files: Vec<_> = files.into_iter().filter(|file| !file.is_empty()).collect();
        same(&read_bytes(&files, &OpenOptions::default(), block), &recording.expected(|_| true));
    }

    #[test]
    fn lost_packets_are_zeros_that_are_flagged(recording in recordings(), block in 1usize..60, lost in 1usize..4) {
        let recording = Recording { blocks: 6, ..recording };
        let blocks = [0, 1 + lost, 5].map(|block: usize| block.min(5));
        let file = recording.file(blocks.iter().copied().filter(|&block| block < 5).chain([5]));
        let has = |time: usize| {
            blocks.iter().any(|&block| {
                let start = block * recording.fresh;
                (start..start + recording.block_samples()).contains(&time)
            })
        };
        same(&read_bytes(&[file], &OpenOptions::default(), block), &recording.expected(has));
    }
}

#[test]
fn the_header_says_what_the_recording_is() {
    let recording = Recording { channels: 4, downward: true, antennas: 2, ..small() };
    // The first block is number 1: ten samples of 4 us after the start, which is half a second before midnight.
    let reader = open_bytes(&[recording.file(1..4)], &OpenOptions::default()).unwrap();
    let info = reader.info();
    assert_eq!(info.format, FileFormat::GuppiRaw);
    assert_eq!((info.inputs.antennas(), info.inputs.pols(), info.channels, info.bits), (2, 2, 4, 8));
    assert_eq!(info.input_names[3], "antenna 1 pol y");
    assert!(info.complex && info.channelised && info.inverted);
    assert_eq!(info.sample_rate_hz, Some(250e3));
    let frequencies = info.frequencies.unwrap();
    assert_eq!((frequencies.first_hz, frequencies.step_hz), (1400e6 - 375e3, 250e3));
    let start = info.start.unwrap();
    assert_eq!((start.mjd_day, (start.seconds - 86399.50004).abs() < 1e-9), (58_849, true));
    let source = info.source.clone().unwrap();
    assert_eq!((source.name.as_str(), source.dec_deg), ("B0329+54", Some(-54.5)));
    assert!((source.ra_deg.unwrap() - 15.0 * (3.0 + 32.0 / 60.0 + 59.37 / 3600.0)).abs() < 1e-9);
    assert_eq!(info.total_samples, Some(30));
    assert_eq!(info.telescope.as_deref(), Some("Arecibo"));
}

#[test]
fn npol_of_two_and_four_are_two_polarisations() {
    let recording = small();
    let text = String::from_utf8_lossy(&recording.block(0)[..1600]).into_owned();
    let card = format!("{:<8}= {:>20}", "NPOL", 4);
    let at = text.find(&card).unwrap();
    let mut file = recording.file(0..4);
    let block_bytes = file.len() / 4;
    for block in 0..4 {
        file[block * block_bytes + at + card.len() - 1] = b'2';
    }
    same(&read_bytes(&[file], &OpenOptions::default(), 7), &recording.expected(|_| true));
}

#[test]
fn a_block_that_is_cut_short_is_said_after_those_before_it() {
    let recording = small();
    let whole = recording.file(0..4);
    let block = whole.len() / 4;
    for cut in [1, 60, 119, 120, 121, 500, block - 1] {
        let mut reader = open_bytes(&[whole[..whole.len() - cut].to_vec()], &OpenOptions::default()).unwrap();
        let (read, error) = read_all(reader.as_mut(), 64);
        assert_eq!(read.present[0].len(), 30);
        assert!(error.unwrap().is_truncation());
    }
}

#[test]
fn blocks_of_another_kind_or_time_are_errors() {
    let recording = small();
    let other = Recording { channels: 2, ..small() };
    let mut file = recording.file(0..2);
    file.extend(other.block(2));
    let (_, error) = read_all(open_bytes(&[file], &OpenOptions::default()).unwrap().as_mut(), 64);
    let text = error.unwrap().to_string();
    assert!(text.contains("BLOCSIZE") && text.contains("expected 120") && text.contains("found 80"), "{text}");

    let back = [recording.file(2..4), recording.file(0..2)];
    let (read, error) = read_all(open_bytes(&back, &OpenOptions::default()).unwrap().as_mut(), 64);
    assert_eq!(read.present[0].len(), 20);
    assert!(matches!(error, Some(IoError::FileOrder { .. })), "{error:?}");

    let options = OpenOptions { longest_gap_seconds: 1e-4, ..OpenOptions::default() };
    let (_, error) = read_all(open_bytes(&[recording.file([0, 9].into_iter())], &options).unwrap().as_mut(), 64);
    assert!(matches!(error, Some(IoError::Gap { expected: 25, actual: 80, .. })), "{error:?}");
}

#[test]
fn wrong_fields_are_named() {
    let good = String::from_utf8(cards(&[
        ("BLOCSIZE", "96".into()),
        ("OBSNCHAN", "3".into()),
        ("NPOL", "4".into()),
        ("NBITS", "8".into()),
    ]))
    .unwrap();
    let card = |key: &str, value: &str| format!("{:<80}", format!("{key:<8}= {value:>20}"));
    for (key, old, value) in [
        ("BLOCSIZE", "96", "97"),
        ("BLOCSIZE", "96", "0"),
        ("BLOCSIZE", "96", "-5"),
        ("BLOCSIZE", "96", "99999999999999999999999"),
        ("OBSNCHAN", "3", "0"),
        ("OBSNCHAN", "3", "99999999"),
        ("NPOL", "4", "3"),
        ("NPOL", "4", "nan"),
        ("NBITS", "8", "2"),
    ] {
        let mut bytes = good.replace(&card(key, old), &card(key, value)).into_bytes();
        bytes.extend([0; 96]);
        let error = open_bytes(&[bytes], &OpenOptions::default()).err().unwrap();
        assert!(matches!(&error, IoError::Field { field, .. } if *field == key), "{key} {value}: {error}");
    }
}
