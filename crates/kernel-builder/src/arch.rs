//! Architectures that PTX is built for, versions of the PTX language, and the least driver that each version needs.

use std::fmt;

/// What PTX is built for: the `.target` of the file.
///
/// PTX for a plain architecture runs on it and on every later one, through the driver's own compiler. PTX for an
/// architecture with the suffix `a` runs on that one alone, and has its special instructions.
///
/// While a kernel crate is compiled, the rustc cfg `fringes_sm_80` (`fringes_sm_90a`, ...) is set for it and for
/// everything that it depends on, so that a kernel can exist for one architecture only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Arch {
    /// Ampere (A100).
    Sm80,
    /// Ampere (A40, RTX 30).
    Sm86,
    /// Ampere (Orin).
    Sm87,
    /// Ada (L40, RTX 40).
    Sm89,
    /// Hopper.
    Sm90,
    /// Hopper alone: `wgmma`, `setmaxnreg`.
    Sm90a,
    /// Blackwell (B200).
    Sm100,
    /// Blackwell (B200) alone: `tcgen05`.
    Sm100a,
    /// Blackwell (RTX 50).
    Sm120,
    /// Blackwell (RTX 50) alone.
    Sm120a,
}

impl Arch {
    /// Every architecture known here, oldest first.
    pub const ALL: [Self; 10] = [
        Self::Sm80,
        Self::Sm86,
        Self::Sm87,
        Self::Sm89,
        Self::Sm90,
        Self::Sm90a,
        Self::Sm100,
        Self::Sm100a,
        Self::Sm120,
        Self::Sm120a,
    ];

    /// Name as rustc, PTX and `ptxas` write it, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm86 => "sm_86",
            Self::Sm87 => "sm_87",
            Self::Sm89 => "sm_89",
            Self::Sm90 => "sm_90",
            Self::Sm90a => "sm_90a",
            Self::Sm100 => "sm_100",
            Self::Sm100a => "sm_100a",
            Self::Sm120 => "sm_120",
            Self::Sm120a => "sm_120a",
        }
    }

    /// The architecture of a name such as `sm_90a`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == name)
    }

    /// The version of PTX that is written unless another is asked for.
    pub fn default_isa(self) -> PtxIsa {
        match self {
            Self::Sm80 | Self::Sm86 | Self::Sm87 | Self::Sm89 => PtxIsa::V7_8,
            Self::Sm90 | Self::Sm90a => PtxIsa::V8_3,
            Self::Sm100 | Self::Sm100a => PtxIsa::V8_6,
            Self::Sm120 | Self::Sm120a => PtxIsa::V8_7,
        }
    }

    /// The first version of PTX that knows the architecture.
    pub fn least_isa(self) -> PtxIsa {
        match self {
            Self::Sm80 => PtxIsa::V7_0,
            Self::Sm86 => PtxIsa::V7_1,
            Self::Sm87 => PtxIsa::V7_4,
            Self::Sm89 | Self::Sm90 => PtxIsa::V7_8,
            Self::Sm90a => PtxIsa::V8_0,
            Self::Sm100 | Self::Sm100a => PtxIsa::V8_6,
            Self::Sm120 | Self::Sm120a => PtxIsa::V8_7,
        }
    }

    /// Whether it has clusters of blocks.
    pub fn has_clusters(self) -> bool {
        self >= Self::Sm90
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A version of the PTX language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PtxIsa {
    V7_0,
    V7_1,
    V7_2,
    V7_3,
    V7_4,
    V7_5,
    V7_6,
    V7_7,
    V7_8,
    V8_0,
    V8_1,
    V8_2,
    V8_3,
    V8_4,
    V8_5,
    V8_6,
    V8_7,
    V8_8,
    V9_0,
}

/// Version of PTX, the CUDA release that brought it, and that release's first Linux driver, from the release notes of
/// each.
const VERSIONS: [(PtxIsa, &str, &str, &str); 19] = [
    (PtxIsa::V7_0, "7.0", "11.0", "450.36"),
    (PtxIsa::V7_1, "7.1", "11.1", "455.23"),
    (PtxIsa::V7_2, "7.2", "11.2", "460.27"),
    (PtxIsa::V7_3, "7.3", "11.3", "465.19"),
    (PtxIsa::V7_4, "7.4", "11.4", "470.42"),
    (PtxIsa::V7_5, "7.5", "11.5", "495.29"),
    (PtxIsa::V7_6, "7.6", "11.6", "510.39"),
    (PtxIsa::V7_7, "7.7", "11.7", "515.43"),
    (PtxIsa::V7_8, "7.8", "11.8", "520.61"),
    (PtxIsa::V8_0, "8.0", "12.0", "525.60"),
    (PtxIsa::V8_1, "8.1", "12.1", "530.30"),
    (PtxIsa::V8_2, "8.2", "12.2", "535.54"),
    (PtxIsa::V8_3, "8.3", "12.3", "545.23"),
    (PtxIsa::V8_4, "8.4", "12.4", "550.54"),
    (PtxIsa::V8_5, "8.5", "12.5", "555.42"),
    (PtxIsa::V8_6, "8.6", "12.7", "565.57"),
    (PtxIsa::V8_7, "8.7", "12.8", "570.26"),
    (PtxIsa::V8_8, "8.8", "12.9", "575.51"),
    (PtxIsa::V9_0, "9.0", "13.0", "580.65"),
];

impl PtxIsa {
    fn row(self) -> (PtxIsa, &'static str, &'static str, &'static str) {
        VERSIONS[self as usize]
    }

    /// The version as PTX writes it, such as `7.8`.
    pub fn version(self) -> &'static str {
        self.row().1
    }

    /// The CUDA release that brought it, such as `11.8`.
    pub fn cuda(self) -> &'static str {
        self.row().2
    }

    /// The first Linux driver that reads it, such as `520.61`.
    pub fn least_driver(self) -> &'static str {
        self.row().3
    }

    /// The version of a text such as `7.8`.
    pub fn from_version(version: &str) -> Option<Self> {
        VERSIONS.iter().find(|row| row.1 == version).map(|row| row.0)
    }

    /// rustc's target feature, such as `ptx78`.
    pub(crate) fn feature(self) -> String {
        format!("ptx{}", self.version().replace('.', ""))
    }
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_versions_is_in_the_enumeration_s_order() {
        for (index, row) in VERSIONS.iter().enumerate() {
            assert_eq!(row.0 as usize, index);
            assert_eq!(PtxIsa::from_version(row.1), Some(row.0));
        }
        assert_eq!(VERSIONS[VERSIONS.len() - 1].0, PtxIsa::V9_0);
        assert_eq!(PtxIsa::V7_8.feature(), "ptx78");
        assert_eq!((PtxIsa::V7_8.cuda(), PtxIsa::V7_8.least_driver()), ("11.8", "520.61"));
    }

    #[test]
    fn default_version_of_ptx_knows_its_architecture() {
        for arch in Arch::ALL {
            assert!(arch.default_isa() >= arch.least_isa(), "{arch}");
            assert_eq!(Arch::from_name(arch.name()), Some(arch));
        }
        assert_eq!(Arch::from_name("sm_79"), None);
    }
}
