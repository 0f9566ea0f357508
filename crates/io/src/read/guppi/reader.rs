//! Blocks of a file to blocks of samples.

use std::collections::VecDeque;
use std::sync::Arc;

use fringes_delay_model::Epoch;
use fringes_types::Frequencies;

use super::header::{Layout, read_cards};
use crate::IoError;
use crate::read::block::{BlockData, Piece, presence};
use crate::read::info::sky_frequencies;
use crate::read::integers::Integers;
use crate::read::map::{Routing, Stream};
use crate::read::source::{OpenSource, Source};
use crate::read::text::{TextHeader, sexagesimal};
use crate::read::{Block, FileFormat, FrameCounts, OpenOptions, SourceInfo, StreamInfo, VoltageReader};

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A block whose header has been read and whose data are there.
struct OpenBlock {
    /// Where its data begin.
    data: u64,
    /// Samples that have been given, or that the block before gave.
    given: usize,
}

/// Reads GUPPI raw.
pub(crate) struct GuppiReader {
    info: Arc<StreamInfo>,
    counts: FrameCounts,
    layout: Layout,
    integers: Integers,
    routing: Routing,
    source: Option<OpenSource>,
    at_border: bool,
    waiting: VecDeque<Source>,
    block: Option<OpenBlock>,
    /// Number of the first sample of the newest block.
    block_start: u64,
    /// PKTIDX that the next block has if nothing is lost.
    next_packet: Option<u64>,
    /// Missing samples before the block.
    gap: u64,
    longest_gap: u64,
    next_sample: u64,
    block_bytes: usize,
    buffer: Vec<u8>,
}

impl GuppiReader {
    /// A reader of these files.
    pub(crate) fn new(mut sources: VecDeque<Source>, options: &OpenOptions) -> Result<Self, IoError> {
        let mut source = sources.pop_front().ok_or(IoError::NoFiles)?.open()?;
        let header = read_cards(&mut source)?.ok_or_else(|| source.truncated("block header", 0, 80, 0))?;
        let layout = Layout::new(&header, &source)?;
        source.require("block", layout.bytes)?;
        let data = source.position();

        let width_hz = header.number(&source, "OBSBW")?.map(|mhz| mhz * 1e6);
        let step_hz = width_hz.map(|width| width.abs() / layout.channels as f64).filter(|&step| step > 0.0);
        let recorded_hz = match header.number(&source, "TBIN")? {
            Some(seconds) if seconds > 0.0 => Some(1.0 / seconds),
            Some(seconds) => return Err(source.field(header.offset, "TBIN", "a number above 0", seconds)),
            None => step_hz,
        };
        let sample_rate_hz = options.sample_rate_hz.or(recorded_hz);
        let inverted = width_hz.is_some_and(|width| width < 0.0);
        let centre_hz = header.number(&source, "OBSFREQ")?.map(|mhz| mhz * 1e6);
        let streams = (0..layout.antennas * layout.pols).map(|stream| {
            let (antenna, pol) = (stream / layout.pols, stream % layout.pols);
            let letter = if pol == 0 { 'x' } else { 'y' };
            let name =
                if layout.antennas == 1 { format!("pol {letter}") } else { format!("antenna {antenna} pol {letter}") };
            Stream { station: None, number: stream as u32, name, default: (antenna, pol) }
        });
        let routing = Routing::new(options.mapping.as_ref(), &streams.collect::<Vec<_>>(), layout.channels)?;
        let frequencies = centre_hz
            .zip(step_hz)
            .filter(|_| routing.whole_streams)
            .map(|(centre, step)| Frequencies::around(centre, layout.channels, step));
        let packet = header.whole(&source, "PKTIDX")?;
        let start = start_time(&header, &source)?;
        let since = packet.map(|packet| layout.packet_samples(packet, &header, &source)).transpose()?.unwrap_or(0);
        let start = match (start, sample_rate_hz) {
            (Some(start), Some(rate)) => Some(start.plus_seconds(since as f64 / rate)),
            (start, _) => start.filter(|_| since == 0),
        };
        // As if every header were as long as the first and no packet were lost.
        let mut blocks = source.length() / (data + layout.bytes);
        for other in &mut sources {
            blocks = blocks.saturating_add(other.length()? / (data + layout.bytes));
        }
        let total_samples = blocks.saturating_mul(layout.fresh() as u64).checked_add(layout.overlap as u64);
        let frequencies = sky_frequencies(frequencies, options, routing.channels, true, sample_rate_hz);
        let info = StreamInfo {
            format: FileFormat::GuppiRaw,
            complex: true,
            inputs: routing.inputs,
            input_names: routing.names.clone(),
            channels: routing.channels,
            bits: layout.bits,
            sample_rate_hz,
            frequencies,
            start,
            telescope: header.text("TELESCOP").map(str::to_owned),
            source: header.text("SRC_NAME").map(|name| SourceInfo {
                name: name.to_owned(),
                ra_deg: header.text("RA_STR").and_then(sexagesimal).map(|hours| hours * 15.0),
                dec_deg: header.text("DEC_STR").and_then(sexagesimal),
            }),
            total_samples,
            channelised: options.channelised.unwrap_or(true),
            inverted,
        };
        let gap = sample_rate_hz.map_or(f64::MAX, |rate| options.longest_gap_seconds * rate);
        Ok(Self {
            info: Arc::new(info),
            counts: FrameCounts { frames: 1, ..FrameCounts::default() },
            integers: Integers { bits: layout.bits, inverted },
            layout,
            routing,
            source: Some(source),
            at_border: false,
            waiting: sources,
            block: Some(OpenBlock { data, given: 0 }),
            block_start: 0,
            next_packet: packet.zip(layout.packets).and_then(|(packet, step)| packet.checked_add(step)),
            gap: 0,
            longest_gap: (gap.max(0.0) as u64).min(1 << 62),
            next_sample: 0,
            block_bytes: options.block_bytes,
            buffer: Vec::new(),
        })
    }

