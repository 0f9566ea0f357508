//! VDIF: what is written is read.

mod damage;
use crate::read_support;

use fringes_io::IoError;
use fringes_io::read::{FileFormat, OpenOptions};
use fringes_types::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use read_support::{Everything, VdifFrame, level, open_bytes, read_all, read_bytes};

/// A recording to write.
#[derive(Debug, Clone)]
struct Recording {
    bits: u32,
    complex: bool,
    log2_channels: u32,
    legacy: bool,
    threads: Vec<u32>,
    /// Frame durations.
    slots: usize,
    frames_per_second: u32,
    first_frame: u32,
    /// Words of samples in a frame, even.
    words: usize,
    seed: u64,
}

impl Recording {
    fn samples_per_frame(&self) -> usize {
        let values = self.words * VdifFrame::values_per_word(self.bits, self.complex);
        values >> self.log2_channels >> u32::from(self.complex)
    }

    /// Frames `[slot][thread]` of random values.
    fn frames(&self) -> Vec<Vec<VdifFrame>> {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let values = self.words * VdifFrame::values_per_word(self.bits, self.complex);
        let frame = |slot: usize, thread: u32, generator: &mut Xoshiro256PlusPlus| {
            let number = self.first_frame + slot as u32;
            VdifFrame {
                legacy: self.legacy,
                second: 5000 + number / self.frames_per_second,
                frame: number % self.frames_per_second,
                log2_channels: self.log2_channels,
                complex: self.complex,
                bits: self.bits,
                thread,
                values: (0..values).map(|_| generator.random_range(0..1u32 << self.bits)).collect(),
                ..VdifFrame::default()
            }
        };
        (0..self.slots)
            .map(|slot| self.threads.iter().map(|&thread| frame(slot, thread, &mut generator)).collect())
            .collect()
    }

    /// What is to be read of frames, those that `present` says.
    fn expected(&self, frames: &[Vec<VdifFrame>], present: impl Fn(usize, usize) -> bool) -> Everything {
        let (channels, samples) = (1usize << self.log2_channels, self.samples_per_frame());
        let parts = 1 + usize::from(self.complex);
        let mut threads: Vec<usize> = (0..self.threads.len()).collect();
        threads.sort_by_key(|&index| self.threads[index]);
        let mut expected = Everything {
            samples: vec![vec![Vec::new(); threads.len()]; channels],
            present: vec![Vec::new(); threads.len()],
            ..Everything::default()
        };
        for (slot, frames) in frames.iter().enumerate() {
            for (input, &thread) in threads.iter().enumerate() {
                let is_present = present(slot, thread);
                expected.present[input].extend(vec![is_present; samples]);
                for time in 0..samples {
                    for channel in 0..channels {
                        let at = (time * channels + channel) * parts;
                        let values = &frames[thread].values[at..at + parts];
                        let part = |part: usize| values.get(part).map_or(0.0, |&value| level(self.bits, value));
                        let sample = if is_present { Complex::new(part(0), part(1)) } else { Complex::default() };
                        expected.samples[channel][input].push(sample);
                        let lowest = matches!(self.bits, 4 | 8) && values.contains(&0);
                        expected.clamped += u64::from(is_present && lowest);
                    }
                }
            }
        }
        expected
    }

    fn options(&self) -> OpenOptions {
        let rate = f64::from(self.frames_per_second) * self.samples_per_frame() as f64;
        OpenOptions { sample_rate_hz: Some(rate), reorder_frames: 8, ..OpenOptions::default() }
    }
}

fn bytes<'a>(frames: impl IntoIterator<Item = &'a VdifFrame>) -> Vec<u8> {
    frames.into_iter().flat_map(VdifFrame::bytes).collect()
}

fn small() -> Recording {
    Recording {
        bits: 2,
        complex: false,
        log2_channels: 0,
        legacy: false,
        threads: vec![3, 0, 7],
        slots: 10,
        frames_per_second: 4,
        first_frame: 2,
        words: 4,
        seed: 1,
    }
}

fn same(read: &Everything, expected: &Everything) {
    // Where, not what: these are long.
    let differs =
        |read: &[bool], expected: &[bool]| read.iter().zip(expected).position(|(read, expected)| read != expected);
    for (input, (read, expected)) in read.present.iter().zip(&expected.present).enumerate() {
        assert_eq!((read.len(), differs(read, expected)), (expected.len(), None), "presence of input {input}");
    }
    for (channel, (read, expected)) in read.samples.iter().zip(&expected.samples).enumerate() {
        assert_eq!(read.len(), expected.len(), "inputs");
        for (input, (read, expected)) in read.iter().zip(expected).enumerate() {
            let first = read.iter().zip(expected).position(|(read, expected)| read != expected);
            assert_eq!((read.len(), first), (expected.len(), None), "samples of channel {channel}, input {input}");
        }
    }
    assert_eq!((read.samples.len(), read.present.len()), (expected.samples.len(), expected.present.len()));
    assert_eq!(read.clamped, expected.clamped);
}

