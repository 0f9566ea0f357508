//! Files to blocks of samples.

use std::collections::VecDeque;
use std::sync::Arc;

use fringes_types::Frequencies;
use tracing::warn;

use super::header::{Layout, read_header, start_time};
use crate::IoError;
use crate::read::block::{BlockData, Piece, presence};
use crate::read::info::sky_frequencies;
use crate::read::integers::Integers;
use crate::read::map::{Routing, Stream};
use crate::read::source::{OpenSource, Source};
use crate::read::text::{TextHeader, sexagesimal};
use crate::read::{Block, DadaOrder, FileFormat, FrameCounts, OpenOptions, SourceInfo, StreamInfo, VoltageReader};

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads PSRDADA.
pub(crate) struct DadaReader {
    info: Arc<StreamInfo>,
    counts: FrameCounts,
    layout: Layout,
    integers: Integers,
    routing: Routing,
    /// The order that the caller gives.
    order: Option<DadaOrder>,
    /// The file that stands at its next sample, and where its data end.
    source: Option<(OpenSource, u64)>,
    waiting: VecDeque<Source>,
    /// OBS_OFFSET of the next byte if nothing is lost.
    next_byte: Option<u64>,
    /// Missing samples before the next.
    gap: u64,
    longest_gap: u64,
    next_sample: u64,
    block_bytes: usize,
    buffer: Vec<u8>,
}

/// Where the data of a file end: at its end, or before it if FILE_SIZE says so.
fn data_end(header: &TextHeader, source: &OpenSource) -> Result<u64, IoError> {
    let end = match header.whole(source, "FILE_SIZE")? {
        Some(size) if size > 0 => source.position().saturating_add(size).min(source.length()),
        _ => source.length(),
    };
    if end < source.length() {
        let ignored = source.length() - end;
        warn!(file = %source.path().display(), ignored, "bytes behind FILE_SIZE are left out");
    }
    Ok(end)
}

impl DadaReader {
    /// A reader of these files.
    pub(crate) fn new(mut sources: VecDeque<Source>, options: &OpenOptions) -> Result<Self, IoError> {
        let mut source = sources.pop_front().ok_or(IoError::NoFiles)?.open()?;
        let header = read_header(&mut source)?;
        let layout = Layout::new(&header, &source, options.dada_order)?;
        let sample_bytes = layout.sample_bytes() as u64;
        source.require("sample", sample_bytes)?;
        let (data, end) = (source.position(), data_end(&header, &source)?);

        let width_hz = header.number(&source, "BW")?.map(|mhz| mhz * 1e6).filter(|&width| width != 0.0);
        let step_hz = width_hz.map(|width| width.abs() / layout.channels as f64);
        let recorded_hz = match header.number(&source, "TSAMP")? {
            Some(micros) if micros > 0.0 => Some(1e6 / micros),
            Some(micros) => return Err(source.field(header.offset, "TSAMP", "a number above 0", micros)),
            None => step_hz.map(|step| if layout.complex { step } else { 2.0 * step }),
        };
        let sample_rate_hz = options.sample_rate_hz.or(recorded_hz);
        let inverted = width_hz.is_some_and(|width| width < 0.0);
        let centre_hz = header.number(&source, "FREQ")?.map(|mhz| mhz * 1e6).filter(|&centre| centre > 0.0);
        let stream = |pol: usize| Stream {
            station: None,
            number: pol as u32,
            name: format!("pol {}", if pol == 0 { 'x' } else { 'y' }),
            default: (0, pol),
        };
        let streams: Vec<_> = (0..layout.pols).map(stream).collect();
        let routing = Routing::new(options.mapping.as_ref(), &streams, layout.channels)?;
        let frequencies = centre_hz
            .zip(step_hz)
            .filter(|_| routing.whole_streams)
            .map(|(centre, step)| Frequencies::around(centre, layout.channels, step));
        let offset = header.whole(&source, "OBS_OFFSET")?;
        let since = offset.unwrap_or(0) / sample_bytes;
        let start = match (start_time(&header), sample_rate_hz) {
            (Some(start), Some(rate)) => Some(start.plus_seconds(since as f64 / rate)),
            (start, _) => start.filter(|_| since == 0),
        };
        let mut total_samples = (end - data) / sample_bytes;
        for other in &mut sources {
            // As if every header were as long as the first and nothing were lost or doubled.
            total_samples = total_samples.saturating_add(other.length()?.saturating_sub(data) / sample_bytes);
        }
        let frequencies = sky_frequencies(frequencies, options, routing.channels, layout.complex, sample_rate_hz);
        let info = StreamInfo {
            format: FileFormat::Dada,
            complex: layout.complex,
            inputs: routing.inputs,
            input_names: routing.names.clone(),
            channels: routing.channels,
            bits: layout.bits,
            sample_rate_hz,
            frequencies,
            start,
            telescope: header.text("TELESCOPE").map(str::to_owned),
            source: header.text("SOURCE").map(|name| SourceInfo {
                name: name.to_owned(),
                ra_deg: header.text("RA").and_then(sexagesimal).map(|hours| hours * 15.0),
                dec_deg: header.text("DEC").and_then(sexagesimal),
            }),
            total_samples: Some(total_samples),
            channelised: options.channelised.unwrap_or(layout.channels > 1),
            inverted,
        };
        let gap = sample_rate_hz.map_or(f64::MAX, |rate| options.longest_gap_seconds * rate);
        Ok(Self {
            info: Arc::new(info),
            counts: FrameCounts { frames: 1, ..FrameCounts::default() },
            integers: Integers { bits: layout.bits, inverted },
            layout,
            routing,
            order: options.dada_order,
            next_byte: offset.and_then(|offset| offset.checked_add(end - data)),
            source: Some((source, end)),
            waiting: sources,
            gap: 0,
            longest_gap: (gap.max(0.0) as u64).min(1 << 62),
            next_sample: 0,
            block_bytes: options.block_bytes,
            buffer: Vec::new(),
        })
    }

