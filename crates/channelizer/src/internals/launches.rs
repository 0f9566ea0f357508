//! How many points launches of the passes have between them: by a table that a sweep made.
//!
//! The table `tuning/f_engine.txt` has, for devices and numbers of channels, what was fastest through the public
//! stream; `fringes-tools tune --of f-engine` makes it. What it does not have takes the defaults.

use std::sync::OnceLock;

use fringes_gpu::Device;
use fringes_gpu::tuning::{Choice, DeviceKey, Section, Sizes, Table};

use crate::Precision;

/// Bytes that the passes have between them in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchBytes {
    /// Those of a launch at most, unless a single group takes more.
    pub workspace: usize,
    /// Those of launches whose blocks fill the device once: more than that goes to both lanes.
    pub full: usize,
}

/// The committed table.
const TABLE: &str = include_str!("../../tuning/f_engine.txt");

const MIB: usize = 1 << 20;

impl LaunchBytes {
    /// Of [`TwoPassKernels`](super::TwoPassKernels). By a sweep of 24 to 100 MiB on an H200
    /// (docs/measurements/checks/2026-11-28-h200-f-engine-workspaces.json): two of 80 MiB do not stay in its L2, but
    /// launches of 32 MiB fill it less evenly, and pushes take up to 18 % longer.
    pub const SINGLE: Self = Self { workspace: 80 * MIB, full: 32 * MIB };
    /// Of [`TensorKernels`](super::TensorKernels).
    pub const HALF: Self = Self { workspace: 48 * MIB, full: 16 * MIB };
    /// No choice of a table has more.
    pub const LARGEST: Self = Self { workspace: 160 * MIB, full: 64 * MIB };

    /// Those of a precision unless a table says otherwise.
    pub fn default_of(precision: Precision) -> Self {
        match precision {
            Precision::Single => Self::SINGLE,
            Precision::Half => Self::HALF,
        }
    }

    /// What a sweep measures.
    pub fn candidates(precision: Precision) -> Vec<Self> {
        let full = Self::default_of(precision).full;
        let of = |workspace: usize| Self { workspace: workspace * MIB, full: full.min(workspace * MIB) };
        [16, 24, 32, 48, 64, 80, 96, 112, 128, 160].map(of).to_vec()
    }

    /// Those of a device and a number of channels.
    pub(super) fn of(device: &Device, precision: Precision, channels: usize) -> Self {
        Self::known(&DeviceKey::of(device.info()), precision, channels)
    }

    /// The largest workspace that any device has for a number of channels.
    pub(super) fn most(precision: Precision, channels: usize) -> Self {
        let default = Self::default_of(precision);
        let of = |section: &Section| {
            let key = DeviceKey::new(&section.name, section.compute_capability, (0, 0));
            Self::known(&key, precision, channels)
        };
        let all = table().sections().iter().map(of).chain([default]);
        all.max_by_key(|bytes| bytes.workspace).unwrap_or(default)
    }

    /// What the table has, or the default.
    fn known(device: &DeviceKey, precision: Precision, channels: usize) -> Self {
        let known = table().find(device, operation(precision), &sizes(channels)).and_then(Self::from_choice);
        known.unwrap_or(Self::default_of(precision))
    }

    /// As a table has it.
    pub fn choice(self) -> Choice {
        Choice::new("two_lanes").with("workspace", (self.workspace / MIB) as u64).with("full", (self.full / MIB) as u64)
    }

    /// What a table has, if it is within what can be.
    fn from_choice(choice: &Choice) -> Option<Self> {
        let of = |name, largest: usize| {
            let mib = usize::try_from(choice.get(name)?).ok()?;
            (1..=largest / MIB).contains(&mib).then(|| mib * MIB)
        };
        Some(Self { workspace: of("workspace", Self::LARGEST.workspace)?, full: of("full", Self::LARGEST.full)? })
    }
}

/// The committed table, read once.
fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| Table::parse_or_skip(TABLE))
}

/// The name that a table has for the F-engine of a precision.
pub fn operation(precision: Precision) -> &'static str {
    match precision {
        Precision::Single => "f_engine_single",
        Precision::Half => "f_engine_half",
    }
}

/// The sizes by which a table is asked.
pub fn sizes(channels: usize) -> Sizes {
    Sizes::new(&[("channels", channels)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back_and_those_beyond_are_none() {
        for precision in [Precision::Single, Precision::Half] {
            let candidates = LaunchBytes::candidates(precision);
            for &bytes in &candidates {
                assert_eq!(LaunchBytes::from_choice(&bytes.choice()), Some(bytes));
                assert!(bytes.workspace <= LaunchBytes::LARGEST.workspace && bytes.full <= LaunchBytes::LARGEST.full);
            }
            assert!(candidates.contains(&LaunchBytes::default_of(precision)));
        }
        let of = |workspace, full| Choice::new("two_lanes").with("workspace", workspace).with("full", full);
        for choice in [of(0, 8), of(161, 8), of(u64::MAX, 8), of(8, 65), Choice::new("two_lanes")] {
            assert_eq!(LaunchBytes::from_choice(&choice), None);
        }
    }

    #[test]
    fn the_committed_table_is_read_whole() {
        let table = Table::parse(TABLE).unwrap();
        for section in table.sections() {
            for entry in &section.entries {
                let known = [Precision::Single, Precision::Half].map(operation);
                assert!(known.contains(&entry.kernel.as_str()), "{}", entry.kernel);
                assert!(LaunchBytes::from_choice(&entry.choice).is_some(), "{}", entry.choice);
            }
        }
        let h200 = DeviceKey::new("NVIDIA H200", (9, 0), (13, 0));
        for (precision, other) in [(Precision::Single, "NVIDIA H100"), (Precision::Half, "NVIDIA H200")] {
            let known = LaunchBytes::known(&h200, precision, 4096);
            assert_eq!(known, LaunchBytes::known(&DeviceKey::new(other, (9, 0), (12, 8)), precision, 4096));
            assert!(LaunchBytes::most(precision, 4096).workspace >= known.workspace);
            let ampere = DeviceKey::new("NVIDIA A100", (8, 0), (12, 8));
            assert_eq!(LaunchBytes::known(&ampere, precision, 4096), LaunchBytes::default_of(precision));
        }
    }
}
