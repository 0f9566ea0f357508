//! Power sums of heaps, masked copies, and masked rows. All are bound by bytes: sums read every voltage once, copies
//! read and write it, and of rows what is masked is written.

use fringes::interference::{HeapBlocks, MaskKernels, Power, PowerKernels, PowerSum, RowBlocks, VoltageBlocks};
use fringes::types::{ROW_BYTES, row_times};
use fringes::{Complex, Complex4, Inputs, f16};
use fringes_gpu::{Buffer, Stream};

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::{Params, params};

/// Bytes of the voltages of a case, at most.
const BYTES: usize = 1 << 30;

/// Channels, antennas of two polarisations, spectra of a heap and of a block; as many batches as make a GiB. Heaps of
/// the last one are no whole pieces of 16 bytes.
const SHAPES: [[usize; 4]; 5] =
    [[4096, 8, 256, 256], [4096, 8, 256, 2048], [512, 80, 256, 512], [1024, 64, 16, 64], [1024, 8, 100, 300]];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !["power_sums", "mask", "mask_rows"].iter().any(|name| bench.wants(name))
        || !bench.fits("heaps", 3 * BYTES + (256 << 20))?
    {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let mut from = Source::bytes(&stream)?.buffer(&bench.device, &stream, BYTES)?;
    cases::<Complex4>(bench, ceilings, &from, "4 bits")?;
    cases::<Complex<i8>>(bench, ceilings, &from, "8 bits")?;
    Source::halves(&stream)?.fill(&stream, &mut from.view_mut().cast::<f16>()?)?;
    cases::<Complex<f16>>(bench, ceilings, &from, "f16")?;
    Source::floats(&stream)?.fill(&stream, &mut from.view_mut().cast::<f32>()?)?;
    cases::<Complex<f32>>(bench, ceilings, &from, "f32")
}

fn cases<V: Power>(bench: &mut Bench, ceilings: &Ceilings, from: &Buffer<u8>, format: &str) -> Result<(), End> {
    let host = from.to_vec(&bench.stream)?;
    for [channels, antennas, spectra, spectra_per_block] in SHAPES {
        let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
        let batches = BYTES / size_of::<V>() / channels / inputs.len() / spectra;
        let shape = HeapBlocks { batches, inputs, channels, spectra, spectra_per_block, lead: 0 };
        let heaps = Heaps { shape, format, host: &host, from };
        if bench.wants("power_sums") {
            heaps.sums::<V>(bench, ceilings, false)?;
            heaps.sums::<V>(bench, ceilings, true)?;
            heaps.sums_of_rows::<V>(bench, ceilings)?;
            heaps.sums_of_voltages::<V>(bench, ceilings)?;
        }
        if bench.wants("mask") {
            // The share that is masked is written alone.
            for share in [0, 10] {
                heaps.mask::<V>(bench, ceilings, share)?;
            }
        }
        if bench.wants("mask_rows") {
            for share in [10, 1] {
                heaps.mask_rows::<V>(bench, ceilings, share)?;
            }
        }
    }
    Ok(())
}

/// Heaps on the device, and the same on the host.
struct Heaps<'a> {
    shape: HeapBlocks,
    format: &'a str,
    host: &'a [u8],
    from: &'a Buffer<u8>,
}

