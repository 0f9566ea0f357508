//! What a recording's reader met: frames that it read, and those that it left out.

use fringes::io::read::FrameCounts;
use serde::Serialize;

/// Counts of frames, blocks or files, as `--json` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Frames {
    /// Frames whose header was read.
    read: u64,
    /// Flagged invalid: their samples are missing.
    invalid: u64,
    /// Left out: a second frame of a thread and time.
    duplicate: u64,
    /// Left out: later than frames are waited for.
    late: u64,
    /// Left out: of a thread that the first frames do not announce.
    unknown: u64,
    /// Left out: too far in the future.
    stray: u64,
    /// Places where reading went on at the next good header, and the bytes passed over there.
    resynchronised: u64,
    skipped_bytes: u64,
}

impl From<FrameCounts> for Frames {
    fn from(counts: FrameCounts) -> Self {
        let FrameCounts { frames, invalid, duplicate, late, unknown, stray, resynchronised, skipped_bytes, .. } =
            counts;
        Self { read: frames, invalid, duplicate, late, unknown, stray, resynchronised, skipped_bytes }
    }
}

impl std::fmt::Display for Frames {
    /// `16 read, 8 left out: 8 late`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = [
            (self.invalid, "invalid"),
            (self.late, "late"),
            (self.duplicate, "duplicate"),
            (self.unknown, "of an unknown thread"),
            (self.stray, "too far in the future"),
        ];
        let left_out: u64 = kinds.iter().map(|(count, _)| count).sum();
        write!(f, "{} read, {left_out} left out", self.read)?;
        let named = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}"));
        let named: Vec<String> = named.collect();
        if !named.is_empty() {
            write!(f, ": {}", named.join(", "))?;
        }
        if self.resynchronised > 0 {
            write!(f, "; {} bytes passed over at {} places", self.skipped_bytes, self.resynchronised)?;
        }
        Ok(())
    }
}
