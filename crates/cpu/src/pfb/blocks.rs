//! The work of a call: blocks of spectra, taken by workers one after the other, filtered, transformed and written.
//!
//! What becomes of a block's spectra is the caller's: [`Pfb::run`] hands over their [`Rows`] while they are in the
//! cache.

use std::ops::Range;
use std::sync::Mutex;

use ndarray::{ArrayViewMut3, Axis};
use num_complex::Complex;
use rayon::prelude::*;

use super::{Pfb, SampleSource, Scratch, SpectrumInput, Split};

/// Some spectra of some inputs, and where they go.
#[derive(Debug)]
pub struct Block<O> {
    /// First spectrum of the call.
    pub first_time: usize,
    /// Number of spectra, at most as many as the split says.
    pub times: usize,
    /// First input.
    pub first_input: usize,
    /// Number of inputs, at most as many as the split says.
    pub inputs: usize,
    /// Where they go.
    pub out: O,
}

/// The channels of a block's spectra.
#[derive(Debug)]
pub struct Rows<'a> {
    values: &'a [Complex<f32>],
    stride: usize,
    segments: [(usize, usize, usize); 2],
}

impl Rows<'_> {
    /// Channels `channels` of row `time * inputs + input`, in order, as two slices of which one may be empty.
    pub fn channels(&self, row: usize, channels: &Range<usize>) -> [&[Complex<f32>]; 2] {
        let row = &self.values[row * self.stride..][..self.stride];
        self.segments.map(|(channel, bin, count)| {
            let from = channels.start.clamp(channel, channel + count) - channel;
            let to = channels.end.clamp(channel + from, channel + count) - channel;
            &row[bin + from..bin + to]
        })
    }
}

impl Pfb {
    /// Computes spectra block by block: `spectrum(time, input)` says which samples of `source` each takes, and `write`
    /// gets the rows of each block with its output and the worker's `scratch`. The values do not depend on the
    /// blocks, bit for bit.
    ///
    /// # Panics
    /// If a block is larger than the split says.
    pub fn run<P: SampleSource + ?Sized, O: Send, S>(
        &self,
        source: &P,
        spectrum: &(dyn Fn(usize, usize) -> SpectrumInput + Sync),
        blocks: Vec<Block<O>>,
        split: &Split,
        scratch: impl Fn() -> S + Sync,
        write: impl Fn(&Rows<'_>, Block<O>, &mut S) + Sync,
    ) {
        let workers = split.workers.min(blocks.len());
        let queue = Mutex::new(blocks.into_iter());
        let next = || queue.lock().map_or_else(|poisoned| poisoned.into_inner().next(), |mut blocks| blocks.next());
        (0..workers).into_par_iter().with_max_len(1).for_each(|_| {
            let (mut buffers, mut own) = (self.scratch(split), scratch());
            while let Some(block) = next() {
                self.block(source, spectrum, &block, &mut buffers);
                let rows = Rows { values: &buffers.rows, stride: self.row_stride(), segments: self.segments() };
                write(&rows, block, &mut own);
            }
        });
    }

    /// One block: every input filtered and transformed.
    fn block<P: SampleSource + ?Sized, O>(
        &self,
        source: &P,
        spectrum: &(dyn Fn(usize, usize) -> SpectrumInput + Sync),
        block: &Block<O>,
        scratch: &mut Scratch,
    ) {
        for input in 0..block.inputs {
            let describe = |time: usize| spectrum(block.first_time + time, block.first_input + input);
            self.filter(source, block.first_input + input, (input, block.inputs), block.times, &describe, scratch);
            for time in 0..block.times {
                self.transform_row(describe(time), time * block.inputs + input, scratch);
            }
        }
    }

    /// Channelizes into `out[channel][time][input]`: `spectrum(time, input)` says which samples of `source` each
    /// spectrum takes. The result does not depend on `split`, bit for bit.
    ///
    /// # Panics
    /// If `out` does not have the plan's channels.
    pub fn channelize<P: SampleSource + ?Sized>(
        &self,
        source: &P,
        spectrum: &(dyn Fn(usize, usize) -> SpectrumInput + Sync),
        mut out: ArrayViewMut3<'_, Complex<f32>>,
        split: &Split,
    ) {
        assert_eq!(out.dim().0, self.channels, "channels of the output");
        let mut blocks = Vec::new();
        for (t, times) in out.axis_chunks_iter_mut(Axis(1), split.times).enumerate() {
            let mut rest = times;
            let mut first_input = 0;
            while rest.dim().2 > 0 {
                let inputs = split.inputs.min(rest.dim().2);
                let (out, after) = rest.split_at(Axis(2), inputs);
                blocks.push(Block { first_time: t * split.times, times: out.dim().1, first_input, inputs, out });
                first_input += inputs;
                rest = after;
            }
        }
        self.run(source, spectrum, blocks, split, || (), |rows, block, _| transpose(rows, block.out));
    }
}

/// Writes the rows of a block to their place in the output.
fn transpose(rows: &Rows<'_>, mut out: ArrayViewMut3<'_, Complex<f32>>) {
    let bins = rows.segments.into_iter().flat_map(|(_, bin, count)| bin..bin + count);
    for (bin, mut channel) in bins.zip(out.outer_iter_mut()) {
        let mut rows = rows.values.chunks_exact(rows.stride);
        if let Some(values) = channel.as_slice_mut() {
            values.iter_mut().zip(rows).for_each(|(value, row)| *value = row[bin]);
        } else {
            for mut values in channel.outer_iter_mut() {
                values.iter_mut().zip(&mut rows).for_each(|(value, row)| *value = row[bin]);
            }
        }
    }
}
