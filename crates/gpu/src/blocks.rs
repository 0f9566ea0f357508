//! Copies of blocks of rows, on one device and from one device to another.
//!
//! Two slices of three rows of four elements (`x`), whose rows begin 7 elements apart and whose slices begin 4 rows
//! apart:
//!
//! ```text
//! slice 0  xxxx...xxxx...xxxx..........
//! slice 1  xxxx...xxxx...xxxx
//! ```

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::driver::{self, Doing};
use crate::{BufferView, BufferViewMut, GpuError, Stream};

/// Elements that are copied: `slices` slices of `rows` rows of `width` elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Elements of a row, which lie one after the other.
    pub width: usize,
    /// Rows of a slice.
    pub rows: usize,
    /// Slices.
    pub slices: usize,
}

/// How far apart rows and slices begin in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPitch {
    /// Elements from row to row.
    pub row: usize,
    /// Rows from slice to slice.
    pub slice_rows: usize,
}

impl Blocks {
    /// Elements of all rows.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.width.saturating_mul(self.rows).saturating_mul(self.slices)
    }

    /// `Ok` if the rows do not overlap and are inside `length` elements.
    fn check(&self, pitch: BlockPitch, length: usize) -> Result<(), GpuError> {
        let Self { width, rows, slices } = *self;
        if self.elements() == 0 {
            return Ok(());
        }
        let (last_slice, last_row) = (slices - 1, rows - 1);
        let ahead = pitch.slice_rows.saturating_mul(last_slice).saturating_add(last_row);
        let end = pitch.row.saturating_mul(ahead).saturating_add(width);
        for (what, expected, actual, is_wrong) in [
            ("elements from row to row", width, pitch.row, pitch.row < width),
            ("rows from slice to slice", rows, pitch.slice_rows, pitch.slice_rows < rows),
            ("elements of blocks to copy", end, length, length < end),
        ] {
            if is_wrong {
                return Err(GpuError::Length { what, expected, actual });
            }
        }
        Ok(())
    }
}

impl<T: Pod> BufferViewMut<'_, T> {
    /// Copies blocks of rows that lie as `from_pitch` says to where `to_pitch` says, in the order of `stream`, which is
    /// of the device that is written. Returns at once. What is read may be on another device: the copy goes over their
    /// link if one reaches the other's memory ([`Device::can_access_peer`](crate::Device::can_access_peer)), and
    /// through the host otherwise.
    ///
    /// # Order
    /// The stream of what wrote the source is waited for by the caller ([`Stream::wait_for`]), on another device too.
    /// Memory that goes back to the driver does so after the copy. Memory of a pool does too, but the pool gives it to
    /// others in the order of the source's stream: that one is to wait for the copy before the buffer is dropped.
    ///
    /// # Errors
    /// [`GpuError::Length`] where rows or slices overlap or are not inside a view, before anything is overwritten;
    /// [`GpuError::WrongDevice`] for a stream of another device than is written; [`GpuError::Value`] between devices
    /// for a stream that is captured into a graph; what the driver answers, to rows that begin 2 GiB apart among it.
    pub fn copy_blocks_from(
        &mut self,
        stream: &Stream,
        to_pitch: BlockPitch,
        from: BufferView<'_, T>,
        from_pitch: BlockPitch,
        blocks: Blocks,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "copying blocks of rows";
        blocks.check(to_pitch, self.len())?;
        blocks.check(from_pitch, from.len())?;
        let context = &self.device().context;
        stream.device().context.expect_same(context, "the buffer")?;
        if blocks.elements() == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let (to, bytes) = (self.address(), |elements: usize| elements * size_of::<T>());
        let source = &from.device().context;
        if source.raw == context.raw {
            let copy = sys::CUDA_MEMCPY3D {
                srcXInBytes: 0,
                srcY: 0,
                srcZ: 0,
                srcLOD: 0,
                srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                srcHost: std::ptr::null(),
                srcDevice: from.address(),
                srcArray: std::ptr::null_mut(),
                reserved0: std::ptr::null_mut(),
                srcPitch: bytes(from_pitch.row),
                srcHeight: from_pitch.slice_rows,
                dstXInBytes: 0,
                dstY: 0,
                dstZ: 0,
                dstLOD: 0,
                dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                dstHost: std::ptr::null_mut(),
                dstDevice: to,
                dstArray: std::ptr::null_mut(),
                reserved1: std::ptr::null_mut(),
                dstPitch: bytes(to_pitch.row),
                dstHeight: to_pitch.slice_rows,
                WidthInBytes: bytes(blocks.width),
                Height: blocks.rows,
                Depth: blocks.slices,
            };
            let _entered = context.enter()?;
            // SAFETY: all rows are inside the views, which are memory of this device; freeing it waits for the copy.
            return unsafe { driver::cuMemcpy3DAsync_v2(&raw const copy, stream.raw()) }.doing(WHAT);
        }
        if stream.is_capturing()? {
            let expected = "a stream that is not being captured, for a copy between devices".into();
            return Err(GpuError::Value { what: WHAT, expected, actual: "one that is".into() });
        }
        // Both ways: the driver copies from either side. Where they cannot, it goes through the host.
        context.reaches(source)?;
        source.reaches(context)?;
        let copy = sys::CUDA_MEMCPY3D_PEER {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: from.address(),
            srcArray: std::ptr::null_mut(),
            srcContext: source.raw.0,
            srcPitch: bytes(from_pitch.row),
            srcHeight: from_pitch.slice_rows,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: to,
            dstArray: std::ptr::null_mut(),
            dstContext: context.raw.0,
            dstPitch: bytes(to_pitch.row),
            dstHeight: to_pitch.slice_rows,
            WidthInBytes: bytes(blocks.width),
            Height: blocks.rows,
            Depth: blocks.slices,
        };
        let done = stream.device().new_untimed_event()?;
        let entered = context.enter()?;
        // SAFETY: all rows are inside the views, which are memory of the two contexts; freeing what is written waits
        // for the copy, and freeing what is read does from `free_after` on, before which nothing returns.
        unsafe { driver::cuMemcpy3DPeerAsync(&raw const copy, stream.raw()) }.doing(WHAT)?;
        drop(entered);
        let guarded = done.record(stream).and_then(|()| source.free_after(&done));
        guarded.or_else(|error| stream.synchronize().and(Err(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_inside_of_memory_and_do_not_overlap() {
        let blocks = Blocks { width: 4, rows: 3, slices: 2 };
        let pitch = BlockPitch { row: 7, slice_rows: 4 };
        assert_eq!(blocks.elements(), 24);
        // The last row begins with element 7 x (4 + 2).
        assert_eq!(blocks.check(pitch, 46), Ok(()));
        let error = |what, expected, actual| Err(GpuError::Length { what, expected, actual });
        assert_eq!(blocks.check(pitch, 45), error("elements of blocks to copy", 46, 45));
        let narrow = BlockPitch { row: 3, ..pitch };
        assert_eq!(blocks.check(narrow, 1000), error("elements from row to row", 4, 3));
        let low = BlockPitch { slice_rows: 2, ..pitch };
        assert_eq!(blocks.check(low, 1000), error("rows from slice to slice", 3, 2));
        let huge = BlockPitch { row: usize::MAX, slice_rows: usize::MAX };
        assert!(blocks.check(huge, 1000).is_err());
        for empty in [Blocks { width: 0, ..blocks }, Blocks { rows: 0, ..blocks }, Blocks { slices: 0, ..blocks }] {
            assert_eq!(empty.check(BlockPitch { row: 0, slice_rows: 0 }, 0), Ok(()));
        }
    }
}
