//! What the first frames of a recording say: its layout, its threads, its clock.

use std::collections::{BTreeMap, BTreeSet};

use fringes_delay_model::Epoch;

use super::header::{Header, Layout};
use super::sync::{find_first_frame, find_frame, header_of_layout};
use crate::IoError;
use crate::read::source::OpenSource;
use crate::read::{InputMap, OpenOptions};

/// Frames that are looked at for threads.
const FRAMES: usize = 4096;
/// Frames that are looked at for the number of frames in a second, where the headers do not give it.
const RATE_FRAMES: usize = 1 << 18;
/// Frames at the end of a recording that are looked at for its length.
const LAST_FRAMES: u64 = 512;

/// A stream with less than this part of the frames of the commonest one is taken for damage.
const RARE: usize = 8;

/// The clock of a recording: frames are numbered from frame 0 of the second `origin`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clock {
    /// Second of the first frame, as [`Header::second`].
    origin: i64,
    /// Start of that second.
    utc: Epoch,
    pub(super) frames_per_second: Option<u64>,
}

impl Clock {
    /// Number of a frame whose header begins at `offset`.
    ///
    /// # Errors
    /// [`IoError::Field`] for a frame number that is not below the number of frames in a second,
    /// [`IoError::SampleRateUnknown`] in another second than the first where that number is not known.
    pub(super) fn number(&self, header: &Header, source: &OpenSource, offset: u64) -> Result<i64, IoError> {
        let frame = i64::from(header.frame);
        let seconds = header.second() - self.origin;
        match self.frames_per_second {
            // Seconds are below 2^32 and frames below 2^24.
            Some(rate) if u64::from(header.frame) < rate => Ok(seconds * rate as i64 + frame),
            Some(rate) => {
                let expected = format!("below {rate}, the frames in a second (give the sample rate if it is not so)");
                Err(source.field(offset, "frame number", expected, header.frame))
            }
            None if seconds == 0 => Ok(frame),
            None => Err(IoError::SampleRateUnknown {
                path: source.path().to_owned(),
                offset,
                reason: "where frames are of several seconds",
            }),
        }
    }

    /// When a frame begins, if that can be told.
    pub(super) fn time(&self, number: i64) -> Option<Epoch> {
        match self.frames_per_second {
            Some(rate) => {
                let (second, frame) = (number.div_euclid(rate as i64), number.rem_euclid(rate as i64));
                Some(self.utc.plus_seconds(second as f64 + frame as f64 / rate as f64))
            }
            None => (number == 0).then_some(self.utc),
        }
    }
}

/// What the first frames say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scan {
    pub(super) layout: Layout,
    pub(super) clock: Clock,
    /// Station and thread of every stream, ascending.
    pub(super) streams: Vec<(u16, u16)>,
    /// Number of the earliest frame.
    pub(super) first: i64,
}

impl Scan {
    /// Looks at the first frames of a recording.
    ///
    /// # Errors
    /// [`IoError::Truncated`] if there is not one whole frame, [`IoError::Field`] if the first header cannot be.
    pub(super) fn new(source: &mut OpenSource, options: &OpenOptions) -> Result<Self, IoError> {
        let start = if options.resynchronise { find_first_frame(source)?.unwrap_or(0) } else { 0 };
        source.seek(start)?;
        source.require("frame header", 16)?;
        let Some(header) = Header::read(source)? else {
            return Err(source.truncated("frame header", start, 32, 0));
        };
        let layout = Layout::new(&header, source, start)?;
        let frame_bytes = u64::from(layout.frame_bytes);
        if source.length() - start < frame_bytes {
            return Err(source.truncated("frame", start, frame_bytes, source.length() - start));
        }
        let frames_per_second = layout.frames_per_second(&header, options, source, start)?;
        let mut clock = Clock { origin: header.second(), utc: header.utc(), frames_per_second };

        let mut streams = BTreeMap::new();
        let mut times = Vec::new();
        // Of the second before the newest: its last frame. And how many frames are still to be looked at.
        let (mut newest_second, mut last_frame, mut rate) = (clock.origin, 0, None);
        let mut left = if frames_per_second.is_some() { FRAMES } else { RATE_FRAMES };
        let mut offset = start;
        while left > 0 && source.length().saturating_sub(offset) >= frame_bytes {
            source.seek(offset)?;
            let Some(header) = Header::read(source)? else { break };
            if layout.check(&header, source, offset).is_err() {
                if !options.resynchronise {
                    break; // reading will come to it
                }
                let Some(next) = find_frame(source, &layout, offset + 1, |_, _, _| Ok(true))? else { break };
                offset = next;
                left -= 1;
                continue;
            }
            if times.len() < FRAMES {
                *streams.entry((header.station, header.thread)).or_insert(0) += 1;
                times.push((header.second(), i64::from(header.frame)));
            }
            if header.second() == newest_second {
                last_frame = last_frame.max(header.frame);
            } else if header.second() == newest_second + 1 {
                newest_second += 1;
                rate = rate.max(Some(u64::from(last_frame) + 1));
                last_frame = header.frame;
                left = left.min(FRAMES);
            }
            left -= 1;
            offset += frame_bytes;
        }
        source.seek(start)?;
        if clock.frames_per_second.is_none() {
            clock.frames_per_second = rate;
        }
        let number = |&(second, frame): &(i64, i64)| match clock.frames_per_second {
            Some(rate) => Some((second - clock.origin) * rate as i64 + frame),
            None => (second == clock.origin).then_some(frame),
        };
        let anchor = times.first().and_then(number).unwrap_or(0);
        let earliest = anchor - i64::try_from(options.reorder_frames).unwrap_or(i64::MAX).min(1 << 32);
        let first = times.iter().filter_map(number).filter(|&at| at >= earliest).min().unwrap_or(anchor);
        Ok(Self { layout, clock, streams: without_damage(streams, options.mapping.as_ref()), first })
    }

