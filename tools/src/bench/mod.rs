//! Times every kernel on a GPU, beside what the same GPU can do at most in the same minute.
//!
//! ```text
//! cargo run --release -p fringes-tools -- bench
//! cargo run --release -p fringes-tools -- bench --only correlate_i8 --json record.json
//! ```
//!
//! First the ceilings are measured: copy bandwidth, 8-bit `mma.sync` from registers, the link from pinned host memory.
//! From them each kernel gets its *floor*, the highest rate that its bound allows: its bytes at the copy bandwidth, or
//! the products that it computes (useful or not) at the rate of the instruction, whichever takes longer.
//!
//! `rates` are SM-cycles that a warp instruction takes its pipe, the cost table of layout conversions, `conversions`
//! what some conversions take, and `fft_cycles` what FFT microkernels take from registers to registers. `f_engine_half`
//! is the F-engine in half precision and `f_engine_complex` that of complex samples, through the public stream,
//! `f_engine_strided` of oversampled plans, long filters, and other widths and numbers of channels.
//! `channelize_general` are the F-engine's general kernels beside the fast ones. `instrument` is F-engine and X-engine
//! one after the other, and with the samples' way from pinned host memory beside them: how many antennas one GPU keeps
//! up with. `frb` is CHIME's chain of FRB beams, with what part of real time it takes.
//!
//! Inputs are random and rotate over more than the L2. Before a kernel is timed, values of its output are compared with
//! exact ones. Times are medians; `spread` is the longest less the shortest, relative to the median.
//! Some rows have energy as well, by the driver's counter, from a loop of its own after the timed one.
//!
//! Exit status: 0, 1 if a check fails or the GPU does, 2 for bad arguments, 3 if there is no GPU.

pub(crate) mod ceilings;
mod channelizer;
mod complex;
mod correlator;
mod correlator_chunks;
mod correlator_data;
mod correlator_float;
mod correlator_mma;
mod correlator_samples;
mod correlator_wgmma;
mod delay;
mod down_convert;
mod down_convert_bank;
pub(crate) mod energy;
mod fft;
mod fft_beams;
mod fft_cycles;
mod filter;
pub(crate) mod frb;
mod general;
mod instrument;
mod instrument_link;
mod interference;
mod jobs;
mod narrowband;
pub(crate) mod random;
mod rates;
mod saxpy;
pub(crate) mod streams;
mod tied_array;
pub(crate) mod timing;

use crate::end::End;
use crate::gpu_report::{self, GpuArguments};
use clap::builder::PossibleValuesParser;
pub(crate) use timing::Bench;

/// Kernels that can be named.
const KERNELS: [&str; 63] = [
    "channelize",
    "channelize_general",
    "filter",
    "instrument",
    "f_engine_stream",
    "f_engine_half",
    "f_engine_strided",
    "f_engine_complex",
    "instrument_stream",
    "down_convert",
    "down_convert_bank",
    "narrowband",
    "down_convert_general",
    "down_convert_mma",
    "pack",
    "pack_xgpu",
    "pack_heaps",
    "pack_tcc",
    "reduce",
    "clamp",
    "reorder",
    "add_parts",
    "correlate_device",
    "correlate_link",
    "correlate_i8",
    "correlate_i8_add",
    "correlate_f32",
    "correlate_f32_add",
    "correlate_f32_tf32",
    "correlate_f32_tf32_add",
    "correlate_f32_tf32_wgmma",
    "correlate_f32_tf32_wgmma_add",
    "mma_rows",
    "mma_rows_add",
    "mma_heaps",
    "mma_heaps_add",
    "correlate_wgmma_i4",
    "correlate_wgmma_i4_add",
    "correlate_wgmma_i8",
    "correlate_wgmma_i8_add",
    "correlate_wgmma_f16",
    "correlate_wgmma_f16_add",
    "correlate_wgmma_heaps_i4",
    "correlate_wgmma_heaps_i4_add",
    "correlate_wgmma_heaps_i8",
    "correlate_wgmma_heaps_i8_add",
    "correlate_wgmma_heaps_f16",
    "correlate_wgmma_heaps_f16_add",
    "shift",
    "rotate",
    "rotate_heaps",
    "rotate_rows",
    "power_sums",
    "mask",
    "mask_rows",
    "saxpy",
    "fft",
    "fft_beams",
    "frb",
    "tied_array",
    "rates",
    "conversions",
    "fft_cycles",
];

/// Time every kernel on a GPU beside what the GPU can do at most. Exit status 3 if there is no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Only these kernels (ceilings are always measured); may be given several times.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(KERNELS))]
    only: Vec<String>,
    /// Timed runs of each kernel.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(10..=1000))]
    runs: u16,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device = arguments.gpu.open()?;
    println!("{}\ndriver {}\n", device.info(), gpu_report::driver(device.info().driver_version));
    let mut bench = Bench::new(device, arguments.only.clone(), arguments.runs.into(), arguments.gpu.json.as_deref())?;
    let ceilings = ceilings::measure(&mut bench)?;
    correlator_chunks::run(&mut bench)?;
    correlator::run(&mut bench, &ceilings)?;
    correlator_data::run(&mut bench, &ceilings)?;
    correlator_float::run(&mut bench, &ceilings)?;
    correlator_mma::run(&mut bench, &ceilings)?;
    correlator_wgmma::run(&mut bench, &ceilings)?;
    channelizer::run(&mut bench, &ceilings)?;
    general::run(&mut bench, &ceilings)?;
    filter::run(&mut bench, &ceilings)?;
    instrument::run(&mut bench)?;
    streams::run(&mut bench, &ceilings)?;
    complex::run(&mut bench, &ceilings)?;
    down_convert::run(&mut bench, &ceilings)?;
    down_convert_bank::run(&mut bench, &ceilings)?;
    narrowband::run(&mut bench, &ceilings)?;
    delay::run(&mut bench, &ceilings)?;
    interference::run(&mut bench, &ceilings)?;
    saxpy::run(&mut bench, &ceilings)?;
    fft::run(&mut bench, &ceilings)?;
    fft_beams::run(&mut bench, &ceilings)?;
    frb::run(&mut bench, &ceilings)?;
    tied_array::run(&mut bench, &ceilings)?;
    rates::run(&mut bench)?;
    fft_cycles::run(&mut bench)?;
    bench.record.finish()
}
