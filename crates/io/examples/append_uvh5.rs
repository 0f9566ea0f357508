//! Appends dumps to a UVH5 file until it is killed or has as many as asked, and tells how fast.
//!
//! ```text
//! cargo run --release -p fringes-io --example append_uvh5 -- FILE [ANTENNAS POLS CHANNELS DUMPS DUMPS_PER_FLUSH PARTS]
//! ```
//!
//! A file that exists is continued. After each flush it prints `flushed N`, N dumps being in the file; when it is done,
//! the time a dump took in each tenth of the run, bytes per second, and how much memory the process had at most then.
//! `tests/python/check_uvh5.py` kills it, again and again, and looks at what it left: every value can be told from the
//! place that it belongs to.
//!
//! With more than one part, as many new files `FILE.0`, `FILE.1`, ... are written, of some channels each, and joined
//! into `FILE`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fringes_delay_model::{AntennaArray, Enu, Epoch, Geometry, Site, Source};
use fringes_io::write::{Uvh5Writer, VisibilityHeader, join_uvh5_channels};
use fringes_types::{BaselineOrder, Complex, Frequencies, Inputs, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};

/// Spectra of a dump; a baseline has so many valid ones less its number modulo 7, and the last dump of 5 has none.
const SPECTRA: u64 = 500;
const SPACING: u64 = 2048;
const SAMPLE_RATE_HZ: f64 = 1e6;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = PathBuf::from(arguments.first().ok_or("give a file to append to")?);
    let number = |place: usize, default: u64| arguments.get(place).map_or(Ok(default), |text| text.parse::<u64>());
    let (antennas, pols) = (number(1, 4)? as usize, number(2, 2)? as usize);
    let (channels, dumps, per_flush) = (number(3, 16)? as usize, number(4, u64::MAX)?, number(5, 1)?.max(1));

    let inputs = Inputs::new(antennas, pols)?;
    let frequencies = Frequencies { first_hz: 1.3e9, step_hz: 250e3 };
    let site = Site::from_degrees(-30.71, 21.44, 1080.0)?;
    let place = |index: usize| Enu { east_m: 37.0 * index as f64, north_m: (index * index % 101) as f64, up_m: 0.5 };
    let array = AntennaArray::from_enu((0..antennas).map(place).collect(), site)?;
    let source = Source::RaDec { ra_rad: 1.9, dec_rad: -0.6 };
    let geometry = Geometry::new(&array, source, Epoch::new(59_945, 72_300.0)?)?;
    let header = VisibilityHeader::new(&array, &geometry, inputs, channels, frequencies)?;
    let header = VisibilityHeader { telescope: "Simulated".into(), source: "Centre".into(), ..header };

    let parts = number(6, 1)? as usize;
    if parts > 1 {
        return write_and_join(&path, &header, &geometry, dumps, parts);
    }
    let mut writer =
        if path.exists() { Uvh5Writer::resume(&path, &header)? } else { Uvh5Writer::create(&path, &header)? };
    println!("flushed {}", writer.integrations());
    let start = writer.integrations();
    let tenth = (dumps.saturating_sub(start) / 10).max(1);
    let mut began = Instant::now();
    let mut writing = 0.0;
    for dump in start..dumps {
        let visibilities = visibilities(dump, inputs, 0..channels, frequencies)?;
        let now = Instant::now();
        writer.append_dump(&visibilities, &geometry, 0)?;
        if (dump + 1) % per_flush == 0 {
            writer.flush()?;
            println!("flushed {}", writer.integrations());
        }
        writing += now.elapsed().as_secs_f64();
        if (dump + 1 - start).is_multiple_of(tenth) {
            let rows = antennas * (antennas + 1) / 2;
            let bytes = tenth as f64 * (rows * channels * pols * pols * 13) as f64;
            println!(
                "{} dumps: {:.1} us a dump, {:.0} MB/s; {:.3} s with the making of dumps; {} kB of memory",
                dump + 1,
                writing / tenth as f64 * 1e6,
                bytes / writing / 1e6,
                began.elapsed().as_secs_f64(),
                peak_memory_kb()
            );
            (writing, began) = (0.0, Instant::now());
        }
    }
    println!("finished {}", writer.finish()?);
    Ok(())
}

/// Writes files of some channels each, and joins them.
fn write_and_join(
    path: &Path,
    header: &VisibilityHeader,
    geometry: &Geometry,
    dumps: u64,
    parts: usize,
) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for part in 0..parts {
        let channels = header.channels * part / parts..header.channels * (part + 1) / parts;
        let frequencies = Frequencies { first_hz: header.frequencies.channel_hz(channels.start), ..header.frequencies };
        let own = VisibilityHeader { channels: channels.len(), frequencies, ..header.clone() };
        let file = PathBuf::from(format!("{}.{part}", path.display()));
        let mut writer = Uvh5Writer::create(&file, &own)?;
        for dump in 0..dumps {
            writer.append_dump(&visibilities(dump, header.inputs, channels.clone(), frequencies)?, geometry, 0)?;
        }
        writer.finish()?;
        files.push((file, own));
    }
    println!("joined {}", join_uvh5_channels(&files, path, header)?);
    Ok(())
}

/// A dump of which every value tells its place, of a range of channels.
fn visibilities(
    dump: u64,
    inputs: Inputs,
    channels: Range<usize>,
    frequencies: Frequencies,
) -> Result<Visibilities<Complex<i64>>, Box<dyn Error>> {
    let baselines = inputs.triangle_len();
    let first = (dump % 1000) as i64;
    let mut sums = Array2::from_shape_fn((channels.len(), baselines), |(channel, baseline)| {
        let channel = channels.start + channel;
        Complex::new(first + 7 * (channel % 100) as i64, (baseline % 4096) as i64 - 3 * (channel % 50) as i64)
    });
    for input in 0..inputs.len() {
        sums.column_mut(input * (input + 3) / 2).mapv_inplace(|sum| Complex::new(sum.re, 0));
    }
    let valid = Array1::from_shape_fn(baselines, |at| if dump % 5 == 4 { 0 } else { SPECTRA - at as u64 % 7 });
    let clock = SpectrumClock {
        first_sample: dump * SPECTRA * SPACING,
        samples_between_spectra: SPACING,
        sample_rate_hz: SAMPLE_RATE_HZ,
    };
    Ok(Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, SPECTRA, frequencies, clock)?)
}

/// The most memory that the process has had at once, in kB; 0 where the system does not tell.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