    /// Whether a header is of a stream of the recording.
    fn knows(&self, header: &Header) -> bool {
        self.streams.binary_search(&(header.station, header.thread)).is_ok()
    }

    /// Number of the newest of the last frames of a source, `None` if none can be told.
    ///
    /// # Errors
    /// [`IoError::File`] if the source cannot be read.
    pub(super) fn last(&self, source: &mut OpenSource, resynchronise: bool) -> Result<Option<i64>, IoError> {
        let frame_bytes = u64::from(self.layout.frame_bytes);
        let frames = source.length() / frame_bytes;
        let mut newest = None;
        let mut offset = frames.saturating_sub(LAST_FRAMES) * frame_bytes;
        while source.length().saturating_sub(offset) >= frame_bytes {
            if let Some(header) = header_of_layout(source, &self.layout, offset)? {
                newest = newest.max(self.clock.number(&header, source, offset).ok());
            } else if resynchronise {
                let known = |header: &Header, _: &mut _, _| Ok(self.knows(header));
                let Some(next) = find_frame(source, &self.layout, offset + 1, known)? else { break };
                offset = next;
                continue;
            }
            offset += frame_bytes;
        }
        Ok(newest)
    }
}

/// The streams of a recording, ascending, of the frames that each has among the first ones.
///
/// A flipped bit in the station or the thread of a header makes a frame of a stream that does not exist. Such a stream
/// is left out: one with at most an eighth of the frames of the commonest stream; and of a station with at most an
/// eighth of the frames of the commonest station, every stream, if the station has at most half of the frames of the
/// commonest stream. A stream that the map names and no other stream can be stays.
fn without_damage(frames: BTreeMap<(u16, u16), usize>, map: Option<&InputMap>) -> Vec<(u16, u16)> {
    let mut stations = BTreeMap::<u16, usize>::new();
    for (&(station, _), &count) in &frames {
        *stations.entry(station).or_default() += count;
    }
    let most = frames.values().copied().max().unwrap_or(0);
    let most_of_station = stations.values().copied().max().unwrap_or(0);
    let is_common = |stream: &(u16, u16), count: usize| {
        let of_station = stations.get(&stream.0).copied().unwrap_or(0);
        let rare_station = RARE * of_station <= most_of_station && 2 * of_station <= most;
        RARE * count > most && !rare_station
    };
    let mut streams: BTreeSet<(u16, u16)> =
        frames.iter().filter(|&(stream, &count)| is_common(stream, count)).map(|(&stream, _)| stream).collect();
    for (station, thread) in map.iter().flat_map(|map| map.vdif_streams()) {
        let fits =
            |stream: &&(u16, u16)| u32::from(stream.1) == thread && station.is_none_or(|station| station == stream.0);
        if !streams.iter().any(|stream| fits(&stream)) {
            streams.extend(frames.keys().filter(fits));
        }
    }
    let left_out = frames.len() - streams.len();
    if left_out > 0 {
        tracing::warn!(left_out, "VDIF streams of a few frames among the first ones are taken for damaged headers");
    }
    streams.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(frames: &[((u16, u16), usize)], map: Option<&str>) -> Vec<(u16, u16)> {
        let map: Option<InputMap> = map.map(|map| map.parse().unwrap());
        without_damage(frames.iter().copied().collect(), map.as_ref())
    }

    #[test]
    fn streams_of_damaged_headers_are_left_out() {
        // Eight threads of two frames; a bit of the station of one of the 16 frames was flipped.
        let mut frames: Vec<_> = (0..8).map(|thread| ((7, thread), 2)).collect();
        (frames[3].1, frames[0].1) = (1, 2);
        frames.push(((71, 3), 1));
        assert_eq!(kept(&frames, None), (0..8).map(|thread| (7, thread)).collect::<Vec<_>>());
        // Unless the map asks for it.
        let mapped = kept(&frames, Some("7/0:0,71/3:1"));
        assert!(mapped.contains(&(71, 3)) && mapped.len() == 9);
        // A thread.
        assert_eq!(kept(&[((7, 0), 512), ((7, 1), 511), ((7, 9), 1)], None), [(7, 0), (7, 1)]);
        assert_eq!(kept(&[((7, 0), 512), ((7, 1), 511), ((7, 9), 1)], Some("0:0,9:1")), [(7, 0), (7, 1), (7, 9)]);
    }

    #[test]
    fn streams_of_few_frames_stay_where_all_have_few() {
        for frames in [
            vec![((7, 0), 2), ((7, 1), 1)],
            // A station with one thread beside one with eight.
            (0..8).map(|thread| ((7, thread), 100)).chain([((8, 0), 99)]).collect(),
            vec![((7, 0), 100), ((7, 1), 20)], // starts late
            vec![((7, 0), 1)],
        ] {
            assert_eq!(kept(&frames, None).len(), frames.len());
        }
        assert!(kept(&[], None).is_empty());
    }
}
