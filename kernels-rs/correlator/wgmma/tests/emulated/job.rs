//! What is correlated: buffers, tensor maps and parameters of a launch, and which times each of its steps has.

use std::ops::Range;

use fringes_emulator::TensorLayout;
use half::f16;
use ndarray::Array3;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::entries::{Entry, Format};

/// Samples `[channel][time][input]`: whole numbers, which f16 holds too.
pub(crate) type Samples = Array3<Complex<i64>>;

/// Where samples lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Rows of 128 bytes, of which these times count.
    Rows { times: Range<usize> },
    /// Heaps of so many spectra, of which these batches count.
    Heaps { spectra: usize, batches: Range<usize> },
}

/// A launch.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) order: Order,
    /// Where the batches of heaps lie, one after the other if it is empty.
    pub(crate) list: Vec<u32>,
    pub(crate) parts: usize,
    pub(crate) grid: u32,
    pub(crate) rotate: u32,
}

/// Numbers of a launch: those of the kernel's parameters of the same names.
pub(crate) struct Numbers {
    pub(crate) first_row: usize,
    pub(crate) head: usize,
    pub(crate) head_chunks: usize,
    pub(crate) chunks: usize,
    pub(crate) last_row: usize,
    pub(crate) steps: usize,
}

/// Samples of at most `most` in each part.
pub(crate) fn samples(shape: [usize; 3], most: i64, seed: u64) -> Samples {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || random.random_range(-most..=most);
    Array3::from_shape_simple_fn(shape, || Complex::new(part(), part()))
}

fn encode(format: Format, Complex { re, im }: Complex<i64>, to: &mut [u8]) {
    match format {
        Format::I4 => to[0] = (re << 4 | im & 15) as u8,
        Format::I8 => to.copy_from_slice(&[re as u8, im as u8]),
        Format::F16 => {
            let parts = [re, im].map(|part| f16::from_f32(part as f32).to_le_bytes());
            to.copy_from_slice(parts.as_flattened());
        }
    }
}

impl Job {
    pub(crate) fn rows(times: Range<usize>) -> Self {
        Self { order: Order::Rows { times }, list: Vec::new(), parts: 1, grid: 1, rotate: 0 }
    }

    pub(crate) fn heaps(spectra: usize, batches: Range<usize>) -> Self {
        Self { order: Order::Heaps { spectra, batches }, list: Vec::new(), parts: 1, grid: 1, rotate: 0 }
    }

    /// Batches that lie where the list says.
    pub(crate) fn listed(self, list: &[u32]) -> Self {
        Self { list: list.to_vec(), ..self }
    }

    /// Batches of the buffer: those of so many times, or those of the list and one more.
    fn batches(&self, times: usize, spectra: usize) -> usize {
        self.list.iter().max().map_or(times / spectra, |&last| last as usize + 2)
    }

    pub(crate) fn parts(self, parts: usize) -> Self {
        Self { parts, ..self }
    }

    pub(crate) fn blocks(self, grid: u32, rotate: u32) -> Self {
        Self { grid, rotate, ..self }
    }

    /// Times that count.
    pub(crate) fn times(&self) -> Range<usize> {
        match &self.order {
            Order::Rows { times } => times.clone(),
            Order::Heaps { spectra, batches } => batches.start * spectra..batches.end * spectra,
        }
    }

