//! What a kernel reads, and sizes of a launch.

use fringes_device::{Global, TensorMap};

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct ChannelisedGiven {
    /// Voltages `[time][frequency][pol][line][feed]` of 4+4 bits, as `copies` has them: bytes of a
    /// time, `t / 4 mod 4`, line, `t mod 4`, `t / 16`, in boxes of 64 x 4 x 4 x 4 x 8, permuted by 64 bytes.
    pub voltages: TensorMap,
    /// Flags `[frequency][block of times]`, or none.
    pub good: Global<u8>,
    /// Weights `[frequency][pol][unit][pair of feeds][lane][4]`, see `feeds`.
    pub weights: Global<u32>,
    /// The phases of the transform along a line, `[register / 4][lane][register % 4]`.
    pub phases: Global<u32>,
    /// The matrices over time `[pass][n3][register / 4][lane][register % 4]`.
    pub matrices: Global<u32>,
    /// Place `32 register + lane` of the output that a beam is, `[frequency][beam]`.
    pub places: Global<u32>,
    /// Factors `[frequency][fine]`, in the order of the results.
    pub factors: Global<f32>,
}

/// Sizes of a launch.
#[derive(Clone, Copy)]
pub struct ChannelisedSizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Results over time; each is of `blocks` blocks of times.
    pub times: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Polarisations of the voltages, 1 or 2.
    pub pols: u32,
    /// Polarisations that are summed, 1 or `pols`.
    pub summed: u32,
    /// Blocks of times of a result.
    pub blocks: u32,
    /// What numbers of results are changed by: all bits where the sign over time is negative, the highest one to have
    /// 0 Hz in the middle.
    pub order: u32,
    /// Whether nibbles are offset or signed: 0 or `0x8888_8888`.
    pub signs: u32,
    /// Bytes from a frequency and polarisation to the next.
    pub strides: [u32; 2],
}
