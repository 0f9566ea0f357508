//! Random data for large buffers: one random piece on the device, copied again and again from other offsets.

use bytemuck::Pod;
use fringes::f16;
use fringes_gpu::{Buffer, BufferViewMut, Device, GpuError, Stream};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Elements that are copied at once.
const PIECE: usize = 32 << 20;
/// Most elements that a copy's start is off the piece's.
const OFFSETS: usize = 1 << 20;

/// A random piece on the device.
pub(crate) struct Source<T> {
    piece: Buffer<T>,
}

impl Source<u8> {
    /// Bytes, none of them -128: samples of 8 bits.
    pub(crate) fn bytes(stream: &Stream) -> Result<Self, GpuError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let words: Vec<u64> = (0..(PIECE + OFFSETS) / 8).map(|_| without_most_negative(random.random())).collect();
        Ok(Self { piece: Buffer::from_slice(stream, bytemuck::cast_slice(&words))? })
    }
}

impl Source<f32> {
    /// Numbers from -1 to 1.
    pub(crate) fn floats(stream: &Stream) -> Result<Self, GpuError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let values: Vec<f32> = (0..PIECE + OFFSETS).map(|_| random.random_range(-1.0..1.0)).collect();
        Ok(Self { piece: Buffer::from_slice(stream, &values)? })
    }
}

impl Source<f16> {
    /// Numbers from -1 to 1.
    pub(crate) fn halves(stream: &Stream) -> Result<Self, GpuError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let values: Vec<f16> = (0..PIECE + OFFSETS).map(|_| f16::from_f32(random.random_range(-1.0..1.0f32))).collect();
        Ok(Self { piece: Buffer::from_slice(stream, &values)? })
    }
}

impl<T: Pod> Source<T> {
    /// Fills a buffer.
    pub(crate) fn fill(&self, stream: &Stream, target: &mut BufferViewMut<'_, T>) -> Result<(), GpuError> {
        for (index, start) in (0..target.len()).step_by(PIECE).enumerate() {
            let length = PIECE.min(target.len() - start);
            let offset = index * 123_456 % OFFSETS;
            let piece = self.piece.slice(offset..offset + length)?;
            target.reborrow().slice(start..start + length)?.copy_from(stream, piece)?;
        }
        Ok(())
    }

    /// A filled buffer.
    pub(crate) fn buffer(&self, device: &Device, stream: &Stream, length: usize) -> Result<Buffer<T>, GpuError> {
        let mut buffer = Buffer::alloc(device, length)?;
        self.fill(stream, &mut buffer.view_mut())?;
        Ok(buffer)
    }
}

/// Eight bytes with 0x81 in place of each 0x80.
fn without_most_negative(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let differs = word ^ HIGH; // a zero byte where it was 0x80
    let other = ((differs & !HIGH) + !HIGH) | differs; // high bit set where the byte is not zero
    word | ((!other & HIGH) >> 7)
}
