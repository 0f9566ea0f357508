//! Frames to blocks: a window of frame durations in which frames may come in any order.
//!
//! A *slot* is one frame duration, with one frame of every stream. Slots are handed on in the order of time, each when
//! it is full or when a frame has come that is a window's length newer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tracing::warn;

use super::header::{Header, Layout};
use super::scan::{Clock, Scan};
use super::sync::{find_frame, header_of_layout};
use super::unpack::{levels, unpack_complex, unpack_real};
use crate::IoError;
use crate::read::block::{BlockData, Piece, presence};
use crate::read::info::sky_frequencies;
use crate::read::map::{Routing, Stream};
use crate::read::source::{OpenSource, Source};
use crate::read::{Block, FileFormat, FrameCounts, OpenOptions, StreamInfo, VoltageReader};

/// Most bytes that the frames of a window may take; a window is at least two slots.
const WINDOW_BYTES: usize = 256 << 20;

/// The frames of one frame duration.
#[derive(Debug)]
struct Slot {
    /// `[stream]`: samples, if they have come and are valid.
    payloads: Vec<Option<Vec<u8>>>,
    /// `[stream]`: whether the frame has come.
    seen: Vec<bool>,
    /// Streams whose frame has not come.
    missing: usize,
}

/// A frame that is newer than the window.
#[derive(Debug)]
struct Frame {
    slot: u64,
    stream: usize,
    /// `None` if the frame is flagged invalid.
    payload: Option<Vec<u8>>,
    /// Where its header begins.
    offset: u64,
}

/// Reads VDIF.
pub(crate) struct VdifReader {
    info: Arc<StreamInfo>,
    counts: FrameCounts,
    layout: Layout,
    clock: Clock,
    routing: Routing,
    levels: Vec<f32>,
    /// `(station, thread)`, ascending.
    streams: Vec<(u16, u16)>,
    /// `[stream]`: whether the map uses it.
    used: Vec<bool>,
    /// Number of the frame that slot 0 holds.
    first: i64,
    window: BTreeMap<u64, Slot>,
    window_slots: u64,
    /// The slot that is handed on next.
    base: u64,
    pending: Option<Frame>,
    /// Slots beyond the newest that a frame may be.
    longest_gap: u64,
    newest: u64,
    /// Frames in a row that were further away than that.
    strays: u64,
    first_stray: Option<IoError>,
    source: Option<OpenSource>,
    /// Whether reading goes on behind damage.
    resynchronise: bool,
    /// Where the header of the frame begins that was read last of this source.
    last_header: Option<u64>,
    /// Whether the source's first frame is still to come, behind another file.
    at_border: bool,
    waiting: VecDeque<Source>,
    /// Why reading has ended, until it has been said.
    failed: Option<IoError>,
    /// A slot that has been handed on in part, and the samples of it that have been.
    partial: Option<(Option<Slot>, usize)>,
    next_sample: u64,
    block_bytes: usize,
    spare: Vec<Vec<u8>>,
}

/// What says whether a frame's time fits those around it.
struct Place<'a> {
    layout: &'a Layout,
    clock: &'a Clock,
    /// Number of the frame of slot 0.
    first: i64,
    window_slots: u64,
}

impl Place<'_> {
    /// Whether the time of the frame at `at` is near the newest slot, or the next frame's is near it: where a recording
    /// goes on after a gap, frames agree; a damaged time stands alone.
    fn is_borne_out(&self, source: &mut OpenSource, at: u64, number: i64, newest: u64) -> Result<bool, IoError> {
        let near = |number: i64, other: i64| number.abs_diff(other) <= self.window_slots;
        if near(number, self.first.saturating_add_unsigned(newest)) {
            return Ok(true);
        }
        let behind = at + u64::from(self.layout.frame_bytes);
        let next = header_of_layout(source, self.layout, behind)?;
        Ok(next.is_some_and(|next| self.clock.number(&next, source, behind).is_ok_and(|next| near(next, number))))
    }
}

/// A station's two characters, or its number.
fn station_name(station: u16) -> String {
    let [first, second] = station.to_be_bytes();
    if first.is_ascii_alphanumeric() && second.is_ascii_graphic() {
        format!("{}{}", char::from(first), char::from(second))
    } else {
        format!("0x{station:04x}")
    }
}