fn recordings() -> impl Strategy<Value = Recording> {
    let shape = (1u32..=16, any::<bool>(), 0u32..4, any::<bool>(), 1usize..=8);
    let time = (1usize..12, 2u32..6, 0u32..6, any::<u64>());
    (shape, time).prop_map(
        |((bits, complex, log2_channels, legacy, threads), (slots, frames_per_second, first, seed))| {
            let mut numbers: Vec<u32> = (0..threads as u32).map(|thread| thread * 5 % 23).collect();
            numbers.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            Recording {
                bits,
                complex,
                log2_channels: if bits.is_power_of_two() { log2_channels } else { 0 },
                legacy,
                threads: numbers,
                slots,
                frames_per_second,
                first_frame: first % frames_per_second,
                words: 16,
                seed,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_depth_and_shape_is_read_as_written(recording in recordings(), block in 1usize..200) {
        let frames = recording.frames();
        let read = read_bytes(&[bytes(frames.iter().flatten())], &recording.options(), block);
        same(&read, &recording.expected(&frames, |_, _| true));
    }

    #[test]
    fn frames_out_of_order_are_put_in_order(recording in recordings(), block in 1usize..200) {
        let frames = recording.frames();
        // Neighbouring frames change places, each moved by less than the window of eight slots.
        let mut shuffled: Vec<&VdifFrame> = frames.iter().flatten().collect();
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(recording.seed);
        shuffled.chunks_mut(4 * recording.threads.len()).for_each(|chunk| chunk.shuffle(&mut generator));
        let read = read_bytes(&[bytes(shuffled)], &recording.options(), block);
        same(&read, &recording.expected(&frames, |_, _| true));
    }

    #[test]
    fn lost_and_invalid_frames_are_zeros_that_are_flagged(
        recording in recordings(),
        block in 1usize..200,
        fates in prop::collection::vec(0u8..4, 96),
    ) {
        let mut frames = recording.frames();
        let threads = recording.threads.len();
        let fate = |slot: usize, thread: usize| {
            // The first and last frame durations are whole, so that the recording's length is known.
            if slot == 0 || slot + 1 == recording.slots { 2 } else { fates[slot * threads + thread] }
        };
        for (slot, frames) in frames.iter_mut().enumerate() {
            for (thread, frame) in frames.iter_mut().enumerate() {
                frame.invalid = fate(slot, thread) == 1;
            }
        }
        let kept = frames.iter().enumerate().flat_map(|(slot, frames)| {
            frames.iter().enumerate().filter(move |&(thread, _)| fate(slot, thread) != 0).map(|(_, frame)| frame)
        });
        let read = read_bytes(&[bytes(kept)], &recording.options(), block);
        same(&read, &recording.expected(&frames, |slot, thread| fate(slot, thread) > 1));
    }

    #[test]
    fn files_continue_each_other(recording in recordings(), block in 1usize..200, cut in 0usize..96) {
        let frames = recording.frames();
        let all: Vec<&VdifFrame> = frames.iter().flatten().collect();
        let (first, second) = all.split_at(cut.min(all.len() - 1).max(recording.threads.len()).min(all.len()));
        let mut files = vec![bytes(first.iter().copied())];
        if !second.is_empty() {
            files.push(bytes(second.iter().copied()));
        }
        let read = read_bytes(&files, &recording.options(), block);
        same(&read, &recording.expected(&frames, |_, _| true));
    }
}

#[test]
fn the_frames_of_a_second_are_counted_where_no_one_says_the_rate() {
    let recording = small();
    let frames = recording.frames();
    let options = OpenOptions::default();
    let mut reader = open_bytes(&[bytes(frames.iter().flatten())], &options).unwrap();
    let info = reader.info().clone();
    assert_eq!(info.sample_rate_hz, Some(4.0 * recording.samples_per_frame() as f64));
    assert_eq!(info.format, FileFormat::Vdif);
    assert_eq!(info.total_samples, Some(10 * recording.samples_per_frame() as u64));
    assert_eq!(info.input_names, ["thread 0", "thread 3", "thread 7"]);
    assert_eq!(info.telescope.as_deref(), Some("Ef"));
    // Epoch 40 is 1 January 2020, MJD 58849; 5000 s and two frames of a quarter of a second.
    let start = info.start.unwrap();
    assert_eq!((start.mjd_day, start.seconds), (58_849, 5000.5));
    same(&read_all(reader.as_mut(), 7).0, &recording.expected(&frames, |_, _| true));
}

#[test]
fn the_rate_is_taken_from_extended_headers() {
    for (version, unit, number, complex, expected) in
        [(3, 1 << 23, 16, false, 32e6), (1, 0, 500, true, 500e3), (4, 0, 8, false, 16e3)]
    {
        let frame = VdifFrame {
            complex,
            values: vec![1; 128],
            extended: [version << 24 | unit | number, 0xACAB_FEED, 0, 0],
            ..VdifFrame::default()
        };
        let samples = if complex { 64.0 } else { 128.0 };
        let reader = open_bytes(&[frame.bytes()], &OpenOptions::default());
        if (expected / samples) % 1.0 == 0.0 {
            assert_eq!(reader.unwrap().info().sample_rate_hz, Some(expected));
        } else {
            assert!(reader.err().unwrap().to_string().contains("sample rate"));
        }
    }
}

#[test]
fn a_leap_second_between_epoch_and_frame_is_counted() {
    // Epoch 0 is 1 January 2000; 514629935 s later is 22 April 2016, behind four leap seconds.
    let frame = VdifFrame { epoch: 0, second: 514_629_935, values: vec![1; 128], ..VdifFrame::default() };
    let reader = open_bytes(&[frame.bytes()], &OpenOptions::default()).unwrap();
    assert_eq!(reader.info().start.unwrap().to_string(), "2016-04-22T08:45:31.000000Z");
}

#[test]
fn a_recording_may_start_in_a_leap_second() {
    // Epoch 33 is 1 July 2016; 184 days later is the leap second at the end of the year.
    for (second, text) in [
        (15_897_599, "2016-12-31T23:59:59.000000Z"),
        (15_897_600, "2016-12-31T23:59:60.000000Z"),
        (15_897_601, "2017-01-01T00:00:00.000000Z"),
    ] {
        let frame = VdifFrame { epoch: 33, second, values: vec![1; 128], ..VdifFrame::default() };
        let reader = open_bytes(&[frame.bytes()], &OpenOptions::default()).unwrap();
        assert_eq!(reader.info().start.unwrap().to_string(), text);
    }
}

#[test]
fn a_thread_that_starts_late_is_absent_until_then() {
    let recording = small();
    let frames = recording.frames();
    let kept = frames.iter().enumerate().flat_map(|(slot, frames)| &frames[usize::from(slot < 4)..]);
    let read = read_bytes(&[bytes(kept)], &recording.options(), 50);
    same(&read, &recording.expected(&frames, |slot, thread| slot >= 4 || thread > 0));
}

#[test]
fn a_frame_that_comes_twice_counts_once() {
    let recording = small();
    let frames = recording.frames();
    let mut all: Vec<VdifFrame> = frames.iter().flatten().cloned().collect();
    // The second one has other samples: the first is taken.
    let mut twin = all[4].clone();
    twin.values.fill(0);
    all.insert(5, twin);
    let mut reader = open_bytes(&[bytes(&all)], &recording.options()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 11);
    assert!(error.is_none());
    same(&read, &recording.expected(&frames, |_, _| true));
    assert_eq!(reader.counts().duplicate, 1);
    assert_eq!(reader.counts().frames, 31);
}

#[test]
fn a_frame_that_comes_too_late_is_left_out_and_counted() {
    let recording = Recording { slots: 30, ..small() };
    let frames = recording.frames();
    let mut all: Vec<&VdifFrame> = frames.iter().flatten().collect();
    let late = all.remove(3 * 5); // thread 3 of slot 5 comes at the end, more than 8 slots later
    all.push(late);
    let mut reader = open_bytes(&[bytes(all)], &recording.options()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 1000);
    assert!(error.is_none());
    same(&read, &recording.expected(&frames, |slot, thread| (slot, thread) != (5, 0)));
    assert_eq!(reader.counts().late, 1);
}

#[test]
fn a_damaged_time_loses_one_frame_and_a_long_gap_is_an_error() {
    let recording = Recording { slots: 30, ..small() };
    let mut frames = recording.frames();
    frames[7][1].second += 100_000;
    let all = bytes(frames.iter().flatten());
    let mut reader = open_bytes(&[all], &recording.options()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 64);
    assert!(error.is_none());
    same(&read, &recording.expected(&frames, |slot, thread| (slot, thread) != (7, 1)));
    assert_eq!(reader.counts().stray, 1);

    for frame in frames.iter_mut().skip(8).flatten() {
        frame.second += 100_000;
    }
    let mut reader = open_bytes(&[bytes(frames.iter().flatten())], &recording.options()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 64);
    assert_eq!(read.present[0].len(), 8 * recording.samples_per_frame());
    assert!(matches!(error, Some(IoError::Gap { expected, actual, .. }) if actual > expected), "{error:?}");
}

#[test]
fn a_gap_is_filled_with_zeros_and_flagged() {
    let recording = Recording { slots: 200, ..small() };
    let frames = recording.frames();
    let inside = |slot: usize| (20..170).contains(&slot);
    let kept = frames.iter().enumerate().filter(|&(slot, _)| !inside(slot)).flat_map(|(_, frames)| frames);
    let read = read_bytes(&[bytes(kept)], &recording.options(), 100);
    same(&read, &recording.expected(&frames, |slot, _| !inside(slot)));
}

#[test]
fn files_in_the_wrong_order_are_an_error() {
    let recording = Recording { slots: 60, ..small() };
    let frames = recording.frames();
    let files = [bytes(frames[30..].iter().flatten()), bytes(frames[..30].iter().flatten())];
    let mut reader = open_bytes(&files, &recording.options()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 64);
    assert_eq!(read.present[0].len(), 30 * recording.samples_per_frame());
    assert!(matches!(&error, Some(IoError::FileOrder { path, offset: 0 }) if path.ends_with("file 1")), "{error:?}");
}

#[test]
fn a_recording_that_is_cut_short_gives_what_is_there_and_says_so() {
    let recording = small();
    let frames = recording.frames();
    let whole = bytes(frames.iter().flatten());
    let frame = whole.len() / 30;
    for cut in 1..frame {
        let mut reader = open_bytes(&[whole[..whole.len() - cut].to_vec()], &recording.options()).unwrap();
        let (read, error) = read_all(reader.as_mut(), 64);
        same(&read, &recording.expected(&frames, |slot, thread| (slot, thread) != (9, 2)));
        let error = error.unwrap();
        assert!(error.is_truncation(), "{error}");
        let place = format!("byte {}", whole.len() - frame);
        assert!(error.to_string().contains(&place) && error.to_string().contains("file 0"), "{error}");
    }
}

#[test]
fn a_map_makes_polarisations_of_threads_and_antennas_of_channels() {
    let recording = Recording { log2_channels: 1, ..small() };
    let frames = recording.frames();
    let file = [bytes(frames.iter().flatten())];
    let plain = recording.expected(&frames, |_, _| true);
    let read = |map: &str| {
        let options = OpenOptions { mapping: Some(map.parse().unwrap()), ..recording.options() };
        (read_bytes(&file, &options, 33), open_bytes(&file, &options).unwrap().info().clone())
    };
    // Without a map inputs 0, 1 and 2 are threads 0, 3 and 7.
    let (pols, info) = read("7:0x,3:0y");
    assert_eq!((info.inputs.antennas(), info.inputs.pols(), info.channels), (1, 2, 2));
    for channel in 0..2 {
        assert_eq!(pols.samples[channel], [plain.samples[channel][2].clone(), plain.samples[channel][1].clone()]);
    }
    let (antennas, info) = read("0.1:0,3.0:1,0.0:2");
    assert_eq!((info.inputs.antennas(), info.inputs.pols(), info.channels), (3, 1, 1));
    let from = |channel: usize, input: usize| plain.samples[channel][input].clone();
    assert_eq!(antennas.samples[0], [from(1, 0), from(0, 1), from(0, 0)]);
}

#[test]
fn stations_with_the_same_threads_are_told_apart() {
    let frame = |station: &[u8; 2], value: u32| VdifFrame {
        station: u16::from_be_bytes(*station),
        values: vec![value; 32],
        ..VdifFrame::default()
    };
    let file = [bytes(&[frame(b"Wb", 3), frame(b"Ef", 2)])];
    let reader = open_bytes(&file, &OpenOptions::default()).unwrap();
    assert_eq!(reader.info().input_names, ["Ef/0", "Wb/0"]);
    assert_eq!(reader.info().telescope, None);
    let options = OpenOptions { mapping: Some("Wb/0:0,Ef/0:1".parse().unwrap()), ..OpenOptions::default() };
    let read = read_bytes(&file, &options, 100);
    assert_eq!((read.samples[0][0][0].re, read.samples[0][1][0].re), (3.3359, 1.0));
}

#[test]
fn several_seconds_at_an_unknown_rate_are_an_error() {
    let frame = |second: u32| VdifFrame { second, values: vec![1; 32], frame: 3, ..VdifFrame::default() };
    let mut reader = open_bytes(&[bytes(&[frame(10), frame(20)])], &OpenOptions::default()).unwrap();
    let (read, error) = read_all(reader.as_mut(), 64);
    assert_eq!(read.present[0].len(), 32);
    assert!(matches!(error, Some(IoError::SampleRateUnknown { .. })), "{error:?}");
}

#[test]
fn a_block_takes_no_more_memory_than_allowed() {
    let recording = small();
    let options = OpenOptions { block_bytes: 3 * 4 * 20, ..recording.options() };
    let frames = recording.frames();
    let mut reader = open_bytes(&[bytes(frames.iter().flatten())], &options).unwrap();
    assert_eq!(reader.read(usize::MAX).unwrap().unwrap().times(), 20);
}
