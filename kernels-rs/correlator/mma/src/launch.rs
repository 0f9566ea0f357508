//! From the arguments of a kernel to what each block does: checks, part of the time, channel, tile.
//!
//! The grid is (tiles x parts, y, z) with `y z >= channels`; blocks beyond the data leave at once.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, nctaid_y};
use fringes_device::{Global, GlobalMut, opaque};

use crate::correlate::correlate;
use crate::format::Format;
use crate::order::{Order, Rows};
use crate::rows::product;
use crate::shape::Shape;
use crate::source::Steps;
use crate::sums::Sum;
use crate::tile;

pub use fringes_kernel_abi::correlator::{MOST_INPUTS as MAX_INPUTS, MOST_PARTS as MAX_PARTS};

/// Sizes of a correlation of rows.
#[derive(Clone, Copy)]
pub struct RowSizes {
    /// Channels.
    pub channels: u32,
    /// Inputs.
    pub inputs: u32,
    /// Rows that each channel and input has.
    pub blocks: u32,
    /// The first time that is summed.
    pub first_time: u32,
    /// Times that are summed.
    pub times: u32,
    /// Parts of the time, with sums of their own.
    pub parts: u32,
}

/// Sizes of a correlation of heaps.
#[derive(Clone, Copy)]
pub struct HeapSizes {
    /// Channels.
    pub channels: u32,
    /// Antennas.
    pub antennas: u32,
    /// Polarisations.
    pub pols: u32,
    /// Batches that there are.
    pub batches_in_buffer: u32,
    /// Spectra of a batch.
    pub spectra: u32,
    /// The first batch that is summed.
    pub first_batch: u32,
    /// Batches that are summed.
    pub batches: u32,
    /// Parts of the time, with sums of their own.
    pub parts: u32,
}

/// What a block does.
struct Job {
    channel: u32,
    part: u32,
    row: u32,
    column: u32,
}

/// The channel of a block with these numbers in y and z.
#[inline(always)]
fn channel(y: u32, z: u32) -> u32 {
    y + nctaid_y() * z
}

/// The block's job, if there is one; `block` is its number in x.
#[inline(always)]
fn job<S: Shape>(block: u32, channel: u32, inputs: u32, channels: u32, parts: u32) -> Option<Job> {
    let (part, tile) = if S::WHOLE {
        (block, 0)
    } else {
        let side = inputs.div_ceil(S::SIDE);
        let tiles = side * (side + 1) / 2;
        (block / tiles, block % tiles)
    };
    let (row, column) = if S::WHOLE { (0, 0) } else { tile::position(tile) };
    (channel < channels && part < parts).then_some(Job { channel, part, row, column })
}

/// `floor(part * steps / parts)` without overflow: `part <= parts <= MAX_PARTS`.
#[inline(always)]
fn share(part: u32, steps: u32, parts: u32) -> u32 {
    part * (steps / parts) + part * (steps % parts) / parts
}

/// Sums of a channel.
#[inline(always)]
fn baselines(inputs: u32) -> usize {
    (inputs * (inputs + 1) / 2) as usize
}

/// Whether inputs, parts and sums fit together.
#[inline(always)]
fn fits<S: Shape>(inputs: u32, channels: u32, parts: u32, sums: usize) -> bool {
    (1..=if S::WHOLE { S::SIDE } else { MAX_INPUTS }).contains(&inputs)
        && (1..=MAX_PARTS).contains(&parts)
        && product(parts, product(channels, baselines(inputs) as u64)) <= sums as u64
}

/// First sum of the block's part and channel; computed where it is called, so that no register needs to keep it.
#[inline(always)]
fn first_sum<S: Shape>(inputs: u32, channels: u32, parts: u32) -> usize {
    let [x, y, z] = [ctaid_x(), ctaid_y(), ctaid_z()].map(|index| opaque(index as i32) as u32);
    job::<S>(x, channel(y, z), inputs, channels, parts)
        .map_or(0, |job| (job.part as usize * channels as usize + job.channel as usize) * baselines(inputs))
}

