//! Visibilities as a numpy `.npz` archive.
//!
//! | array | type | shape | holds |
//! |---|---|---|---|
//! | `vis` | complex64 | `[integration][channel][baseline]` | `V[a][b] = sum x_a conj(x_b)`, packed lower triangle of inputs |
//! | `baseline_inputs` | int64 | `[baseline][2]` | the inputs `a >= b` of each baseline |
//! | `freq_hz` | float64 | `[channel]` | centre of each channel; a baseband offset where the sky frequency is not known |
//! | `time_s` | float64 | `[integration]` | middle of each integration after the start of the run |
//! | `weight` | float32 | `[integration][baseline]` | weight of each baseline, e.g. its number of valid samples |
//! | `channel_weight` | float32 | `[integration][channel][baseline]` | the same with masked samples taken off; only where a dump was masked |

use std::fs::File;
use std::io::Write;
use std::path::Path;

use fringes_types::{BaselineOrder, Inputs};
use ndarray::{Array1, Array2};
use ndarray_npy::{NpzWriter, WriteNpzError};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use super::VisibilityCube;
use super::npy::write_error;
use crate::IoError;

/// Writes a cube as the [module's table](self) says, replacing the file. The arrays are not compressed: noise does not
/// compress, and numpy can then map them.
///
/// # Errors
/// [`IoError::File`] if the file cannot be written.
pub fn write_visibilities_npz(path: &Path, cube: &VisibilityCube) -> Result<(), IoError> {
    let file = |source| IoError::File { path: path.into(), source };
    let target = File::create(path).map_err(file)?;
    // As numpy does, entries are 64-bit ones whatever their size, so that one above 4 GiB is no special case.
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let write = || -> Result<(), WriteNpzError> {
        let mut archive = NpzWriter::new_with_options(target, options);
        archive.add_array("vis", &cube.data())?;
        archive.add_array("baseline_inputs", &baseline_inputs(cube.inputs()))?;
        let frequencies = cube.frequencies();
        let freq_hz = Array1::from_shape_fn(cube.channels(), |channel| frequencies.channel_hz(channel));
        archive.add_array("freq_hz", &freq_hz)?;
        archive.add_array("time_s", &cube.time_s())?;
        archive.add_array("weight", &cube.weight())?;
        if let Some(weights) = cube.channel_weight() {
            archive.add_array("channel_weight", &weights)?;
        }
        archive.finish()?.flush().map_err(ZipError::from)?;
        Ok(())
    };
    write().map_err(|error| {
        file(match error {
            WriteNpzError::Npy(error) => write_error(error),
            WriteNpzError::Zip(ZipError::Io(source)) => source,
            WriteNpzError::Zip(other) => std::io::Error::other(other),
        })
    })
}

/// The inputs `a >= b` of each position of the packed lower triangle, `[baseline][2]`.
pub fn baseline_inputs(inputs: Inputs) -> Array2<i64> {
    let mut pairs = Array2::zeros((inputs.triangle_len(), 2));
    for (position, mut pair) in pairs.outer_iter_mut().enumerate() {
        if let Some(product) = BaselineOrder::Triangle.product(inputs, position) {
            pair[0] = product.a as i64;
            pair[1] = product.b as i64;
        }
    }
    pairs
}
