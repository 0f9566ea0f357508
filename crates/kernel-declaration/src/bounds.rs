//! Bounds that a kernel is compiled for.

use crate::DeclarationError;

/// Bounds that a kernel is compiled for; they become directives of the PTX entry and are checked at every launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchBounds {
    /// Threads of a block, x y z (`threads=256` or `threads=32,4,1`): a launch must use just these (`.reqntid`).
    pub threads: Option<[u32; 3]>,
    /// Blocks that an SM must be able to hold (`min_blocks=2`, `.minnctapersm`).
    pub min_blocks: Option<u32>,
    /// Most registers a thread may use (`max_registers=128`, `.maxnreg`).
    pub max_registers: Option<u32>,
    /// Blocks of a cluster, x y z (`cluster=2`, `.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// Least dynamic shared memory of a launch in bytes (`shared_bytes=4096`).
    pub shared_bytes: Option<u32>,
}

impl LaunchBounds {
    /// Parses `key=value` pairs.
    pub(crate) fn parse(text: &str) -> Result<Self, DeclarationError> {
        let mut bounds = Self::default();
        for pair in text.split_whitespace() {
            let wrong = || DeclarationError::Bound { text: pair.into() };
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            let mut numbers = Vec::new();
            for number in value.split(',') {
                numbers.push(number.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(wrong)?);
            }
            let one = |numbers: &[u32]| if let [number] = numbers { Some(*number) } else { None };
            match key {
                "threads" => bounds.threads = Some(three(&numbers).ok_or_else(wrong)?),
                "cluster" => bounds.cluster = Some(three(&numbers).ok_or_else(wrong)?),
                "min_blocks" => bounds.min_blocks = Some(one(&numbers).ok_or_else(wrong)?),
                "max_registers" => bounds.max_registers = Some(one(&numbers).ok_or_else(wrong)?),
                "shared_bytes" => bounds.shared_bytes = Some(one(&numbers).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
        Ok(bounds)
    }
}

/// One to three numbers, the missing ones 1.
fn three(numbers: &[u32]) -> Option<[u32; 3]> {
    match *numbers {
        [x] => Some([x, 1, 1]),
        [x, y] => Some([x, y, 1]),
        [x, y, z] => Some([x, y, z]),
        _ => None,
    }
}

impl std::fmt::Display for LaunchBounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let three = |f: &mut std::fmt::Formatter<'_>, key: &str, [x, y, z]: [u32; 3]| {
            if (y, z) == (1, 1) { write!(f, " {key}={x}") } else { write!(f, " {key}={x},{y},{z}") }
        };
        if let Some(threads) = self.threads {
            three(f, "threads", threads)?;
        }
        for (key, value) in [("min_blocks", self.min_blocks), ("max_registers", self.max_registers)] {
            if let Some(value) = value {
                write!(f, " {key}={value}")?;
            }
        }
        if let Some(cluster) = self.cluster {
            three(f, "cluster", cluster)?;
        }
        self.shared_bytes.map_or(Ok(()), |bytes| write!(f, " shared_bytes={bytes}"))
    }
}
