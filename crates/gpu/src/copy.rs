//! Copies and fills, in the order of a stream.
//!
//! | from | to | call | returns |
//! |---|---|---|---|
//! | host slice | device | [`BufferViewMut::copy_from_slice`] | when copied |
//! | device | host slice | [`BufferView::copy_to_slice`], [`BufferView::to_vec`] | when copied |
//! | pinned buffer | device | [`BufferViewMut::copy_from_pinned`], [`BufferViewMut::copy_rows_from_pinned`] | at once |
//! | device | pinned buffer | [`BufferView::copy_to_pinned`] | at once |
//! | device | device | [`BufferViewMut::copy_from`] | at once |
//! | device | another device | [`BufferViewMut::copy_across`] | at once |

use std::ops::RangeBounds;

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::driver::{self, Doing};
use crate::view::resolve;
use crate::{BufferView, BufferViewMut, GpuError, PinnedBuffer, Stream};

fn expect_length(what: &'static str, expected: usize, actual: usize) -> Result<(), GpuError> {
    if expected == actual { Ok(()) } else { Err(GpuError::Length { what, expected, actual }) }
}

/// A graph that is being captured would keep the address of a slice whose life ends with the call.
fn refuse_capture(stream: &Stream, what: &'static str) -> Result<(), GpuError> {
    if stream.is_capturing()? {
        let expected = "a stream that is not being captured (pinned buffers can be captured)".into();
        return Err(GpuError::Value { what, expected, actual: "one that is".into() });
    }
    Ok(())
}

impl<T: Pod> BufferView<'_, T> {
    /// Copies all elements to host memory, after what `stream` was given before, and waits for it.
    ///
    /// # Errors
    /// [`GpuError::Length`] where `to` has another length, before anything is written; [`GpuError::WrongDevice`] for a
    /// stream of another context; a failure of earlier work of the stream.
    pub fn copy_to_slice(&self, stream: &Stream, to: &mut [T]) -> Result<(), GpuError> {
        const WHAT: &str = "copying to host memory";
        expect_length(WHAT, self.len(), to.len())?;
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        refuse_capture(stream, WHAT)?;
        if self.is_empty() {
            return stream.synchronize();
        }
        let entered = stream.device().context.enter()?;
        // SAFETY: `to` has as many bytes as the view, is borrowed uniquely until the stream is done, and every bit
        // pattern is a `T`.
        unsafe { driver::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), self.address(), self.bytes(), stream.raw()) }
            .doing(WHAT)?;
        drop(entered);
        stream.synchronize()
    }

    /// All elements in host memory.
    ///
    /// # Errors
    /// As [`BufferView::copy_to_slice`].
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>, GpuError> {
        let mut elements = vec![T::zeroed(); self.len()];
        self.copy_to_slice(stream, &mut elements)?;
        Ok(elements)
    }

    /// Copies all elements to `range` of a pinned buffer, in the order of `stream`. Returns at once; the pinned buffer
    /// waits for the copy before it lets its content be read.
    ///
    /// # Errors
    /// [`GpuError::Range`] and [`GpuError::Length`] where the range does not fit, before anything is written;
    /// [`GpuError::WrongDevice`]; what the driver answers.
    pub fn copy_to_pinned(
        &self,
        stream: &Stream,
        to: &mut PinnedBuffer<T>,
        range: impl RangeBounds<usize>,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "copying to pinned memory";
        let range = resolve(&range, to.len())?;
        expect_length(WHAT, self.len(), range.len())?;
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        let (address, bytes) = (self.address(), self.bytes());
        to.device_writes(stream, |pointer| {
            if bytes == 0 {
                return Ok(());
            }
            let pointer = pointer.wrapping_add(range.start);
            // SAFETY: the range is inside the pinned buffer, which keeps its memory until the copy is done.
            unsafe { driver::cuMemcpyDtoHAsync_v2(pointer.cast(), address, bytes, stream.raw()) }.doing(WHAT)
        })
    }
}

