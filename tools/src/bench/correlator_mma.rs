//! The correlation kernels for sm_80 (`mma.sync`), every variant of every format and order beside the others: a sweep.
//!
//! `mma_rows` and `mma_heaps` overwrite sums, `mma_rows_add` and `mma_heaps_add` add to them. A line is a variant and a
//! number of parts; the one that the table takes is marked.

use fringes::correlator::internals::mma::{Format, MmaKernel, Order};
use fringes_gpu::{Argument, Buffer, BufferView, KernelElement, Stream};

use crate::bench::ceilings::Ceilings;
use crate::bench::correlator_samples::{Case, Part, SPECTRA, piece};
use crate::bench::timing::{Bench, Bound, Measured, copies};
use crate::end::End;
use crate::gpu_report::params;

/// Stations, channels and times.
const SIZES: [[usize; 3]; 7] = [
    [32, 2048, 4096],
    [64, 1024, 4096],
    [128, 512, 4096],
    [256, 256, 4096],
    [512, 128, 4096],
    [1024, 64, 4096],
    [64, 64, 4096],
];

/// Stations, channels, and times in heaps of 256 spectra.
const HEAP_SIZES: [[usize; 3]; 4] = [[80, 64, 8192], [64, 1024, 4096], [128, 512, 4096], [256, 256, 4096]];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    for (order, sizes, names) in [
        (Order::Rows, &SIZES[..], ["mma_rows", "mma_rows_add"]),
        (Order::DualHeaps, &HEAP_SIZES[..], ["mma_heaps", "mma_heaps_add"]),
    ] {
        if !names.iter().any(|name| bench.wants(name)) {
            continue;
        }
        for format in Format::ALL {
            let piece = piece(format);
            for &[stations, channels, times] in sizes {
                let sweep = Sweep { case: Case { format, order, stations, channels, times } };
                if format == Format::F16 {
                    sweep.sweep::<f32>(bench, ceilings, &piece, (names[0], false))?;
                    sweep.sweep::<f64>(bench, ceilings, &piece, (names[1], true))?;
                } else {
                    sweep.sweep::<i32>(bench, ceilings, &piece, (names[0], false))?;
                    sweep.sweep::<i32>(bench, ceilings, &piece, (names[1], true))?;
                }
            }
        }
    }
    Ok(())
}

/// Kernels of a format and an order, and a size.
struct Sweep {
    case: Case,
}

impl Sweep {
    /// Steps that parts divide.
    fn steps(&self) -> usize {
        let step = self.case.order.step_bytes()
            / self.case.format.bytes()
            / if self.case.order == Order::DualHeaps { 2 } else { 1 };
        self.case.times / step
    }

    /// Every kernel that takes the inputs, in one part and in as many as fill the device.
    fn sweep<P: Part>(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        piece: &[u8],
        (name, adds): (&'static str, bool),
    ) -> Result<(), End>
    where
        [P; 2]: KernelElement,
    {
        if !bench.wants(name) {
            return Ok(());
        }
        let (stream, multiprocessors) = (bench.stream.clone(), bench.device.info().multiprocessors as usize);
        let count = copies(&bench.device, self.case.bytes());
        let most = 16;
        let sums = self.case.channels * self.case.baselines();
        if !bench.fits(name, self.case.bytes() * count + most * sums * size_of::<[P; 2]>())? {
            return Ok(());
        }
        let samples = self.case.samples(bench, piece, count)?;
        let bytes = samples.slice(..self.case.bytes())?.to_vec(&stream)?;
        let chosen = MmaKernel::choose(self.case.format, self.case.order, self.case.inputs());
        for kernel in MmaKernel::all(self.case.format, self.case.order, self.case.inputs()) {
            let best = kernel.parts(multiprocessors, self.case.channels, self.case.inputs(), self.steps()).min(most);
            let mut tried = vec![1, best, (2 * best).min(most)];
            tried.dedup();
            if best == 1 {
                tried.truncate(1);
            }
            let entry = bench.device.load(kernel.ptx())?.kernel(&kernel.name(adds))?;
            for parts in tried {
                let mut sums = Buffer::<[P; 2]>::zeroed(&stream, parts * sums)?;
                let config = kernel.launch(self.case.channels, self.case.inputs(), parts).map_err(End::failed)?;
                let launch = |stream: &Stream, samples: BufferView<'_, u8>, sums: &mut Buffer<[P; 2]>| {
                    let numbers = self.numbers(parts);
                    let mut arguments: Vec<Argument<'_>> = vec![samples.into(), sums.view_mut().into()];
                    arguments.extend(numbers.iter().map(|&number| Argument::from(number)));
                    entry.launch_safe(stream, &config, &arguments)
                };
                launch(&stream, samples.slice(..self.case.bytes())?, &mut sums)?;
                let check = self.case.check(&stream, &bytes, &sums, parts)?;
                let timing = bench.time(|run| {
                    let start = run % count * self.case.bytes();
                    launch(&stream, samples.slice(start..start + self.case.bytes())?, &mut sums)
                });
                let mark = if kernel == chosen && parts == best { " *" } else { "" };
                let variant = format!(
                    "{} {} {} parts {parts}{mark}",
                    self.case.stations,
                    self.case.format.name(),
                    kernel.variant().name()
                );
                let moved = if adds { 2 } else { 1 } * size_of::<[P; 2]>();
                bench.add(Measured {
                    kernel: name,
                    variant,
                    params: params([
                        ("channels", self.case.channels),
                        ("inputs", self.case.inputs()),
                        ("times", self.case.times),
                    ]),
                    timing: timing?,
                    work: self.case.operations(),
                    unit: "useful TOPS",
                    bound: Some(self.bound(ceilings, kernel, parts * moved)),
                    check,
                });
            }
        }
        Ok(())
    }

    /// Arguments after the two views.
    fn numbers(&self, parts: usize) -> Vec<u32> {
        let numbers = match self.case.order {
            Order::Rows => {
                let blocks = self.case.times / self.case.format.row_times();
                vec![self.case.channels, self.case.inputs(), blocks, 0, self.case.times, parts]
            }
            _ => {
                let batches = self.case.times / SPECTRA;
                vec![self.case.channels, self.case.stations, 2, batches, SPECTRA, 0, batches, parts]
            }
        };
        numbers.into_iter().map(|number| number as u32).collect()
    }

    /// Bytes that must move, or products that are computed; f16 products take twice as long.
    fn bound(&self, ceilings: &Ceilings, kernel: MmaKernel, moved: usize) -> Bound {
        let bytes = ceilings.bytes((self.case.bytes() + self.case.channels * self.case.baselines() * moved) as f64);
        let slow = if self.case.format == Format::F16 { 2 } else { 1 };
        let computed =
            kernel.variant().computed_pairs(self.case.inputs()) * self.case.channels * self.case.times * 8 * slow;
        let products = ceilings.products(computed as f64, self.case.operations() * slow as f64);
        if bytes.time_ms > products.time_ms { bytes } else { products }
    }
}
