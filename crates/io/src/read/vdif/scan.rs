//! What the first frames of a recording say: its layout, its threads, its clock.

use super::header::{Header, Layout};
use crate::IoError;
use crate::read::source::OpenSource;
use crate::read::{OpenOptions, UtcTime};

/// Frames that are looked at for threads.
const FRAMES: usize = 4096;
/// Frames that are looked at for the number of frames in a second, where the headers do not give it.
const RATE_FRAMES: usize = 1 << 18;
/// Frames at the end of a recording that are looked at for its length.
const LAST_FRAMES: u64 = 512;

/// The clock of a recording: frames are numbered from frame 0 of the second `origin`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clock {
    /// Second of the first frame, as [`Header::second`].
    origin: i64,
    /// Start of that second.
    utc: UtcTime,
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
    pub(super) fn time(&self, number: i64) -> Option<UtcTime> {
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
    /// Looks at the first frames of a recording, from where the source stands.
    ///
    /// # Errors
    /// [`IoError::Truncated`] if there is not one whole frame, [`IoError::Field`] if the first header cannot be.
    pub(super) fn new(source: &mut OpenSource, options: &OpenOptions) -> Result<Self, IoError> {
        let start = source.position();
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

        let mut streams = std::collections::BTreeSet::new();
        let mut times = Vec::new();
        // Of the second before the newest: its last frame. And how many frames are still to be looked at.
        let (mut newest_second, mut last_frame, mut rate) = (clock.origin, 0, None);
        let mut left = if frames_per_second.is_some() { FRAMES } else { RATE_FRAMES };
        let mut offset = start;
        while left > 0 && source.length().saturating_sub(offset) >= frame_bytes {
            source.seek(offset)?;
            let Some(header) = Header::read(source)? else { break };
            if layout.check(&header, source, offset).is_err() {
                break; // reading will come to it
            }
            if times.len() < FRAMES {
                streams.insert((header.station, header.thread));
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
        Ok(Self { layout, clock, streams: streams.into_iter().collect(), first })
    }

    /// Number of the newest of the last frames of a source, `None` if none can be told.
    ///
    /// # Errors
    /// [`IoError::File`] if the source cannot be read.
    pub(super) fn last(&self, source: &mut OpenSource) -> Result<Option<i64>, IoError> {
        let frame_bytes = u64::from(self.layout.frame_bytes);
        let frames = source.length() / frame_bytes;
        let mut newest = None;
        for frame in frames.saturating_sub(LAST_FRAMES)..frames {
            let offset = frame * frame_bytes;
            source.seek(offset)?;
            let Some(header) = Header::read(source)? else { break };
            if self.layout.check(&header, source, offset).is_ok() {
                newest = newest.max(self.clock.number(&header, source, offset).ok());
            }
        }
        Ok(newest)
    }
}