    /// Goes to the next file if the one that is open has ended. `false` at the end of the last.
    fn next_file(&mut self) -> Result<bool, IoError> {
        let sample_bytes = self.layout.sample_bytes() as u64;
        loop {
            if let Some((source, end)) = &self.source {
                let left = end.saturating_sub(source.position());
                if left >= sample_bytes {
                    return Ok(true);
                }
                if left > 0 {
                    return Err(source.truncated("sample", source.position(), sample_bytes, left));
                }
            }
            let Some(next) = self.waiting.pop_front() else { return Ok(false) };
            let mut source = next.open()?;
            let header = read_header(&mut source)?;
            let layout = Layout::new(&header, &source, self.order)?;
            if layout != self.layout {
                return Err(differing_field(&self.layout, &layout, &header, &source));
            }
            self.counts.frames += 1;
            let (data, end) = (source.position(), data_end(&header, &source)?);
            let offset = header.whole(&source, "OBS_OFFSET")?;
            if let Some((offset, expected)) = offset.zip(self.next_byte) {
                let path = || source.path().to_owned();
                if offset > expected {
                    let lost = offset - expected;
                    if lost % sample_bytes != 0 {
                        let wanted = format!("{expected} and a multiple of {sample_bytes}, the bytes of a sample");
                        return Err(source.field(header.offset, "OBS_OFFSET", wanted, offset));
                    }
                    self.gap = lost / sample_bytes;
                    if self.gap > self.longest_gap {
                        let (expected, actual) = (self.longest_gap, std::mem::take(&mut self.gap));
                        return Err(IoError::Gap { path: path(), offset: header.offset, expected, actual });
                    }
                }
                let doubled = expected.saturating_sub(offset);
                if doubled > 0 {
                    if doubled >= end - data {
                        return Err(IoError::FileOrder { path: path(), offset: header.offset });
                    }
                    source.seek(data + doubled)?;
                }
            }
            self.next_byte = offset.and_then(|offset| offset.checked_add(end - data));
            self.source = Some((source, end));
            if self.gap > 0 {
                return Ok(true);
            }
        }
    }

    /// The next block, or `None` at the end.
    fn try_read(&mut self, max_times: usize) -> Result<Option<Block>, IoError> {
        let wanted = BlockData::affordable_times(&self.info, self.block_bytes, max_times);
        if self.gap == 0 && !self.next_file()? {
            return Ok(None);
        }
        let Some((source, end)) = &mut self.source else { return Ok(None) };
        let Layout { channels, pols, complex, pol_fastest, .. } = self.layout;
        let sample_bytes = self.layout.sample_bytes();
        let inputs = self.routing.inputs.len();
        let missing = self.gap > 0;
        let left = if missing { self.gap } else { end.saturating_sub(source.position()) / sample_bytes as u64 };
        let times = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut data = BlockData::zeros(complex, (self.routing.channels, inputs, times));
        let first_sample = self.next_sample;
        let (mut clamped, mut flags) = (0, None);
        if missing {
            flags = presence(&[Piece { start: 0, from: 0, count: times }], times, inputs, |_, _| false)?;
            self.gap -= times as u64;
        } else {
            let starts: Vec<_> = (0..channels * pols)
                .map(|item| {
                    let (pol, channel) =
                        if pol_fastest { (item % pols, item / pols) } else { (item / channels, item % channels) };
                    let channel = if self.integers.inverted { channels - 1 - channel } else { channel };
                    let target = self.routing.targets[pol][channel];
                    target.map(|target| (target.channel * inputs + target.input) * times)
                })
                .collect();
            let mut time = 0;
            while time < times {
                let count = (CHUNK_BYTES / sample_bytes).max(1).min(times - time);
                source.read_into(&mut self.buffer, count * sample_bytes)?;
                let sample = first_sample + time as u64;
                clamped += self.integers.put_rows(&self.buffer, &starts, (time, sample), &mut data);
                time += count;
            }
        }
        self.next_sample += times as u64;
        let info = Arc::clone(&self.info);
        Ok(Some(Block { first_sample, data, presence: flags, clamped, info }))
    }
}

/// The error of a file that is not like the first.
fn differing_field(first: &Layout, other: &Layout, header: &TextHeader, source: &OpenSource) -> IoError {
    let (field, expected, actual) = [
        ("NBIT", first.bits as usize, other.bits as usize),
        ("NDIM", 1 + usize::from(first.complex), 1 + usize::from(other.complex)),
        ("NPOL", first.pols, other.pols),
        ("NCHAN", first.channels, other.channels),
    ]
    .into_iter()
    .find(|(_, expected, actual)| expected != actual)
    .unwrap_or(("ORDER", usize::from(first.pol_fastest), usize::from(other.pol_fastest)));
    source.field(header.offset, field, format!("{expected}, as in the first file"), actual)
}

impl VoltageReader for DadaReader {
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
            (self.source, self.gap) = (None, 0);
            self.waiting.clear();
        }
        block
    }
}
