//! Channelizes the samples of an npy file with a polyphase filter bank.
//!
//! In: `int16` or `float32` (real) or `complex64` `[input][time]`. Out: `complex64 [time][channel][input]`, channels
//! ascending in frequency; of real samples the Nyquist frequency is dropped, of complex ones 0 Hz is in the middle.
//!
//! ```text
//! cargo run --release --example channelize_npy -- --input x.npy --output y.npy --channels 1024 --taps 8
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{AnySamples, BackendArguments, Failure};
use fringes::{Channelizer, Window, channelize};

/// Channelize samples: int16, float32 or complex64 [input][time] in, complex64 [time][channel][input] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Samples, int16 or float32 (real) or complex64, [input][time].
    #[arg(long)]
    input: PathBuf,
    /// Where the spectra go, complex64 [time][channel][input].
    #[arg(long)]
    output: PathBuf,
    /// Number of channels: half the transform's length for real samples, the transform's length for complex ones.
    #[arg(long)]
    channels: usize,
    /// Number of taps of each branch of the filter bank.
    #[arg(long, default_value_t = 16)]
    taps: usize,
    /// Window that the sinc is multiplied with.
    #[arg(long, value_enum, default_value_t = WindowName::Hann)]
    window: WindowName,
    /// Shape of the Kaiser window.
    #[arg(long, default_value_t = 8.0)]
    kaiser_beta: f64,
    /// Width of a channel's response in channels: the factor in the argument of the sinc.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    w_cutoff: f64,
    #[command(flatten)]
    backend: BackendArguments,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum WindowName {
    Hann,
    Hamming,
    Blackman,
    Rect,
    Kaiser,
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let window = match arguments.window {
        WindowName::Hann => Window::Hann,
        WindowName::Hamming => Window::Hamming,
        WindowName::Blackman => Window::Blackman,
        WindowName::Rect => Window::Rect,
        WindowName::Kaiser => Window::Kaiser { beta: arguments.kaiser_beta },
    };
    let samples = AnySamples::read(&arguments.input)?;
    let builder = match &samples {
        AnySamples::Complex32(_) => Channelizer::complex(arguments.channels),
        _ => Channelizer::real(arguments.channels),
    };
    let plan = builder.taps(arguments.taps).window(window).w_cutoff(arguments.w_cutoff).build()?;
    let voltages = match &samples {
        AnySamples::Int16(samples) => channelize(&backend, samples, &plan)?,
        AnySamples::Float32(samples) => channelize(&backend, samples, &plan)?,
        AnySamples::Complex32(samples) => channelize(&backend, samples, &plan)?,
    };
    common::write(&arguments.output, voltages.data().permuted_axes([1, 0, 2]))
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