impl VdifReader {
    /// A reader of these files.
    pub(crate) fn new(mut sources: VecDeque<Source>, options: &OpenOptions) -> Result<Self, IoError> {
        let mut source = sources.pop_front().ok_or(IoError::NoFiles)?.open()?;
        let scan = Scan::new(&mut source, options)?;
        let last = match sources.pop_back() {
            Some(other) => {
                let mut other = other.open()?;
                let last = scan.last(&mut other, options.resynchronise)?;
                sources.push_back(other.close());
                last
            }
            None => scan.last(&mut source, options.resynchronise)?,
        };
        source.seek(0)?;
        let Scan { layout, clock, streams, first } = scan;
        let one_station = streams.iter().all(|stream| stream.0 == streams[0].0);
        let named = streams.iter().enumerate().map(|(rank, &(station, thread))| Stream {
            station: Some(station),
            number: u32::from(thread),
            name: if one_station { format!("thread {thread}") } else { format!("{}/{thread}", station_name(station)) },
            default: (rank, 0),
        });
        let routing = Routing::new(options.mapping.as_ref(), &named.collect::<Vec<_>>(), layout.channels)?;
        let samples = layout.samples as u64;
        let sample_rate_hz = clock.frames_per_second.map(|rate| rate as f64 * samples as f64);
        let slots = last.and_then(|last| u64::try_from(last - first + 1).ok());
        let info = StreamInfo {
            format: FileFormat::Vdif,
            complex: layout.complex,
            inputs: routing.inputs,
            input_names: routing.names.clone(),
            channels: routing.channels,
            bits: layout.bits,
            sample_rate_hz,
            frequencies: sky_frequencies(None, options, routing.channels, layout.complex, sample_rate_hz),
            start: clock.time(first),
            telescope: one_station.then(|| station_name(streams[0].0)),
            source: None,
            total_samples: slots.and_then(|slots| slots.checked_mul(samples)),
            channelised: options.channelised.unwrap_or(false),
            inverted: false,
        };
        let used: Vec<bool> = routing.targets.iter().map(|targets| targets.iter().any(Option::is_some)).collect();
        let frames_per_slot = used.iter().filter(|&&used| used).count().max(1);
        let affordable = WINDOW_BYTES / layout.payload_bytes().max(1) / frames_per_slot;
        let gap_frames = clock.frames_per_second.map_or(f64::MAX, |rate| options.longest_gap_seconds * rate as f64);
        Ok(Self {
            info: Arc::new(info),
            counts: FrameCounts::default(),
            levels: levels(layout.bits, layout.mark5b),
            layout,
            clock,
            routing,
            streams,
            used,
            first,
            window: BTreeMap::new(),
            window_slots: options.reorder_frames.min(affordable).max(2) as u64,
            base: 0,
            pending: None,
            longest_gap: (gap_frames.max(0.0) as u64).min(1 << 62),
            newest: 0,
            strays: 0,
            first_stray: None,
            source: Some(source),
            resynchronise: options.resynchronise,
            last_header: None,
            at_border: false,
            waiting: sources,
            failed: None,
            partial: None,
            next_sample: 0,
            block_bytes: options.block_bytes,
            spare: Vec::new(),
        })
    }

    /// Goes to the next good frame, where reading is to go on behind damage. Whether the frame that was read last is
    /// whole for certain: it is not if the next one begins inside of it, or not a whole number of frames behind it.
    ///
    /// # Errors
    /// [`IoError::SampleRateUnknown`] where the rest of the file is of other seconds than its start and the number of
    /// frames in a second is not known; [`IoError::File`] if the source cannot be read.
    fn resynchronise(&mut self) -> Result<bool, IoError> {
        let Some(source) = self.source.as_mut().filter(|_| self.resynchronise) else { return Ok(true) };
        let (here, length) = (source.position(), source.length());
        if here == length {
            return Ok(true);
        }
        let header = header_of_layout(source, &self.layout, here)?;
        let number = header.map(|header| self.clock.number(&header, source, here));
        let is_whole = length - here >= u64::from(self.layout.frame_bytes);
        if is_whole && matches!(number, Some(Ok(_))) {
            return Ok(true);
        }
        // Where a good header stands at the end of the frame before, that frame has all of its bytes.
        let from = if header.is_some() { here } else { self.last_header.unwrap_or(here) } + 1;
        let place =
            Place { layout: &self.layout, clock: &self.clock, first: self.first, window_slots: self.window_slots };
        let is_good = |header: &Header, source: &mut OpenSource, at| {
            let known = self.streams.binary_search(&(header.station, header.thread)).is_ok();
            match self.clock.number(header, source, at) {
                Ok(number) if known => place.is_borne_out(source, at, number, self.newest),
                _ => Ok(false),
            }
        };
        let next = find_frame(source, &self.layout, from, is_good)?;
        if let (None, true, Some(Err(error @ IoError::SampleRateUnknown { .. }))) = (next, is_whole, number) {
            return Err(error);
        }
        let until = next.unwrap_or(length);
        // Where frames go on at another distance, bytes were lost here or in the frame before: nobody knows which.
        let in_step = until >= here && (until - here).is_multiple_of(u64::from(self.layout.frame_bytes));
        let cut_short = length - here < u64::from(self.layout.header_bytes);
        let is_intact = header.is_some() || cut_short || in_step;
        let since = if is_intact { here } else { self.last_header.unwrap_or(here) };
        self.counts.resynchronised += 1;
        self.counts.skipped_bytes += until - since;
        warn!(file = %source.path().display(), offset = since, bytes = until - since, "no VDIF frames: passed over");
        source.seek(until)?;
        Ok(is_intact)
    }

