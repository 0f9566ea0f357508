//! Pinned memory that host arrays go through on their way to a device.

use bytemuck::Pod;
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, PinnedBuffer, Stream};
use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::{DeviceError, Expect};

/// Bytes that one thread copies at once.
const PIECE: usize = 1 << 18;

/// Bytes that are read back at once.
const READ: usize = 1 << 22;

/// Pinned memory in pieces that are used in turn: one is filled while the ones before are copied to the device.
///
/// A piece that comes round waits for its copy, so that the host is never more pieces ahead of the device than there
/// are. Pieces grow as they have to.
#[derive(Debug)]
pub struct Staging {
    pieces: Vec<Option<PinnedBuffer<u8>>>,
    turn: usize,
}

impl Default for Staging {
    /// Two pieces.
    fn default() -> Self {
        Self::new(2)
    }
}

impl Staging {
    /// So many pieces, at least one.
    #[must_use]
    pub fn new(pieces: usize) -> Self {
        Self { pieces: (0..pieces.max(1)).map(|_| None).collect(), turn: 0 }
    }

    /// Number of pieces.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The next piece, of at least `bytes` bytes, when its last copy is done.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says where the host has not so much memory, or a copy failed.
    pub fn next(&mut self, device: &Device, bytes: usize) -> Result<&mut PinnedBuffer<u8>, DeviceError> {
        self.turn = (self.turn + 1) % self.pieces.len();
        let piece = &mut self.pieces[self.turn];
        // The old piece goes before the new one comes, unless it does.
        match piece.take().filter(|piece| piece.len() >= bytes) {
            Some(held) => Ok(piece.insert(held)),
            // A quarter more, so that chunks of nearly the same length share it.
            None => Ok(piece.insert(PinnedBuffer::zeroed(device, bytes.saturating_add(bytes / 4))?)),
        }
    }

    /// The piece that came last; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<&PinnedBuffer<u8>> {
        self.pieces.get(self.turn).and_then(Option::as_ref)
    }

    /// Elements in memory of a pool, through pinned memory, in the order of `stream`. Returns when they are in pinned
    /// memory.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn send<T: Pod>(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        elements: &[T],
    ) -> Result<Buffer<T>, DeviceError> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        self.send_with(stream, pool, elements.len(), |to| copy(bytes, to))
    }

    /// `length` elements in memory of a pool that `fill` writes to pinned memory, byte by byte, in the order of
    /// `stream`.
    ///
    /// # Errors
    /// As [`Staging::send`].
    pub fn send_with<T: Pod>(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Buffer<T>, DeviceError> {
        let mut sent = pool.take::<T>(stream, length)?;
        let bytes = sent.bytes();
        let piece = self.next(stream.device(), bytes)?;
        fill(&mut piece.as_mut_slice()?[..bytes]);
        sent.view_mut().cast::<u8>()?.copy_from_pinned(stream, piece, ..bytes)?;
        Ok(sent)
    }

    /// Presence flags as bytes, in memory of a pool; `None` if all is present, and nothing need be looked up.
    ///
    /// # Errors
    /// As [`Staging::send`].
    pub fn send_flags(
        &mut self,
        stream: &Stream,
        pool: &BufferPool,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<Option<Buffer<u8>>, DeviceError> {
        let some_missing = presence.filter(|flags| flags.iter().any(|present| !present));
        let send = |flags: ArrayView2<'_, bool>| {
            let flags: Vec<u8> = flags.iter().map(|&present| present.into()).collect();
            self.send(stream, pool, &flags)
        };
        some_missing.map(send).transpose()
    }

    /// Copies elements of a device to host memory after what `stream` was given before: while a piece is copied from
    /// pinned memory by all threads, the device fills the next one. Returns when all are there.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `to` is longer than `from`, [`DeviceError::Gpu`] with what the driver says.
    pub fn read<T: Pod>(&mut self, stream: &Stream, from: BufferView<'_, T>, to: &mut [T]) -> Result<(), DeviceError> {
        from.expect("elements to be read", to.len(), 1)?;
        let from = from.slice(..to.len())?.cast::<u8>()?;
        let mut coming: Option<(Fetch, &mut [u8])> = None;
        for (index, part) in bytemuck::cast_slice_mut::<T, u8>(to).chunks_mut(READ).enumerate() {
            let start = index * READ;
            let fetch = self.fetch(stream, from.slice(start..start + part.len())?)?;
            if let Some((fetch, part)) = coming.replace((fetch, part)) {
                self.land(fetch, part)?;
            }
        }
        match coming {
            Some((fetch, part)) => self.land(fetch, part),
            None => Ok(stream.synchronize()?),
        }
    }

    /// Queues the copy of elements of a device to the next piece, after what `stream` was given before. It is landed
    /// before the piece comes round again.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn fetch<T: Pod>(&mut self, stream: &Stream, from: BufferView<'_, T>) -> Result<Fetch, DeviceError> {
        let bytes = from.bytes();
        let piece = self.next(stream.device(), bytes)?;
        piece.as_mut_slice()?; // Copies of a call before are done.
        from.cast::<u8>()?.copy_to_pinned(stream, piece, ..bytes)?;
        Ok(Fetch { turn: self.turn, bytes })
    }

    /// Copies elements that were fetched to host memory by all threads, when they have come.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `to` has not their length, [`DeviceError::Gpu`] with a failure of the work before.
    pub fn land<T: Pod>(&mut self, fetch: Fetch, to: &mut [T]) -> Result<(), DeviceError> {
        let Fetch { turn, bytes } = fetch;
        let to: &mut [u8] = bytemuck::cast_slice_mut(to);
        let piece = self.pieces.get(turn).and_then(Option::as_ref).filter(|piece| piece.len() >= bytes);
        let Some(piece) = piece.filter(|_| to.len() == bytes) else {
            return Err(DeviceError::Length { buffer: "elements to be read", expected: bytes, actual: to.len() });
        };
        copy(&piece.as_slice()?[..bytes], to);
        Ok(())
    }
}

