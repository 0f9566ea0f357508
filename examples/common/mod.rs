//! What the npy examples share: arguments, npy files in and out, and errors of one line.
//!
//! The header of a file is looked at first, so that a wrong type or shape is named in the words of the example, and the
//! data is read then.
#![allow(dead_code)] // each example uses a part

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use fringes::io::write::npy::{NpyElement, npy_info, read_npy, write_npy};
use fringes::{Backend, Complex, Inputs, Sample, Samples};
use ndarray::{Array, Array1, Array2, Array3, Array4, ArrayView, Dimension, Ix1};

/// Why a program ends early: one line that says what is wrong and where.
pub(crate) struct Failure(String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A failure that names a place: a file or an argument.
pub(crate) fn failure(place: impl Display, what: impl Display) -> Failure {
    Failure(format!("{place}: {what}"))
}

/// Parses the command line. A bad one gives one line on standard error and exit status 2.
pub(crate) fn arguments<A: Parser>() -> A {
    A::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit(); // --help
        }
        let text = error.to_string();
        let ends = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
        let lines = text.lines().take_while(|line| !ends(line)).map(str::trim);
        eprintln!("{}", lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "));
        std::process::exit(2)
    })
}

/// Exit status 0, or the failure's line on standard error and exit status 2.
pub(crate) fn exit(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(line)) => {
            eprintln!("error: {}", line.replace('\n', " "));
            ExitCode::from(2)
        }
    }
}

/// Where to run, and in how much memory.
#[derive(clap::Args)]
pub(crate) struct BackendArguments {
    /// Where to run.
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,
    /// Most bytes that the operation may take beside its input and output; it splits its work by time to stay below.
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum BackendName {
    Auto,
    Cpu,
    Gpu,
}

impl BackendArguments {
    /// The backend asked for.
    pub(crate) fn open(&self) -> Result<Backend, Failure> {
        let backend = match self.backend {
            BackendName::Auto => Backend::auto(),
            BackendName::Cpu => Backend::cpu(),
            BackendName::Gpu => Backend::gpu(0).map_err(|error| failure("--backend gpu", error))?,
        };
        Ok(match self.memory_limit {
            Some(bytes) => backend.with_memory_limit(bytes),
            None => backend,
        })
    }
}

/// `inputs` inputs as antennas of `pols` polarisations.
pub(crate) fn inputs(path: &Path, inputs: usize, pols: usize) -> Result<Inputs, Failure> {
    if inputs.checked_rem(pols) != Some(0) {
        let what = format!("{inputs} inputs are no whole number of antennas of {pols} polarisations");
        return Err(failure(path.display(), what));
    }
    Inputs::new(inputs / pols, pols).map_err(|error| failure(path.display(), error))
}

/// The element type and shape of a file's array, and the error that it is not what was `expected`, in words.
fn look(path: &Path, expected: &str) -> Result<(String, Vec<usize>, Failure), Failure> {
    let info = npy_info(path)?;
    let found = format!("expected {expected}, found {} of shape {:?}", info.dtype, info.shape);
    let name = info.dtype.trim_start_matches(['<', '>', '|', '=']).to_owned();
    Ok((name, info.shape, failure(path.display(), found)))
}

/// Writes an array as an npy file in row-major order.
pub(crate) fn write<T, D>(path: &Path, array: ArrayView<'_, T, D>) -> Result<(), Failure>
where
    T: NpyElement + Clone,
    D: Dimension,
{
    Ok(write_npy(path, &array.as_standard_layout())?)
}

/// Samples `[input][time]` of one of the formats that the examples take.
pub(crate) enum AnySamples {
    /// `int16`.
    Int16(Samples<i16>),
    /// `float32`.
    Float32(Samples<f32>),
    /// `complex64`.
    Complex32(Samples<Complex<f32>>),
}

impl AnySamples {
    /// Reads `int16`, `float32` or `complex64` samples `[input][time]`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        const EXPECTED: &str = "int16, float32 or complex64 [input][time]";
        fn samples<S: Sample>(path: &Path, data: Array2<S>) -> Result<Samples<S>, Failure> {
            let inputs = inputs(path, data.nrows(), 1)?;
            Samples::new(data, inputs).map_err(|error| failure(path.display(), error))
        }
        let (name, shape, unexpected) = look(path, EXPECTED)?;
        Ok(match (name.as_str(), shape.len()) {
            ("i2", 2) => Self::Int16(samples(path, read_npy(path)?)?),
            ("f4", 2) => Self::Float32(samples(path, read_npy(path)?)?),
            ("c8", 2) => Self::Complex32(samples(path, read_npy(path)?)?),
            _ => return Err(unexpected),
        })
    }
}

/// Reads 8-bit voltages, `int8 [channel][time][input][2]` with the real part first, as `[channel][time][input]`.
pub(crate) fn read_voltages(path: &Path) -> Result<Array3<Complex<i8>>, Failure> {
    let (name, shape, unexpected) = look(path, "int8 [channel][time][input][2]")?;
    if name != "i1" || shape.len() != 4 || shape.last() != Some(&2) {
        return Err(unexpected);
    }
    let parts: Array4<i8> = read_npy(path)?;
    let (channels, times, inputs, _) = parts.dim();
    let (parts, _) = parts.into_raw_vec_and_offset(); // row-major, as read
    Ok(Array::from_shape_vec((channels, times, inputs), bytemuck::cast_slice(&parts).to_vec())?)
}

/// Reads beam weights, `complex64 [beam][channel][input]`.
pub(crate) fn read_weights(path: &Path) -> Result<Array3<Complex<f32>>, Failure> {
    let (name, shape, unexpected) = look(path, "complex64 [beam][channel][input]")?;
    if name == "c8" && shape.len() == 3 { Ok(read_npy(path)?) } else { Err(unexpected) }
}

/// Reads samples of an ADC, `int16 [input][time]`, of antennas with `pols` polarisations.
pub(crate) fn read_adc(path: &Path, pols: usize) -> Result<Samples<i16>, Failure> {
    let (name, shape, unexpected) = look(path, "int16 [input][time]")?;
    if name != "i2" || shape.len() != 2 {
        return Err(unexpected);
    }
    let data: Array2<i16> = read_npy(path)?;
    let inputs = inputs(path, data.nrows(), pols)?;
    Samples::new(data, inputs).map_err(|error| failure(path.display(), error))
}

/// Reads a filter, `float32` or `float64` `[tap]`.
pub(crate) fn read_filter(path: &Path) -> Result<Vec<f64>, Failure> {
    read_vector(path, "float32 or float64 [tap]")
}

/// Reads numbers, `float32` or `float64`, with one dimension; `expected` names what they are.
pub(crate) fn read_vector(path: &Path, expected: &str) -> Result<Vec<f64>, Failure> {
    let (name, shape, unexpected) = look(path, expected)?;
    let vector: Array1<f64> = match (name.as_str(), shape.len()) {
        ("f4", 1) => read_npy::<f32, Ix1>(path)?.mapv(f64::from),
        ("f8", 1) => read_npy(path)?,
        _ => return Err(unexpected),
    };
    Ok(vector.to_vec())
}