    /// The buffer, with arbitrary bytes (NaN of f16) at all other times.
    pub(crate) fn buffer(&self, entry: &Entry, samples: &Samples) -> Vec<u8> {
        let (channels, times, inputs) = samples.dim();
        let (format, bytes) = (entry.format, entry.format.bytes());
        let row = 128 / bytes;
        let padded = match self.order {
            Order::Heaps { spectra, .. } => self.batches(times, spectra) * spectra,
            Order::Rows { .. } => times.next_multiple_of(row),
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut buffer: Vec<u8> = if format == Format::F16 {
            (0..channels * padded * inputs * 2).flat_map(|_| f16::NAN.to_le_bytes()).collect()
        } else {
            (0..channels * padded * inputs * bytes).map(|_| random.random()).collect()
        };
        let (range, pols) = (self.times(), entry.pols);
        for ((channel, time, input), &sample) in samples.indexed_iter().filter(|((_, time, _), _)| range.contains(time))
        {
            let place = match self.order {
                Order::Rows { .. } => ((channel * padded / row + time / row) * inputs + input) * row + time % row,
                Order::Heaps { spectra, .. } => {
                    let batch = self.list.get(time / spectra).map_or(time / spectra, |&batch| batch as usize);
                    let antenna = batch * (inputs / pols) + input / pols;
                    ((antenna * channels + channel) * spectra + time % spectra) * pols + input % pols
                }
            };
            encode(format, sample, &mut buffer[place * bytes..][..bytes]);
        }
        buffer
    }

    /// The tensor maps of the buffer: the whole of it, and what ends with the last time.
    pub(crate) fn layouts(&self, entry: &Entry, [channels, times, inputs]: [usize; 3]) -> [TensorLayout; 2] {
        let (bytes, pols) = (entry.format.bytes(), entry.pols);
        let layout = |dimensions: [usize; 4], strides: [usize; 3]| TensorLayout {
            element_bytes: 1,
            dimensions: dimensions.map(|size| size as u64).to_vec(),
            strides_bytes: strides.map(|stride| stride as u64).to_vec(),
            block: vec![entry.inner() as u32, (entry.tiles.inputs() / pols) as u32, 1, 1],
            swizzle: entry.inner() as u32,
        };
        match &self.order {
            Order::Rows { times: range } => {
                let blocks = (times * bytes).div_ceil(128);
                let strides = [128, 128 * inputs * blocks, 128 * inputs];
                let end = (range.end * bytes - 1) % 128 + 1;
                [128, end].map(|inner| layout([inner, inputs, channels, blocks], strides))
            }
            Order::Heaps { spectra, .. } => {
                let (inner, antennas) = (spectra * pols * bytes, inputs / pols);
                let strides = [inner * channels, inner, inner * channels * antennas];
                [(); 2].map(|()| layout([inner, antennas, channels, self.batches(times, *spectra)], strides))
            }
        }
    }

    pub(crate) fn numbers(&self, entry: &Entry) -> Numbers {
        let (bytes, step) = (entry.format.bytes(), entry.step_bytes());
        match &self.order {
            Order::Rows { times } => {
                let row = 128 / bytes;
                let (first_row, last_row) = (times.start / row, (times.end - 1) / row);
                let (head, end) = (times.start % row * bytes, (times.end - 1) % row * bytes + bytes);
                let first_end = if first_row == last_row { end } else { 128 };
                let (head_chunks, chunks) = ((first_end - head).div_ceil(step), 128 / step);
                let rest = match last_row - first_row {
                    0 => 0,
                    rows => (rows - 1) * chunks + end.div_ceil(step),
                };
                Numbers { first_row, head, head_chunks, chunks, last_row, steps: head_chunks + rest }
            }
            Order::Heaps { spectra, batches } => {
                let chunks = (spectra * entry.pols * bytes).div_ceil(step);
                let (first_row, last_row) = (batches.start, u32::MAX as usize);
                Numbers { first_row, head: 0, head_chunks: chunks, chunks, last_row, steps: batches.len() * chunks }
            }
        }
    }

    /// Times of the steps before `step`.
    fn time(&self, entry: &Entry, step: usize) -> usize {
        let times = self.times();
        let Numbers { first_row, head, head_chunks, chunks, .. } = self.numbers(entry);
        let (row, byte) = match step.checked_sub(head_chunks) {
            None => (first_row, head + step * entry.step_bytes()),
            Some(step) => (first_row + 1 + step / chunks, step % chunks * entry.step_bytes()),
        };
        let (a_row, sample) = match self.order {
            Order::Rows { .. } => (128 / entry.format.bytes(), entry.format.bytes()),
            Order::Heaps { spectra, .. } => (spectra, entry.pols * entry.format.bytes()),
        };
        (row * a_row + (byte / sample).min(a_row)).clamp(times.start, times.end)
    }

    /// Times of a part.
    pub(crate) fn part(&self, entry: &Entry, part: usize) -> Range<usize> {
        let steps = self.numbers(entry).steps;
        self.time(entry, part * steps / self.parts)..self.time(entry, (part + 1) * steps / self.parts)
    }
}
