//! Damaged recordings: what is good is read, at its place, and the rest is absent and counted.
#![allow(clippy::unwrap_used)] // in the functions that the tests share

use fringes_io::IoError;
use fringes_io::read::{FrameCounts, OpenOptions};
use proptest::prelude::*;

use super::{Recording, bytes, same, small};
use crate::read_support::{Everything, VdifFrame, open_bytes, read_all};

/// Eight threads of 20 frames of 80 bytes, in several seconds.
fn recording() -> Recording {
    Recording { threads: (0..8).collect(), slots: 20, words: 12, ..small() }
}

const THREADS: usize = 8;
const HEADER: usize = 32;
const FRAME: usize = HEADER + 4 * 12;

/// Bits of the header that say what every frame has in common, or whose damage shows otherwise: all but the time, the
/// thread's lowest bits (which make another thread that there is) and the extended data (of which no single bit
/// matters).
fn seen() -> impl Iterator<Item = usize> {
    [30, 31].into_iter().chain(64..112).chain(115..128)
}

fn resynchronising(recording: &Recording) -> OpenOptions {
    OpenOptions { resynchronise: true, ..recording.options() }
}

fn read(files: &[Vec<u8>], options: &OpenOptions) -> (Everything, Option<IoError>, FrameCounts) {
    let mut reader = open_bytes(files, options).unwrap();
    let (all, error) = read_all(reader.as_mut(), 37);
    (all, error, reader.counts())
}

#[test]
fn one_flipped_header_bit_costs_one_frame() {
    let recording = recording();
    let frames = recording.frames();
    let good = bytes(frames.iter().flatten());
    assert_eq!(good.len(), 20 * THREADS * FRAME);
    let mut ended_without = 0;
    for bit in seen() {
        let (slot, thread) = (9, bit % THREADS);
        let at = (slot * THREADS + thread) * FRAME;
        let mut damaged = good.clone();
        damaged[at + bit / 8] ^= 1 << (bit % 8);
        let (all, error, counts) = read(&[damaged.clone()], &resynchronising(&recording));
        assert!(error.is_none(), "bit {bit}: {error:?}");
        // The version and its three bits are not read, so their damage does no harm.
        let harmless = (64 + 29..96).contains(&bit);
        same(&all, &recording.expected(&frames, |s, t| harmless || (s, t) != (slot, thread)));
        let passed_over = counts.resynchronised > 0;
        assert_eq!(counts.skipped_bytes, if passed_over { FRAME as u64 } else { 0 }, "bit {bit}");
        assert!(passed_over || harmless || counts.invalid + counts.unknown + counts.duplicate == 1, "bit {bit}");
        ended_without += usize::from(read(&[damaged], &recording.options()).1.is_some());
    }
    // Legacy flag, channels, length, complex flag and bits end the recording where nobody asks to go on.
    assert_eq!(ended_without, 1 + 5 + 24 + 1 + 5);
}

#[test]
fn a_damaged_time_ends_nothing() {
    let recording = recording();
    let frames = recording.frames();
    let (good, expected) = (bytes(frames.iter().flatten()), recording.expected(&frames, |_, _| true));
    for bit in (0..30).chain(32..64) {
        let mut damaged = good.clone();
        damaged[75 * FRAME + bit / 8] ^= 1 << (bit % 8);
        let (all, error, _) = read(&[damaged], &resynchronising(&recording));
        assert!(error.is_none(), "bit {bit}: {error:?}");
        // Thread 3 of slot 9: it may land on another slot of that thread.
        let samples = recording.samples_per_frame();
        let is_right = |slot: usize, thread: usize| {
            let range = slot * samples..(slot + 1) * samples;
            all.present[thread][range.clone()].iter().all(|&present| present)
                && all.samples[0][thread][range.clone()] == expected.samples[0][thread][range]
        };
        let wrong = |thread: usize| (0..20).filter(|&slot| !is_right(slot, thread)).count();
        assert!((0..THREADS).all(|thread| wrong(thread) <= if thread == 3 { 2 } else { 0 }), "bit {bit}");
    }
}

#[test]
fn lost_bytes_cost_the_frames_that_lost_them() {
    let recording = recording();
    let frames = recording.frames();
    let good = bytes(frames.iter().flatten());
    let count = good.len() / FRAME;
    for lost in [1, 7, 8, 40, FRAME - 1, FRAME + 3, 5 * FRAME / 2] {
        for start in 50 * FRAME..51 * FRAME {
            let mut damaged = good.clone();
            damaged.drain(start..start + lost);
            let (all, error, counts) = read(&[damaged], &resynchronising(&recording));
            assert!(error.is_none(), "{error:?}");
            // Frames that are not whole any more, and the one before a header that the loss begins with: its last bytes
            // may have been lost as well. (The second half of a header is not needed to know it again.)
            let broken = |frame: usize| {
                let (begin, end) = (frame * FRAME, (frame + 1) * FRAME);
                begin < start + lost && end > start || (end..end + HEADER / 2).contains(&start)
            };
            same(&all, &recording.expected(&frames, |slot, thread| !broken(slot * THREADS + thread)));
            let whole = (0..count).filter(|&frame| !broken(frame)).count();
            assert_eq!(counts.resynchronised, 1);
            assert_eq!(counts.skipped_bytes as usize, good.len() - lost - whole * FRAME);
        }
    }
}

