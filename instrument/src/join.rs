//! One UVH5 file of those of all ranks.

use std::io::Write;
use std::path::Path;

use fringes::io::write::join_uvh5_channels;

use crate::build::Parts;
use crate::config::{Config, SinkConfig};
use crate::failure::{Failure, Result};
use crate::ranks::Rank;

/// Joins the files of each UVH5 sink of so many ranks.
pub(crate) fn join(config: &Config, count: usize, folder: &Path, quiet: bool) -> Result<()> {
    if count < 2 {
        return Err(Failure::at("join", format!("expected at least 2 ranks, found {count}")));
    }
    // Any rank plans all of them.
    let parts = Parts::new(config, &Rank::new(&config.ranks, 0, count)?, None)?;
    let mut joined = 0;
    for sink in &config.sink {
        let SinkConfig::Uvh5 { path, cadence, .. } = sink else { continue };
        let mut files = Vec::new();
        for (number, channels) in Rank::new(&config.ranks, 0, count)?.all_channels(parts.all_channels) {
            let (header, ..) = parts.header_of("uvh5", config, *cadence, channels)?;
            files.push((folder.join(format!("rank-{number}")).join(path), header));
        }
        let (header, ..) = parts.header_of("uvh5", config, *cadence, 0..parts.all_channels)?;
        let to = folder.join(path);
        let dumps = join_uvh5_channels(&files, &to, &header)?;
        if !quiet {
            let _ = writeln!(std::io::stdout(), "{}: {dumps} dumps of {} files", to.display(), files.len());
        }
        joined += 1;
    }
    if joined == 0 {
        return Err(Failure::at("join", "expected a sink of UVH5, found none"));
    }
    Ok(())
}