impl Heaps<'_> {
    fn params(&self) -> Params {
        let HeapBlocks { batches, inputs, channels, spectra, spectra_per_block, .. } = self.shape;
        params([
            ("antennas", inputs.antennas()),
            ("batches", batches),
            ("block", spectra_per_block),
            ("channels", channels),
            ("spectra", spectra),
        ])
    }

    /// Sums, where every seventh heap is missing if there are `flags`.
    fn sums<V: Power>(&self, bench: &mut Bench, ceilings: &Ceilings, flags: bool) -> Result<(), End> {
        let (stream, shape) = (bench.stream.clone(), self.shape);
        let kernels = PowerKernels::<V>::load(&bench.device).map_err(End::failed)?;
        let bytes = shape.voltages() * size_of::<V>();
        let heaps = shape.batches * shape.inputs.antennas();
        let present: Vec<u8> = (0..heaps).map(|heap| u8::from(!flags || heap % 7 != 3)).collect();
        let on_device = Buffer::from_slice(&stream, &present)?;
        let cells = 2 * shape.channels * shape.blocks() * shape.inputs.len();
        let mut sums = Buffer::<V::Sum>::zeroed(&stream, cells)?;
        let mut work = |_| {
            let from = self.from.slice(..bytes)?.cast::<V>()?;
            kernels.sum(&stream, shape, from, flags.then(|| on_device.view()), sums.view_mut())
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let (antennas, channels, spectra) = (shape.inputs.antennas(), shape.channels, shape.spectra);
        let place = |channel: usize, time: usize, input: usize| {
            let heap = time / spectra * antennas + input / 2;
            let voltage = ((heap * channels + channel) * spectra + time % spectra) * 2 + input % 2;
            (present[heap] != 0).then_some(voltage)
        };
        let check = self.check_sums::<V>(shape.times(), place, &sums.to_vec(&stream)?)?;
        let there = present.iter().filter(|&&flag| flag != 0).count();
        let moved = (bytes / heaps * there + 8 * cells) as f64;
        bench.add(Measured {
            kernel: "power_sums",
            variant: format!("{}{}", self.format, if flags { ", presence flags" } else { "" }),
            params: self.params(),
            timing,
            work: moved,
            unit: "GB/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
        Ok(())
    }

    /// Sums of the same voltages, taken as rows of as many channels, times and inputs.
    fn sums_of_rows<V: Power>(&self, bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
        let (stream, row) = (bench.stream.clone(), row_times(V::FORMAT));
        let HeapBlocks { inputs, channels, spectra_per_block, .. } = self.shape;
        let (rows, inputs) = (self.shape.times() / row, inputs.len());
        let shape = RowBlocks { channels, rows, inputs, spectra_per_block, lead: 0 };
        let kernels = PowerKernels::<V>::load(&bench.device).map_err(End::failed)?;
        let (bytes, blocks) = (shape.voltages(V::FORMAT) * size_of::<V>(), shape.blocks(V::FORMAT));
        let cells = 2 * channels * blocks * inputs;
        let mut sums = Buffer::<V::Sum>::zeroed(&stream, cells)?;
        let mut work = |_| {
            let from = self.from.slice(..bytes)?.cast::<V>()?;
            kernels.sum_rows(&stream, shape, blocks, from, sums.view_mut())
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let place = |channel: usize, time: usize, input: usize| {
            Some(((channel * rows + time / row) * inputs + input) * row + time % row)
        };
        let check = self.check_sums::<V>(rows * row, place, &sums.to_vec(&stream)?)?;
        self.add_sums(bench, ceilings, "rows", timing, (bytes + 8 * cells) as f64, check);
        Ok(())
    }

    /// Sums of the same voltages, taken as `[channel][time][input]`.
    fn sums_of_voltages<V: Power>(&self, bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
        let stream = bench.stream.clone();
        let HeapBlocks { inputs, channels, spectra_per_block, .. } = self.shape;
        let (times, inputs) = (self.shape.times(), inputs.len());
        let shape = VoltageBlocks { channels, times, inputs, spectra_per_block, lead: 0 };
        let kernels = PowerKernels::<V>::load(&bench.device).map_err(End::failed)?;
        let (bytes, cells) = (shape.voltages() * size_of::<V>(), 2 * channels * shape.blocks() * inputs);
        let mut sums = Buffer::<V::Sum>::zeroed(&stream, cells)?;
        let mut work = |_| {
            let from = self.from.slice(..bytes)?.cast::<V>()?;
            kernels.sum_voltages(&stream, shape, from, None, sums.view_mut())
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let place = |channel: usize, time: usize, input: usize| Some((channel * times + time) * inputs + input);
        let check = self.check_sums::<V>(times, place, &sums.to_vec(&stream)?)?;
        self.add_sums(bench, ceilings, "voltages", timing, (bytes + 8 * cells) as f64, check);
        Ok(())
    }

    fn add_sums(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        layout: &str,
        timing: fringes_gpu::Timing,
        moved: f64,
        check: String,
    ) {
        bench.add(Measured {
            kernel: "power_sums",
            variant: format!("{}, {layout}", self.format),
            params: self.params(),
            timing,
            work: moved,
            unit: "GB/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
    }

    /// Compares the sums of some channels and blocks of so many times with plain loops; `place` is that of the voltage
    /// of a channel, time and input, if it is there.
    fn check_sums<V: Power>(
        &self,
        times: usize,
        place: impl Fn(usize, usize, usize) -> Option<usize>,
        sums: &[V::Sum],
    ) -> Result<String, End> {
        let HeapBlocks { inputs, channels, spectra_per_block: block, .. } = self.shape;
        let blocks = times.div_ceil(block);
        let mut worst = 0.0f64;
        for channel in [0, channels / 2, channels - 1] {
            for number in [0, blocks - 1] {
                for input in 0..inputs.len() {
                    let (mut first, mut second, mut count) = (0.0f64, 0.0f64, 0);
                    for time in number * block..times.min((number + 1) * block) {
                        if let Some(voltage) = place(channel, time, input) {
                            let power = self.voltage::<V>(voltage).1;
                            (first, second, count) = (first + power, second + power * power, count + 1);
                        }
                    }
                    let cell = (channel * blocks + number) * inputs.len() + input;
                    for (place, expected) in [(cell, first), (sums.len() / 2 + cell, second)] {
                        // Sums of integers are below 2^53 here: exact in f64.
                        let bound = if V::FORMAT.limit().is_finite() { 0.0 } else { 2.0 * f64::from(count + 5) };
                        let bound = bound * 2f64.powi(-53) * expected;
                        let error = (sums[place].to_f64() - expected).abs();
                        if error.is_nan() || error > bound {
                            let what = format!("channel {channel}, block {number}, input {input}");
                            let found = sums[place].to_f64();
                            return Err(End::failed(format!("{}: {what}: {found} for {expected}", self.format)));
                        }
                        worst = worst.max(if error > 0.0 { error / bound } else { 0.0 });
                    }
                }
            }
        }
        Ok(format!("sums of three channels equal plain loops within {worst:.2} of the bound"))
    }

    /// The bytes of a voltage, and its power.
    fn voltage<V: Power>(&self, number: usize) -> (&[u8], f64) {
        let bytes = &self.host[number * size_of::<V>()..(number + 1) * size_of::<V>()];
        let value = bytemuck::pod_read_unaligned::<V>(bytes).to_c32();
        (bytes, f64::from(value.re).powi(2) + f64::from(value.im).powi(2))
    }

    /// Copies of which one cell in `share` is masked, none with 0.
    fn mask<V: Power>(&self, bench: &mut Bench, ceilings: &Ceilings, share: usize) -> Result<(), End> {
        let (stream, shape) = (bench.stream.clone(), self.shape);
        let kernels = MaskKernels::<V>::load(&bench.device).map_err(End::failed)?;
        let bytes = shape.voltages() * size_of::<V>();
        let cells: Vec<u8> =
            (0..shape.channels * shape.blocks()).map(|cell| u8::from(share > 0 && cell % share == 0)).collect();
        let masked = Buffer::from_slice(&stream, &cells)?;
        let mut to = Buffer::<V>::alloc(&bench.device, shape.voltages())?;
        let mut work = |_| {
            let from = self.from.slice(..bytes)?.cast::<V>()?;
            kernels.mask(&stream, shape, from, masked.view(), to.view_mut())
        };
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        let check = self.check_mask::<V>(&stream, &cells, &to)?;
        // What is masked is not read: an estimate, as edges of blocks are no edges of heaps everywhere.
        let read = cells.iter().filter(|&&cell| cell == 0).count() as f64 / cells.len() as f64;
        let moved = bytes as f64 * (1.0 + read);
        bench.add(Measured {
            kernel: "mask",
            variant: format!("{}{}", self.format, if share > 0 { ", a tenth masked" } else { "" }),
            params: self.params(),
            timing,
            work: moved,
            unit: "GB/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
        Ok(())
    }

    /// The same voltages taken as rows of as many channels, times and inputs, of which one cell in `share` is masked
    /// where they lie.
    fn mask_rows<V: Power>(&self, bench: &mut Bench, ceilings: &Ceilings, share: usize) -> Result<(), End> {
        let (stream, row) = (bench.stream.clone(), row_times(V::FORMAT));
        let HeapBlocks { inputs, channels, spectra_per_block, .. } = self.shape;
        let (rows, inputs) = (self.shape.times() / row, inputs.len());
        let shape = RowBlocks { channels, rows, inputs, spectra_per_block, lead: 0 };
        let kernels = MaskKernels::<V>::load(&bench.device).map_err(End::failed)?;
        let bytes = shape.voltages(V::FORMAT) * size_of::<V>();
        let blocks = shape.blocks(V::FORMAT);
        let cells: Vec<u8> = (0..channels * blocks).map(|cell| u8::from(cell % share == 0)).collect();
        let masked = Buffer::from_slice(&stream, &cells)?;
        let mut data = Buffer::<V>::alloc(&bench.device, shape.voltages(V::FORMAT))?;
        data.view_mut().copy_from(&stream, self.from.slice(..bytes)?.cast::<V>()?)?;
        let mut work = |_| kernels.mask_rows(&stream, shape, masked.view(), data.view_mut());
        work(0).map_err(End::failed)?;
        let timing = bench.time(work).map_err(End::failed)?;
        // The first and the last row of every input.
        for line in [0, channels * rows - 1] {
            let first = line * inputs * row;
            let found = data.slice(first..first + inputs * row)?.to_vec(&stream)?;
            for (place, value) in found.iter().enumerate() {
                let time = line % rows * row + place % row;
                let cell = line / rows * blocks + time / spectra_per_block;
                let expected = self.voltage::<V>(first + place).0;
                let is_masked = cells[cell] != 0;
                let found = bytemuck::bytes_of(value);
                if is_masked && found.iter().any(|&byte| byte != 0) || !is_masked && found != expected {
                    return Err(End::failed(format!("{}: line {line}, place {place}", self.format)));
                }
            }
        }
        // Every voltage of a masked cell, but for a last block that is short.
        let all = cells.iter().filter(|&&cell| cell != 0).count() as f64 / cells.len() as f64;
        let moved = all * bytes as f64;
        bench.add(Measured {
            kernel: "mask_rows",
            variant: format!("{}{}", self.format, if share > 1 { ", a tenth masked" } else { ", all masked" }),
            params: params([
                ("block", spectra_per_block),
                ("channels", channels),
                ("inputs", inputs),
                ("row_bytes", ROW_BYTES),
                ("rows", rows),
            ]),
            timing,
            work: moved,
            unit: "GB/s",
            bound: Some(ceilings.bytes(moved)),
            check: "first and last rows of all inputs are zero where masked, and as they were elsewhere".into(),
        });
        Ok(())
    }

    /// Compares the first and the last heap of the copy with what they must be.
    fn check_mask<V: Power>(&self, stream: &Stream, cells: &[u8], to: &Buffer<V>) -> Result<String, End> {
        let HeapBlocks { batches, inputs, channels, spectra, spectra_per_block: block, .. } = self.shape;
        let (heap, blocks) = (channels * spectra * 2, self.shape.blocks());
        for batch in [0, batches - 1] {
            let start = batch * inputs.antennas() * heap;
            let found = to.slice(start..start + heap)?.to_vec(stream)?;
            for (place, found) in found.iter().enumerate() {
                let (channel, time) = (place / spectra / 2, batch * spectra + place / 2 % spectra);
                let is_masked = cells[channel * blocks + time / block] != 0;
                let as_it_was = bytemuck::bytes_of(found) == self.voltage::<V>(start + place).0;
                if if is_masked { *found != V::zeroed() } else { !as_it_was } {
                    let what = format!("batch {batch}, channel {channel}, time {time}");
                    return Err(End::failed(format!("{}: {what}: {found:?}", self.format)));
                }
            }
        }
        Ok(format!("{} voltages are those of the heaps or zero, error 0", 2 * heap))
    }
}