#[test]
fn a_recording_may_begin_and_end_inside_a_frame() {
    let recording = recording();
    let frames = recording.frames();
    let good = bytes(frames.iter().flatten());
    for (begin, end) in [(1, 0), (8, 0), (FRAME - 1, 1), (HEADER, FRAME - 1), (2 * FRAME + 40, 40), (FRAME, FRAME)] {
        let cut = good[begin..good.len() - end].to_vec();
        let options = resynchronising(&recording);
        let mut reader = open_bytes(std::slice::from_ref(&cut), &options).unwrap();
        assert_eq!(reader.info().inputs.antennas(), THREADS, "{begin} {end}");
        assert_eq!(reader.info().total_samples, Some(20 * recording.samples_per_frame() as u64));
        let (all, error) = read_all(reader.as_mut(), 1000);
        assert!(error.is_none(), "{error:?}");
        let (from, to) = (begin.div_ceil(FRAME), (good.len() - end) / FRAME);
        same(&all, &recording.expected(&frames, |slot, thread| (from..to).contains(&(slot * THREADS + thread))));
        let skipped = from * FRAME - begin + good.len() - end - to * FRAME;
        assert_eq!(reader.counts().skipped_bytes as usize, skipped);
        // Who does not ask for it is told.
        let strict = open_bytes(&[cut], &recording.options());
        let refused = strict.and_then(|mut reader| read_all(reader.as_mut(), 1000).1.map_or(Ok(()), Err));
        assert_eq!(refused.is_err(), begin % FRAME > 0 || end % FRAME > 0);
    }
}

#[test]
fn the_first_header_may_be_damaged() {
    let recording = recording();
    let frames = recording.frames();
    let good = bytes(frames.iter().flatten());
    for bit in seen().filter(|bit| !(93..96).contains(bit)) {
        let mut damaged = good.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (all, error, _) = read(&[damaged], &resynchronising(&recording));
        assert!(error.is_none(), "bit {bit}: {error:?}");
        same(&all, &recording.expected(&frames, |slot, thread| (slot, thread) != (0, 0)));
    }
}

#[test]
fn a_file_that_ends_inside_a_frame_is_followed_by_the_next() {
    let recording = recording();
    let frames = recording.frames();
    let good = bytes(frames.iter().flatten());
    let cut = 61 * FRAME + 50;
    let files = [good[..cut].to_vec(), good[62 * FRAME..].to_vec()];
    let (all, error, counts) = read(&files, &resynchronising(&recording));
    assert!(error.is_none(), "{error:?}");
    same(&all, &recording.expected(&frames, |slot, thread| slot * THREADS + thread != 61));
    assert_eq!((counts.resynchronised, counts.skipped_bytes), (1, 50));
    assert!(read(&files, &recording.options()).1.is_some_and(|error| error.is_truncation()));
}

#[test]
fn flipped_bits_of_station_and_thread_make_no_antenna() {
    let recording = recording();
    for slots in [2, 20] {
        let recording = Recording { slots, ..recording.clone() };
        let mut frames = recording.frames();
        // Of two frames of each thread, a thread's flipped bit makes one as good as its own; a station's does not.
        let flips: &[fn(&mut VdifFrame)] = if slots == 2 {
            &[|frame| frame.station ^= 1 << 12]
        } else {
            &[|frame| frame.station ^= 1, |frame| frame.thread ^= 1 << 9]
        };
        for flip in flips {
            let whole = frames[1][3].clone();
            flip(&mut frames[1][3]);
            for options in [recording.options(), resynchronising(&recording)] {
                let mut reader = open_bytes(&[bytes(frames.iter().flatten())], &options).unwrap();
                assert_eq!(reader.info().inputs.antennas(), THREADS);
                assert_eq!(reader.info().telescope.as_deref(), Some("Ef"));
                let (all, error) = read_all(reader.as_mut(), 1000);
                assert!(error.is_none(), "{error:?}");
                same(&all, &recording.expected(&frames, |slot, thread| (slot, thread) != (1, 3)));
                assert_eq!(reader.counts().unknown, 1);
            }
            frames[1][3] = whole;
        }
    }
}

#[test]
fn seconds_that_cannot_be_told_apart_are_an_error_also_then() {
    // One frame a second, and nobody says so: the last of the first second is not seen.
    let recording = Recording { slots: 3, frames_per_second: 4, first_frame: 0, ..recording() };
    let mut frames = recording.frames();
    frames.iter_mut().flatten().for_each(|frame| frame.second += 7 * frame.frame);
    let options = OpenOptions { sample_rate_hz: None, ..resynchronising(&recording) };
    let (_, error, _) = read(&[bytes(frames.iter().flatten())], &options);
    assert!(matches!(error, Some(IoError::SampleRateUnknown { .. })), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_damage_is_read_over(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3, any::<u8>(), 1usize..200), 1..12),
        legacy: bool,
    ) {
        let recording = Recording { legacy, ..recording() };
        let mut damaged = bytes(recording.frames().iter().flatten());
        for (at, what, value, count) in edits {
            let at = at.index(damaged.len());
            let end = (at + count).min(damaged.len());
            match what {
                0 => damaged[at] ^= value,
                1 => drop(damaged.drain(at..end)),
                _ => damaged[at..end].fill(value),
            }
            damaged.resize(damaged.len().max(FRAME), 0);
        }
        let length = damaged.len() as u64;
        if let Ok(mut reader) = open_bytes(&[damaged], &resynchronising(&recording)) {
            let (_, error) = read_all(reader.as_mut(), 100);
            // Times may have been damaged so that they say a long gap.
            prop_assert!(matches!(error, None | Some(IoError::Gap { .. })), "{:?}", error);
            prop_assert!(reader.counts().skipped_bytes <= length);
        }
    }
}