/// Correlates rows, after checking that the views hold what the sizes say.
#[inline(always)]
pub fn rows<F: Format, S: Shape, T: Sum<F::Part>, const ROWS: usize>(
    rows: Global<u8>,
    sums: GlobalMut<T::Memory>,
    sizes: RowSizes,
) {
    let RowSizes { channels, inputs, blocks, first_time, times, parts } = sizes;
    let end = u64::from(first_time) + u64::from(times);
    let held = product(channels, product(blocks, u64::from(inputs) * 128));
    if !fits::<S>(inputs, channels, parts, sums.len())
        || end > product(blocks, u64::from(F::TIMES)).min(u64::from(u32::MAX))
        || held > rows.len() as u64
    {
        trap();
        return;
    }
    let Some(job) = job::<S>(ctaid_x(), channel(ctaid_y(), ctaid_z()), inputs, channels, parts) else { return };
    let head = first_time % F::TIMES;
    // Times of the last row that count: all of them if there is no rest.
    let (first_block, end_block) = (first_time / F::TIMES, (end as u32).div_ceil(F::TIMES));
    let total = if times == 0 { 0 } else { end_block - first_block };
    let last = match end as u32 % F::TIMES {
        0 => 128,
        rest => rest * F::SAMPLE,
    };
    let (from, to) = (share(job.part, total, parts), share(job.part + 1, total, parts));
    let last = if to == total { last } else { 128 };
    let block = job.channel as usize * blocks as usize + (first_block + from) as usize;
    // SAFETY: the views hold what the sizes say, and each block has sums of its own.
    unsafe {
        let steps = Steps {
            start: rows.address(0) + (block * inputs as usize * 128) as u64,
            rows: inputs,
            row_stride: 128,
            step_stride: u64::from(inputs) * 128,
            batch_stride: 0,
            per_batch: 0,
            index: 0,
            steps: to - from,
            full: (to - from).saturating_sub(u32::from(last < 128)),
            last,
            head: if from == 0 { head * F::SAMPLE } else { 0 },
            aligned: true,
        };
        let own = || sums.part(first_sum::<S>(inputs, channels, parts), baselines(inputs));
        correlate::<F, Rows, S, T, ROWS>(&steps, own, inputs, job.row, job.column);
    }
}

/// Correlates heaps of as many polarisations as the order has, after checking that the views hold what the sizes say.
#[inline(always)]
pub fn heaps<F: Format, O: Order, S: Shape, T: Sum<F::Part>, const ROWS: usize>(
    heaps: Global<u8>,
    sums: GlobalMut<T::Memory>,
    sizes: HeapSizes,
) {
    let HeapSizes { channels, antennas, pols, batches_in_buffer, spectra, first_batch, batches, parts } = sizes;
    let row = product(spectra, u64::from(O::POLARISATIONS * F::SAMPLE));
    let per_batch = row.div_ceil(u64::from(O::BYTES));
    let held = product(batches_in_buffer, product(antennas, product(channels, row)));
    if pols != O::POLARISATIONS
        || antennas > MAX_INPUTS
        || !fits::<S>(antennas * O::POLARISATIONS, channels, parts, sums.len())
        || u64::from(first_batch) + u64::from(batches) > u64::from(batches_in_buffer)
        || product(batches, per_batch) > u64::from(u32::MAX)
        || held > heaps.len() as u64
    {
        trap();
        return;
    }
    let inputs = antennas * O::POLARISATIONS;
    let Some(job) = job::<S>(ctaid_x(), channel(ctaid_y(), ctaid_z()), inputs, channels, parts) else { return };
    let (per_batch, last) = (per_batch as u32, (row - per_batch.saturating_sub(1) * u64::from(O::BYTES)) as u32);
    let total = batches * per_batch;
    let (from, to) = (share(job.part, total, parts), share(job.part + 1, total, parts));
    // Of no spectra there is no step.
    let (batch, index) = (from / per_batch.max(1), from % per_batch.max(1));
    let (antenna_stride, step) = (u64::from(channels) * row, u64::from(O::BYTES));
    let batch_stride = u64::from(antennas) * antenna_stride;
    // SAFETY: the views hold what the sizes say, and each block has sums of its own.
    unsafe {
        let start = heaps.address(0)
            + u64::from(first_batch + batch) * batch_stride
            + u64::from(job.channel) * row
            + u64::from(index) * step;
        let aligned = (heaps.address(0) | row).is_multiple_of(16);
        let steps = Steps {
            start,
            rows: antennas,
            row_stride: antenna_stride,
            step_stride: 0,
            batch_stride: batch_stride.wrapping_sub(u64::from(per_batch.saturating_sub(1)) * step),
            per_batch,
            index,
            steps: to - from,
            full: if aligned && last == O::BYTES { to - from } else { 0 },
            last,
            head: 0,
            aligned,
        };
        let own = || sums.part(first_sum::<S>(inputs, channels, parts), baselines(inputs));
        correlate::<F, O, S, T, ROWS>(&steps, own, inputs, job.row, job.column);
    }
}