    /// Goes to the next block and notes what is missing before it. `false` at the end.
    fn next_block(&mut self) -> Result<bool, IoError> {
        loop {
            let Some(source) = &mut self.source else {
                let Some(next) = self.waiting.pop_front() else { return Ok(false) };
                self.source = Some(next.open()?);
                self.at_border = true;
                continue;
            };
            let Some(header) = read_cards(source)? else {
                self.source = None;
                continue;
            };
            let layout = Layout::new(&header, source)?;
            if layout != self.layout {
                return Err(differing_field(&self.layout, &layout, &header, source));
            }
            source.require("block", layout.bytes)?;
            self.counts.frames += 1;
            let packet = header.whole(source, "PKTIDX")?;
            let mut start = self.block_start.saturating_add(layout.fresh() as u64);
            if let Some((packet, expected)) = packet.zip(self.next_packet) {
                let Some(lost) = packet.checked_sub(expected) else {
                    if self.at_border {
                        return Err(IoError::FileOrder { path: source.path().to_owned(), offset: header.offset });
                    }
                    return Err(source.field(header.offset, "PKTIDX", format!("at least {expected}"), packet));
                };
                start = start.saturating_add(layout.packet_samples(lost, &header, source)?);
            }
            self.gap = start.saturating_sub(self.next_sample);
            if self.gap > self.longest_gap {
                let (expected, actual) = (self.longest_gap, std::mem::take(&mut self.gap));
                return Err(IoError::Gap { path: source.path().to_owned(), offset: header.offset, expected, actual });
            }
            self.at_border = false;
            self.next_packet = packet.zip(layout.packets).and_then(|(packet, step)| packet.checked_add(step));
            self.block_start = start;
            // What is left of the overlap: all of it, if nothing is lost.
            let given = usize::try_from(self.next_sample.saturating_sub(start)).unwrap_or(usize::MAX);
            self.block = Some(OpenBlock { data: source.position(), given: given.min(layout.samples - 1) });
            return Ok(true);
        }
    }

    /// Reads samples `from..from + data.times` of a block into `data`. Returns how many were clamped.
    fn fill(&mut self, at: u64, from: usize, data: &mut BlockData) -> Result<u64, IoError> {
        let Some(source) = &mut self.source else { return Ok(0) };
        let Layout { antennas, channels, pols, samples, time_first, .. } = self.layout;
        let (_, inputs, times) = data.dim();
        let cell = self.layout.cell_bytes();
        // The start in the block of samples of what is recorded as `(antenna, channel, pol)`.
        let start = |antenna: usize, channel: usize, pol: usize| {
            let channel = if self.integers.inverted { channels - 1 - channel } else { channel };
            let target = self.routing.targets[antenna * pols + pol][channel];
            target.map(|target| (target.channel * inputs + target.input) * times)
        };
        // Rows of a file: a time of one channel, or of all.
        let rows: Vec<(u64, Vec<Option<usize>>)> = if time_first {
            let items = (0..channels * pols).map(|item| start(0, item / pols, item % pols));
            vec![(0, items.collect())]
        } else {
            let row = |index: usize| (0..pols).map(|pol| start(index / channels, index % channels, pol)).collect();
            (0..antennas * channels).map(|index| (index as u64 * samples as u64, row(index))).collect()
        };
        let row_bytes = if time_first { cell * channels } else { cell };
        let mut clamped = 0;
        for (first_row, starts) in rows {
            if starts.iter().all(Option::is_none) {
                continue;
            }
            let mut time = 0;
            while time < times {
                let count = (CHUNK_BYTES / row_bytes).max(1).min(times - time);
                source.seek(at + (first_row + (from + time) as u64) * row_bytes as u64)?;
                source.read_into(&mut self.buffer, count * row_bytes)?;
                let sample = self.next_sample + time as u64;
                clamped += self.integers.put_rows(&self.buffer, &starts, (time, sample), data);
                time += count;
            }
        }
        source.seek(at + self.layout.bytes)?;
        Ok(clamped)
    }

