//! Names of array dimensions, the same words everywhere.

/// A named dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Frequency channel.
    Channel,
    /// Time: an ADC sample or a spectrum.
    Time,
    /// Batch: the heaps of all antennas with the same timestamp.
    Batch,
    /// Spectrum of a heap.
    Spectrum,
    /// Antenna.
    Antenna,
    /// Polarisation of an antenna.
    Pol,
    /// One polarisation of one antenna, `antenna * pols + pol`.
    Input,
    /// Beam.
    Beam,
    /// Product of a detected beam, such as a Stokes parameter.
    Product,
    /// Pair of inputs, in some [`BaselineOrder`](crate::BaselineOrder).
    Baseline,
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Dimension::Channel => "channel",
            Dimension::Time => "time",
            Dimension::Batch => "batch",
            Dimension::Spectrum => "spectrum",
            Dimension::Antenna => "antenna",
            Dimension::Pol => "pol",
            Dimension::Input => "input",
            Dimension::Beam => "beam",
            Dimension::Product => "product",
            Dimension::Baseline => "baseline",
        })
    }
}