    /// Reads frames until one is for the window or beyond it. `None` where the recording ends.
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        loop {
            self.resynchronise()?;
            let Some(source) = &mut self.source else {
                let Some(next) = self.waiting.pop_front() else { return Ok(None) };
                self.source = Some(next.open()?);
                self.last_header = None;
                self.at_border = true;
                continue;
            };
            let offset = source.position();
            let Some(header) = Header::read(source)? else {
                self.source = None;
                continue;
            };
            self.layout.check(&header, source, offset)?;
            let payload_bytes = self.layout.payload_bytes();
            if source.remaining() < payload_bytes as u64 {
                let (expected, actual) = (u64::from(self.layout.frame_bytes), source.length() - offset);
                return Err(source.truncated("frame", offset, expected, actual));
            }
            let number = self.clock.number(&header, source, offset)?;
            let behind = source.position() + payload_bytes as u64;
            self.counts.frames += 1;
            self.last_header = Some(offset);
            let slot = u64::try_from(number - self.first).ok();
            if std::mem::take(&mut self.at_border) && slot.is_none_or(|slot| slot + self.window_slots < self.newest) {
                return Err(IoError::FileOrder { path: source.path().to_owned(), offset });
            }
            let stream = self.streams.binary_search(&(header.station, header.thread));
            let (Ok(stream), Some(slot)) = (stream, slot.filter(|&slot| slot >= self.base)) else {
                match stream {
                    Ok(_) => self.counts.late += 1,
                    Err(_) => self.counts.unknown += 1,
                }
                source.seek(behind)?;
                continue;
            };
            if slot > self.newest.saturating_add(self.longest_gap) {
                // One damaged header must not end the recording; many that agree are a gap.
                let samples = self.layout.samples as u64;
                let gap = || IoError::Gap {
                    path: source.path().to_owned(),
                    offset,
                    expected: self.longest_gap.saturating_mul(samples),
                    actual: (slot - self.newest - 1).saturating_mul(samples),
                };
                self.first_stray.get_or_insert_with(gap);
                self.strays += 1;
                self.counts.stray += 1;
                if self.strays > 4 * self.streams.len() as u64 + 16 {
                    return self.first_stray.take().map_or(Ok(None), Err);
                }
                source.seek(behind)?;
                continue;
            }
            if self.resynchronise && slot > self.newest.saturating_add(self.window_slots) {
                let Self { layout, clock, first, window_slots, .. } = self;
                let place = Place { layout, clock, first: *first, window_slots: *window_slots };
                let borne_out = place.is_borne_out(source, offset, number, self.newest)?;
                source.seek(behind - payload_bytes as u64)?;
                if !borne_out {
                    // A damaged time: all that comes before it would be late.
                    self.counts.stray += 1;
                    source.seek(behind)?;
                    continue;
                }
            }
            (self.strays, self.first_stray) = (0, None);
            self.newest = self.newest.max(slot);
            if !self.used[stream] {
                source.seek(behind)?;
                continue;
            }
            if header.invalid {
                self.counts.invalid += 1;
                source.seek(behind)?;
                return Ok(Some(Frame { slot, stream, payload: None, offset }));
            }
            let mut payload = self.spare.pop().unwrap_or_default();
            source.read_into(&mut payload, payload_bytes)?;
            if !self.resynchronise()? {
                self.spare.push(payload);
                continue;
            }
            return Ok(Some(Frame { slot, stream, payload: Some(payload), offset }));
        }
    }

    /// Puts a frame of the window into its slot.
    fn insert(&mut self, frame: Frame) {
        let streams = self.streams.len();
        let missing = self.used.iter().filter(|&&used| used).count();
        let slot = self.window.entry(frame.slot).or_insert_with(|| Slot {
            payloads: std::iter::repeat_with(|| None).take(streams).collect(),
            seen: vec![false; streams],
            missing,
        });
        if slot.seen[frame.stream] {
            self.counts.duplicate += 1;
            tracing::debug!(offset = frame.offset, "a second frame of the same thread and time is left out");
            self.spare.extend(frame.payload);
            return;
        }
        slot.seen[frame.stream] = true;
        slot.missing -= 1;
        slot.payloads[frame.stream] = frame.payload;
    }

    /// The slot that is next in time: `Some(None)` if nothing of it has come, `None` at the end.
    fn next_slot(&mut self) -> Option<Option<Slot>> {
        loop {
            let end = self.base.saturating_add(self.window_slots);
            if let Some(frame) = self.pending.take_if(|frame| frame.slot < end) {
                self.insert(frame);
            }
            let full = self.window.get(&self.base).is_some_and(|slot| slot.missing == 0);
            let ended = self.source.is_none() && self.waiting.is_empty();
            if full || self.pending.is_some() || (ended && !self.window.is_empty()) {
                let slot = self.window.remove(&self.base);
                self.base += 1;
                return Some(slot);
            }
            if ended {
                return None;
            }
            match self.next_frame() {
                Ok(Some(frame)) if frame.slot < end => self.insert(frame),
                Ok(Some(frame)) => self.pending = Some(frame),
                Ok(None) => self.finish(None),
                Err(error) => self.finish(Some(error)),
            }
        }
    }

    /// Ends reading, for a reason or because the files have ended.
    fn finish(&mut self, failed: Option<IoError>) {
        self.source = None;
        self.waiting.clear();
        self.failed = failed.or(self.first_stray.take());
        let FrameCounts { late, unknown, stray, .. } = self.counts;
        if late + unknown + stray > 0 {
            warn!(late, unknown, stray, "VDIF frames were left out");
        }
    }
}