    /// The next block, or `None` at the end.
    fn try_read(&mut self, max_times: usize) -> Result<Option<Block>, IoError> {
        let wanted = BlockData::affordable_times(&self.info, self.block_bytes, max_times);
        if self.block.is_none() && !self.next_block()? {
            return Ok(None);
        }
        let Some(block) = &mut self.block else { return Ok(None) };
        let missing = self.gap > 0;
        let left =
            if missing { usize::try_from(self.gap).unwrap_or(usize::MAX) } else { self.layout.samples - block.given };
        let times = wanted.min(left);
        let dim = (self.routing.channels, self.routing.inputs.len(), times);
        let mut data = BlockData::zeros(true, dim);
        let first_sample = self.next_sample;
        let (mut clamped, mut flags) = (0, None);
        if missing {
            let pieces = [Piece { start: 0, from: 0, count: times }];
            flags = presence(&pieces, times, dim.1, |_, _| false)?;
            self.gap -= times as u64;
        } else {
            let (at, from) = (block.data, block.given);
            block.given += times;
            if block.given == self.layout.samples {
                self.block = None;
            }
            clamped = self.fill(at, from, &mut data)?;
        }
        self.next_sample += times as u64;
        let info = Arc::clone(&self.info);
        Ok(Some(Block { first_sample, data, presence: flags, clamped, info }))
    }
}

/// The time at which PKTIDX was 0.
fn start_time(header: &TextHeader, source: &OpenSource) -> Result<Option<Epoch>, IoError> {
    let Some(day) = header.whole(source, "STT_IMJD")?.filter(|&day| day > 0) else { return Ok(None) };
    let mjd_day = i64::try_from(day).ok().filter(|&day| day < 10_000_000);
    let mjd_day = mjd_day.ok_or_else(|| source.field(header.offset, "STT_IMJD", "a modified Julian day", day))?;
    let seconds = header.number(source, "STT_SMJD")?.unwrap_or(0.0) + header.number(source, "STT_OFFS")?.unwrap_or(0.0);
    Ok(Some(Epoch { mjd_day, seconds: 0.0 }.plus_seconds(seconds)))
}

/// The error of a block that is not like the first.
fn differing_field(first: &Layout, other: &Layout, header: &TextHeader, source: &OpenSource) -> IoError {
    let (field, expected, actual) = [
        ("BLOCSIZE", first.bytes, other.bytes),
        ("NANTS", first.antennas as u64, other.antennas as u64),
        ("OBSNCHAN", (first.channels * first.antennas) as u64, (other.channels * other.antennas) as u64),
        ("NPOL", first.pols as u64, other.pols as u64),
        ("NBITS", u64::from(first.bits), u64::from(other.bits)),
        ("OVERLAP", first.overlap as u64, other.overlap as u64),
        ("PKTFMT SIMPLE", u64::from(first.time_first), u64::from(other.time_first)),
    ]
    .into_iter()
    .find(|(_, expected, actual)| expected != actual)
    .unwrap_or(("PKTSIZE", first.packets.unwrap_or(0), other.packets.unwrap_or(0)));
    source.field(header.offset, field, format!("{expected}, as in the first block"), actual)
}

impl VoltageReader for GuppiReader {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn counts(&self) -> FrameCounts {
        self.counts
    }

    fn read(&mut self, max_times: usize) -> Result<Option<Block>, IoError> {
        let block = self.try_read(max_times);
        if block.is_err() {
            // The error is said once; nothing comes behind it.
            (self.source, self.block, self.gap) = (None, None, 0);
            self.waiting.clear();
        }
        block
    }
}
