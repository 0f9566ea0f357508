//! The corner turn by messages of NCCL.

use std::ops::Range;

use fringes_gpu::nccl::{Communicators, Exchange};
use fringes_gpu::{BlockPitch, Buffer, Stream};
use fringes_types::VoltageSample;

use crate::turn::TurnError;
use crate::turn::header::Header;
use crate::turn::peer::copy_part;
use crate::{DeviceArray, DeviceError, DeviceHeaps, Workspace};

/// The corner turn among GPUs of one process by NCCL, all at once: what [`turn_channels`](crate::turn_channels) does by
/// copies for one GPU, and the same bits.
///
/// ```text
/// frames ── rows to blocks by GPU ── send | receive ── blocks to rows ── all antennas, some channels
/// ```
///
/// What a GPU sends to one other lies together, so that it is packed before and placed behind, by copies on the GPU;
/// all channels need no packing, and what comes of a single batch no placing. A GPU's own part is copied to its place.
#[derive(Debug)]
pub struct NcclTurn {
    communicators: Communicators,
    /// One a GPU.
    streams: Vec<Stream>,
}

/// What a GPU has to send to others, and where what they send comes to.
struct Parts<V> {
    /// By rank: packed, or none where frames are sent as they are or not at all.
    packed: Vec<Option<Buffer<V>>>,
    /// By rank: what is to be placed, or none where it comes to its place or not at all.
    arriving: Vec<Option<Buffer<V>>>,
}

impl NcclTurn {
    /// The turn among the GPUs of streams, on which it is queued. A GPU's rank is the place of its stream.
    ///
    /// # Errors
    /// [`TurnError::Device`] without the library NCCL, for no stream, for two of one GPU, and with what NCCL answers.
    pub fn new(streams: &[Stream]) -> Result<Self, TurnError> {
        let devices: Vec<_> = streams.iter().map(|stream| stream.device().clone()).collect();
        Ok(Self { communicators: Communicators::new(&devices)?, streams: streams.to_vec() })
    }

    /// The streams, one a GPU.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// All antennas of `channels[r]` on the GPU of each rank `r`, of `frames[r]` that lie there: frames, shares of
    /// channels and what comes out as of [`turn_channels`](crate::turn_channels). Order as there, each GPU's part on
    /// its stream.
    ///
    /// # Errors
    /// As [`turn_channels`](crate::turn_channels); [`TurnError::Ranks`] unless frames and shares are one a GPU;
    /// [`DeviceError::WrongDevice`] for frames that lie on another GPU than their rank's.
    pub fn turn<V: VoltageSample>(
        &mut self,
        frames: &[&DeviceHeaps<'_, V>],
        channels: &[Range<usize>],
    ) -> Result<Vec<DeviceHeaps<'static, V>>, TurnError> {
        let ranks = self.streams.len();
        for (what, actual) in [("frames", frames.len()), ("shares of channels", channels.len())] {
            if actual != ranks {
                return Err(TurnError::Ranks { what, expected: ranks, actual });
            }
        }
        let headers = channels.iter().map(|channels| Header::of(frames, channels.clone()));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        for (heaps, stream) in frames.iter().zip(&self.streams) {
            if !heaps.array().device().is_same(stream.device()) {
                return Err(DeviceError::wrong_device(stream.device(), heaps.array().device()).into());
            }
        }
        let mut out = Vec::with_capacity(ranks);
        for (header, stream) in headers.iter().zip(&self.streams) {
            out.push(Workspace::pool(stream.device()).take::<V>(stream, header.elements()?)?);
        }
        let mut parts = Vec::with_capacity(ranks);
        for (rank, (heaps, stream)) in frames.iter().zip(&self.streams).enumerate() {
            parts.push(Parts::begin(rank, heaps, &headers, &mut out[rank], stream)?);
        }
        self.exchange(frames, &headers, &mut parts, &mut out)?;
        let mut turned = Vec::with_capacity(ranks);
        for (rank, ((header, parts), mut out)) in headers.into_iter().zip(parts).zip(out).enumerate() {
            let stream = &self.streams[rank];
            frames[rank].array().reads_queued(stream)?;
            parts.place(&header, &mut out, stream)?;
            turned.push(header.heaps(DeviceArray::from(out).written_now(stream)?)?);
        }
        Ok(turned)
    }