impl VoltageReader for VdifReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn counts(&self) -> FrameCounts {
        self.counts
    }

    fn read(&mut self, max_times: usize) -> Result<Option<Block>, IoError> {
        let samples = self.layout.samples;
        let wanted = BlockData::affordable_times(&self.info, self.block_bytes, max_times);
        // Slots first, so that what is allocated is what has come.
        let mut slots = Vec::new();
        let mut times = 0;
        while times < wanted {
            let (slot, from) = match self.partial.take() {
                Some(partial) => partial,
                None => match self.next_slot() {
                    Some(slot) => (slot, 0),
                    None => break,
                },
            };
            let count = (samples - from).min(wanted - times);
            slots.push((slot, Piece { start: times, from, count }));
            times += count;
        }
        if times == 0 {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let (channels, inputs) = (self.routing.channels, self.routing.inputs.len());
        let mut data = BlockData::zeros(self.layout.complex, (channels, inputs, times));
        let mut clamped = 0;
        for (slot, piece) in slots.iter() {
            let Some(slot) = slot else { continue };
            for (payload, targets) in slot.payloads.iter().zip(&self.routing.targets) {
                let Some(payload) = payload else { continue };
                let start = |target: &Option<crate::read::map::Target>| {
                    target.map(|target| (target.channel * inputs + target.input) * times + piece.start)
                };
                let starts: Vec<_> = targets.iter().map(start).collect();
                let range = (piece.from, piece.count);
                clamped += match &mut data {
                    BlockData::Real(data) => {
                        let out = data.as_slice_mut().unwrap_or_default();
                        unpack_real(payload, &self.layout, &self.levels, range, &starts, out)
                    }
                    BlockData::Complex(data) => {
                        let out = data.as_slice_mut().unwrap_or_default();
                        unpack_complex(payload, &self.layout, &self.levels, range, &starts, out)
                    }
                };
            }
        }
        let present = |slot: &Option<Slot>, input: usize| {
            slot.as_ref()
                .is_some_and(|slot| self.routing.feeders[input].iter().all(|&stream| slot.payloads[stream].is_some()))
        };
        let pieces: Vec<Piece> = slots.iter().map(|(_, piece)| *piece).collect();
        let presence = presence(&pieces, samples, inputs, |piece, input| present(&slots[piece].0, input))?;
        let first_sample = self.next_sample;
        self.next_sample += times as u64;
        if let Some((slot, piece)) = slots.pop() {
            match piece.from + piece.count {
                until if until < samples => self.partial = Some((slot, until)),
                _ => slots.push((slot, piece)),
            }
        }
        for payload in slots.into_iter().filter_map(|(slot, _)| slot).flat_map(|slot| slot.payloads).flatten() {
            if self.spare.len() < self.streams.len() * 4 {
                self.spare.push(payload);
            }
        }
        let info = Arc::clone(&self.info);
        Ok(Some(Block { first_sample, data, presence, clamped, info }))
    }
}
