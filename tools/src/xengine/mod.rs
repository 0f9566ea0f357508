//! The figures of the paper on the cross-correlation X-engine (Clark, La Plante and Greenhill, 2012) for the GPU at
//! hand.
//!
//! ```text
//! cargo run --release -p fringes-tools -- xengine --out figures
//! cargo run --release -p fringes-tools -- xengine --from figures/xengine.json --out pictures
//! ```
//!
//! | picture | the paper's | what it shows |
//! |---|---|---|
//! | `transfer.png` | Figure 4 | time of the kernel, and of the transfer of its voltages from pinned host memory, against stations |
//! | `stations.png` | Figure 5 | rate against stations for several numbers of channels, useful and normalised, with and without output |
//! | `integration.png` | Figure 6 | rate against channels where channels times times is fixed, with and without the output of visibilities |
//! | `integrated.png` | Algorithm 1 | rate of the whole X-engine from pinned host memory, beside its kernel's and what the host's link allows |
//!
//! Stations have two polarisations, that is two inputs. Rates are of 8 operations a product of two inputs and time:
//!
//! - *useful*: the products that are needed, autocorrelations included;
//! - *raw*: all that the kernels compute, also those above the diagonal and past the last input;
//! - *normalised*: useful, times `2 (N + RT) / (2 N + 1)` of the paper's section 6.1 with N stations and tiles of RT
//!   stations: as if tiles on the diagonal were computed whole. (Kernels that compute half of such tiles are slower
//!   than that says, and their curve may lie above the GPU's peak.)
//!
//! Everything is measured with random voltages, as medians, and written to `xengine.json`, from which `--from` draws
//! without a GPU.
//!
//! Exit status: 0, 1 where something fails, 2 for bad arguments, 3 if there is no GPU.

mod chart;
mod engine;
mod figures;
mod integrated;
mod record;
mod sweep;

use std::path::{Path, PathBuf};

use crate::end::End;
use crate::gpu_report::GpuArguments;
use record::Measured;

/// Name of the record in the output folder.
const RECORD: &str = "xengine.json";

/// Figures of the X-engine's paper for a GPU. Exit status 3 if there is no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Draw a record of an earlier run; no GPU is needed.
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Folder for the pictures and the record.
    #[arg(long, value_name = "FOLDER", default_value = "xengine")]
    out: PathBuf,
    /// Few sizes, each timed for a short while.
    #[arg(long)]
    quick: bool,
    /// Only the whole X-engine from the host's memory.
    #[arg(long)]
    integrated: bool,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let place = |path: &Path, error: &dyn std::fmt::Display| End::failed(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&arguments.out).map_err(|error| place(&arguments.out, &error))?;
    let path = match &arguments.from {
        Some(path) => path.clone(),
        None => {
            let path = arguments.out.join(RECORD);
            let record = sweep::run(arguments.gpu.open()?, arguments.quick, arguments.integrated, &path)?;
            record.finish()?;
            if let Some(other) = &arguments.gpu.json {
                record.write(other)?;
            }
            path
        }
    };
    let text = std::fs::read_to_string(&path).map_err(|error| place(&path, &error))?;
    let measured: Measured = serde_json::from_str(&text).map_err(|error| place(&path, &error))?;
    for picture in figures::draw(&measured, &arguments.out).map_err(End::failed)? {
        println!("{}", picture.display());
    }
    Ok(())
}
