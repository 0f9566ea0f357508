//! Reads any bytes as a recording, as the fuzz targets do.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run read_vdif -- -max_total_time=600 -rss_limit_mb=512
//! ```
//!
//! The first two bytes of an input say where it is cut into two files, little-endian; at 0 or past the end it is one
//! file. `guppi.dict` and `dada.dict` are dictionaries (`-dict=fuzz/guppi.dict`).

use std::io::Cursor;

use fringes_io::read::{FileFormat, OpenOptions, Source, open_sources};

/// Most blocks that are read of one input: a damaged time may be a long gap, which is many blocks of zeros.
const BLOCKS: usize = 200;

/// Reads bytes as a recording to its end, and checks that blocks follow each other.
pub fn read_everything(format: FileFormat, bytes: &[u8]) {
    let Some((&[low, high], bytes)) = bytes.split_first_chunk::<2>() else { return };
    let cut = usize::from(u16::from_le_bytes([low, high]));
    let files = match bytes.split_at_checked(cut) {
        Some((first, second)) if !first.is_empty() && !second.is_empty() => vec![first, second],
        _ => vec![bytes],
    };
    let sources = files.into_iter().map(|file| Source::stream("input", Cursor::new(file.to_vec()))).collect();
    let options = OpenOptions { format: Some(format), block_bytes: 1 << 20, ..OpenOptions::default() };
    let Ok(mut reader) = open_sources(sources, &options) else { return };
    let dimensions = (reader.info().channels, reader.info().inputs.len());
    let mut next = 0;
    for block in 0..BLOCKS {
        match reader.read(1 + 37 * (block % 5)) {
            Ok(Some(block)) => {
                let (channels, inputs, times) = block.data.dim();
                assert_eq!((channels, inputs, block.first_sample), (dimensions.0, dimensions.1, next));
                assert!(times > 0);
                next += times as u64;
            }
            Ok(None) => return,
            Err(_) => {
                assert!(matches!(reader.read(1), Ok(None)), "an error comes once");
                return;
            }
        }
    }
}