    /// Sends and receives.
    fn exchange<V: VoltageSample>(
        &mut self,
        frames: &[&DeviceHeaps<'_, V>],
        headers: &[Header],
        parts: &mut [Parts<V>],
        out: &mut [Buffer<V>],
    ) -> Result<(), TurnError> {
        let mut exchanges = Vec::with_capacity(parts.len());
        for (rank, (parts, out)) in parts.iter_mut().zip(out).enumerate() {
            let mut exchange = Exchange::new(&self.streams[rank]);
            for (to, packed) in parts.packed.iter().enumerate().filter(|(to, _)| *to != rank) {
                let bytes = packed.as_ref().map_or_else(|| frames[rank].array().view(), Buffer::view);
                exchange = exchange.send(to, bytes.cast()?);
            }
            // Of a single batch, what comes of a GPU lies together where it belongs.
            let (header, mut rest) = (&headers[rank], out.view_mut());
            for (from, arriving) in parts.arriving.iter_mut().enumerate() {
                let bytes = match arriving {
                    Some(arriving) => arriving.view_mut(),
                    None if header.batches == 1 => {
                        let (place, behind) = rest.split_at(header.blocks(from).elements())?;
                        rest = behind;
                        place
                    }
                    // Its own, which was copied; or of no batch at all.
                    None => continue,
                };
                if from != rank {
                    exchange = exchange.receive(from, bytes.cast()?);
                }
            }
            exchanges.push(exchange);
        }
        Ok(self.communicators.exchange(&mut exchanges)?)
    }
}

impl<V: VoltageSample> Parts<V> {
    /// Copies a GPU's own part to its place, and packs what it sends.
    fn begin(
        rank: usize,
        heaps: &DeviceHeaps<'_, V>,
        headers: &[Header],
        out: &mut Buffer<V>,
        stream: &Stream,
    ) -> Result<Self, TurnError> {
        let (pool, from) = (Workspace::pool(stream.device()), heaps.array().read_from(stream)?);
        copy_part(&headers[rank], rank, heaps, &mut out.view_mut(), stream)?;
        let (mut packed, mut arriving) = (Vec::with_capacity(headers.len()), Vec::with_capacity(headers.len()));
        for (to, header) in headers.iter().enumerate() {
            let blocks = header.blocks(rank);
            if to == rank || header.width() == header.heap() {
                packed.push(None);
                continue;
            }
            let mut buffer = pool.take::<V>(stream, blocks.elements())?;
            if blocks.elements() > 0 {
                let from = from.slice(header.ahead()..)?;
                let pitch = together(header, rank);
                buffer.view_mut().copy_blocks_from(stream, pitch, from, header.source_pitch(rank), blocks)?;
            }
            packed.push(Some(buffer));
        }
        let header = &headers[rank];
        for from in 0..headers.len() {
            let is_placed = from != rank && header.batches != 1;
            let elements = header.blocks(from).elements();
            arriving.push(if is_placed { Some(pool.take::<V>(stream, elements)?) } else { None });
        }
        Ok(Self { packed, arriving })
    }

    /// Copies what came to its place.
    fn place(&self, header: &Header, out: &mut Buffer<V>, stream: &Stream) -> Result<(), TurnError> {
        for (from, arriving) in self.arriving.iter().enumerate() {
            let blocks = header.blocks(from);
            if let Some(arriving) = arriving.as_ref().filter(|_| blocks.elements() > 0) {
                let mut to = out.slice_mut(header.first(from)..)?;
                to.copy_blocks_from(stream, header.result_pitch(), arriving.view(), together(header, from), blocks)?;
            }
        }
        Ok(())
    }
}

/// How rows of some frames lie one after the other.
fn together(header: &Header, part: usize) -> BlockPitch {
    BlockPitch { row: header.width(), slice_rows: header.antennas[part].len() }
}