/// Elements on their way to pinned memory: [`Staging::fetch`].
#[derive(Debug)]
#[must_use]
pub struct Fetch {
    turn: usize,
    bytes: usize,
}

/// Copies rows of `width` bytes that begin `pitch` bytes apart to rows without gaps, by all threads of the rayon pool.
///
/// `to` has a whole number of rows; `from` begins with the first one and has them all.
pub fn copy_rows(from: &[u8], pitch: usize, width: usize, to: &mut [u8]) {
    if pitch == width || to.len() <= width {
        copy(&from[..to.len()], to);
    } else if to.len() <= PIECE {
        to.chunks_mut(width).zip(from.chunks(pitch)).for_each(|(to, from)| to.copy_from_slice(&from[..to.len()]));
    } else {
        // Short rows several at a time, long ones in pieces.
        let together = (PIECE / width).max(1);
        let groups = to.par_chunks_mut(together * width).zip(from.par_chunks(together * pitch));
        groups.for_each(|(to, from)| {
            to.chunks_mut(width).zip(from.chunks(pitch)).for_each(|(to, from)| copy(&from[..to.len()], to));
        });
    }
}

/// Copies bytes by all threads of the rayon pool. Both have the same length.
pub fn copy(from: &[u8], to: &mut [u8]) {
    if to.len() <= PIECE {
        to.copy_from_slice(from);
        return;
    }
    to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_copied_whatever_their_number() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 77] {
            let from: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut to = vec![0; length];
            copy(&from, &mut to);
            assert_eq!(to, from);
        }
    }

    #[test]
    fn rows_are_copied_without_what_lies_between_them() {
        for (rows, width, pitch) in
            [(1, 5, 9), (7, 5, 9), (3, 8, 8), (1000, 600, 700), (3, PIECE + 5, PIECE + 9), (2, 3 * PIECE, 3 * PIECE)]
        {
            let from: Vec<u8> = (0..(rows - 1) * pitch + width).map(|i| (i * 7 + i / 251) as u8).collect();
            let expected: Vec<u8> = from.chunks(pitch).flat_map(|row| row[..width].to_vec()).collect();
            let mut to = vec![0; rows * width];
            copy_rows(&from, pitch, width, &mut to);
            assert!(to == expected, "{rows} rows of {width} bytes, {pitch} apart");
        }
    }
}