impl<T: Pod> BufferViewMut<'_, T> {
    /// Copies all elements from host memory, after what `stream` was given before, and waits for it.
    ///
    /// # Errors
    /// [`GpuError::Length`] where `from` has another length, before anything is overwritten; [`GpuError::WrongDevice`]
    /// for a stream of another context; a failure of earlier work of the stream.
    pub fn copy_from_slice(&mut self, stream: &Stream, from: &[T]) -> Result<(), GpuError> {
        const WHAT: &str = "copying from host memory";
        expect_length(WHAT, self.len(), from.len())?;
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        refuse_capture(stream, WHAT)?;
        if self.is_empty() {
            return stream.synchronize();
        }
        let entered = stream.device().context.enter()?;
        // SAFETY: `from` has as many bytes as the view and is borrowed until the stream is done.
        unsafe { driver::cuMemcpyHtoDAsync_v2(self.address(), from.as_ptr().cast(), self.bytes(), stream.raw()) }
            .doing(WHAT)?;
        drop(entered);
        stream.synchronize()
    }

    /// Copies all elements from `range` of a pinned buffer, in the order of `stream`. Returns at once; the pinned
    /// buffer waits for the copy before it lets its content be changed.
    ///
    /// # Errors
    /// [`GpuError::Range`] and [`GpuError::Length`] where the range does not fit, before anything is overwritten;
    /// [`GpuError::WrongDevice`]; what the driver answers.
    pub fn copy_from_pinned(
        &mut self,
        stream: &Stream,
        from: &PinnedBuffer<T>,
        range: impl RangeBounds<usize>,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "copying from pinned memory";
        let range = resolve(&range, from.len())?;
        expect_length(WHAT, self.len(), range.len())?;
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        let (address, bytes) = (self.address(), self.bytes());
        from.device_reads(stream, |pointer| {
            if bytes == 0 {
                return Ok(());
            }
            let pointer = pointer.wrapping_add(range.start);
            // SAFETY: the range is inside the pinned buffer, which keeps its memory and content until the copy is done.
            unsafe { driver::cuMemcpyHtoDAsync_v2(address, pointer.cast(), bytes, stream.raw()) }.doing(WHAT)
        })
    }

    /// Copies all elements from device memory, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::Length`], before anything is overwritten; [`GpuError::WrongDevice`]; what the driver answers.
    pub fn copy_from(&mut self, stream: &Stream, from: BufferView<'_, T>) -> Result<(), GpuError> {
        const WHAT: &str = "copying on the device";
        expect_length(WHAT, self.len(), from.len())?;
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        stream.device().context.expect_same(&from.device().context, "the source buffer")?;
        if self.is_empty() {
            return Ok(());
        }
        let _entered = stream.device().context.enter()?;
        // SAFETY: both views have as many bytes; freeing their memory waits for the copy.
        unsafe { driver::cuMemcpyDtoDAsync_v2(self.address(), from.address(), self.bytes(), stream.raw()) }.doing(WHAT)
    }

    /// Copies `rows` rows of `width` elements that begin `from_pitch` elements apart to rows that begin `to_pitch`
    /// elements apart, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::Length`] where rows do not fit a view or overlap, before anything is overwritten;
    /// [`GpuError::WrongDevice`]; what the driver answers.
    pub fn copy_rows_from(
        &mut self,
        stream: &Stream,
        to_pitch: usize,
        from: BufferView<'_, T>,
        from_pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "copying rows on the device";
        for (pitch, actual) in [(to_pitch, self.len()), (from_pitch, from.len())] {
            let expected = pitch.saturating_mul(rows.saturating_sub(1)).saturating_add(width);
            if rows > 0 && (actual < expected || pitch < width) {
                let (what, (expected, actual)) = if pitch < width {
                    ("elements from row to row", (width, pitch))
                } else {
                    ("elements of rows to copy", (expected, actual))
                };
                return Err(GpuError::Length { what, expected, actual });
            }
        }
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        stream.device().context.expect_same(&from.device().context, "the source buffer")?;
        if rows == 0 || width == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let bytes = |elements: usize| elements * size_of::<T>();
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: from.address(),
            srcArray: std::ptr::null_mut(),
            srcPitch: bytes(from_pitch),
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: self.address(),
            dstArray: std::ptr::null_mut(),
            dstPitch: bytes(to_pitch),
            WidthInBytes: bytes(width),
            Height: rows,
        };
        let _entered = stream.device().context.enter()?;
        // SAFETY: all rows are inside the views, which are device memory; freeing it waits for the copy.
        unsafe { driver::cuMemcpy2DAsync_v2(&raw const copy, stream.raw()) }.doing(WHAT)
    }

    /// Copies `rows` rows of `width` elements that begin `pitch` elements apart in a pinned buffer, the first at
    /// `start`, one after the other, in the order of `stream`. Returns at once; the pinned buffer waits for the
    /// copy before it lets its content be changed.
    ///
    /// # Errors
    /// [`GpuError::Length`] where the view has not exactly `rows x width` elements, or rows do not fit the pinned
    /// buffer or overlap, before anything is overwritten; [`GpuError::WrongDevice`]; what the driver answers.
    pub fn copy_rows_from_pinned(
        &mut self,
        stream: &Stream,
        from: &PinnedBuffer<T>,
        start: usize,
        pitch: usize,
        width: usize,
        rows: usize,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "copying rows from pinned memory";
        expect_length(WHAT, width.saturating_mul(rows), self.len())?;
        let end = pitch.saturating_mul(rows.saturating_sub(1)).saturating_add(width).saturating_add(start);
        if rows > 0 && (pitch < width || from.len() < end) {
            let (what, expected, actual) = if pitch < width {
                ("elements from row to row", width, pitch)
            } else {
                ("elements of rows to copy", end, from.len())
            };
            return Err(GpuError::Length { what, expected, actual });
        }
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        if rows == 0 || width == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let bytes = |elements: usize| elements * size_of::<T>();
        let address = self.address();
        from.device_reads(stream, |pointer| {
            let copy = sys::CUDA_MEMCPY2D {
                srcXInBytes: 0,
                srcY: 0,
                srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
                srcHost: pointer.wrapping_add(start).cast(),
                srcDevice: 0,
                srcArray: std::ptr::null_mut(),
                srcPitch: bytes(pitch),
                dstXInBytes: 0,
                dstY: 0,
                dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                dstHost: std::ptr::null_mut(),
                dstDevice: address,
                dstArray: std::ptr::null_mut(),
                dstPitch: bytes(width),
                WidthInBytes: bytes(width),
                Height: rows,
            };
            // SAFETY: all rows are inside the pinned buffer, which keeps its memory until the copy is done, and inside
            // the view, which is device memory; freeing it waits for the copy.
            unsafe { driver::cuMemcpy2DAsync_v2(&raw const copy, stream.raw()) }.doing(WHAT)
        })
    }

    /// Makes every byte zero, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`]; what the driver answers.
    pub fn zero(&mut self, stream: &Stream) -> Result<(), GpuError> {
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        if self.is_empty() {
            return Ok(());
        }
        let _entered = stream.device().context.enter()?;
        // SAFETY: the view's bytes are device memory; freeing it waits for the fill.
        unsafe { driver::cuMemsetD8Async(self.address(), 0, self.bytes(), stream.raw()) }.doing("zeroing device memory")
    }

    /// Makes the bytes zero of `rows` rows of `width` elements that begin `pitch` elements apart, in the order of
    /// `stream`. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the rows are not inside; [`GpuError::WrongDevice`]; what the driver answers.
    pub fn zero_rows(&mut self, stream: &Stream, pitch: usize, width: usize, rows: usize) -> Result<(), GpuError> {
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        if rows == 0 || width == 0 {
            return Ok(());
        }
        if width > pitch {
            let (what, expected) = ("elements from row to row", format!("{width} at least"));
            return Err(GpuError::Value { what, expected, actual: pitch.to_string() });
        }
        let end = (rows - 1).checked_mul(pitch).and_then(|last| last.checked_add(width)).unwrap_or(usize::MAX);
        resolve(&(..end), self.len())?;
        if pitch == width || rows == 1 {
            return self.reborrow().slice(..end)?.zero(stream);
        }
        let (pitch, width) = (pitch * size_of::<T>(), width * size_of::<T>());
        let _entered = stream.device().context.enter()?;
        // SAFETY: the rows lie within the view, whose bytes are device memory; freeing it waits for the fill.
        unsafe { driver::cuMemsetD2D8Async(self.address(), pitch, 0, width, rows, stream.raw()) }
            .doing("zeroing rows of device memory")
    }

    /// Makes every element `value`, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`]; what the driver answers.
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<(), GpuError> {
        const DOING: &str = "filling device memory";
        stream.device().context.expect_same(&self.device().context, "the buffer")?;
        let bytes = bytemuck::bytes_of(&value);
        if self.is_empty() || bytes.is_empty() {
            return Ok(());
        }
        let (count, size, raw) = (self.len(), bytes.len(), stream.raw());
        // The driver fills with words of 4, 2 or 1 bytes: the widest that element and address allow.
        let fits = |width: usize| size.is_multiple_of(width) && self.address().is_multiple_of(width as u64);
        let width = if fits(4) {
            4
        } else if fits(2) {
            2
        } else {
            1
        };
        // Zeros, as any element of equal words, are one plain fill: rows of one word take many times as long.
        let same = bytes.chunks_exact(width).all(|word| bytes.starts_with(word));
        let (words, count, size) = if same { (1, count * (size / width), width) } else { (size / width, count, size) };
        let _entered = stream.device().context.enter()?;
        for (index, word) in bytes.chunks_exact(width).take(words).enumerate() {
            let address = self.address() + (index * width) as u64;
            // One word of each element: rows of one word, as far apart as elements; or a plain fill, where a word is an
            // element. SAFETY: the words are inside the view, whose memory is freed only after the fill.
            unsafe {
                match (word, width == size) {
                    (&[a, b, c, d], true) => {
                        driver::cuMemsetD32Async(address, u32::from_ne_bytes([a, b, c, d]), count, raw)
                    }
                    (&[a, b, c, d], false) => {
                        driver::cuMemsetD2D32Async(address, size, u32::from_ne_bytes([a, b, c, d]), 1, count, raw)
                    }
                    (&[a, b], true) => driver::cuMemsetD16Async(address, u16::from_ne_bytes([a, b]), count, raw),
                    (&[a, b], false) => {
                        driver::cuMemsetD2D16Async(address, size, u16::from_ne_bytes([a, b]), 1, count, raw)
                    }
                    (&[a], true) => driver::cuMemsetD8Async(address, a, count, raw),
                    (&[a], false) => driver::cuMemsetD2D8Async(address, size, a, 1, count, raw),
                    _ => Ok(()),
                }
            }
            .doing(DOING)?;
        }
        Ok(())
    }
}
