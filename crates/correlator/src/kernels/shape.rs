//! Sizes of a correlation on the GPU, and the launches that they take.

use fringes_gpu::LaunchConfig;
use fringes_types::ROW_BYTES;

/// Complex samples of a row: 128 bytes of 8-bit pairs.
pub const ROW_TIMES: usize = fringes_kernel_abi::format::Format::I8.row_times();

/// Most times that one launch of the correlator may sum in 32 bits: `floor((2^31 - 1) / (2 * 127^2))`.
pub const MAX_LAUNCH_TIMES: usize = 66572;

/// Inputs on either side of the tile that a block of the correlator computes.
const TILE_INPUTS: usize = 128;

/// Threads of a block.
const THREADS: u32 = 256;

/// Most blocks in the second and the third dimension of a grid.
const GRID_YZ: usize = 65535;

/// Channels, times and inputs of voltages on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    channels: u32,
    times: u32,
    inputs: u32,
}

impl Shape {
    /// A shape, if the kernels can take it: 1 to 2^24 channels, 1 to 4194240 times (65535 blocks of 64), 1 to 2^15
    /// inputs.
    pub fn new(channels: usize, times: usize, inputs: usize) -> Option<Self> {
        let fits = (1..=1 << 24).contains(&channels)
            && (1..=GRID_YZ * ROW_TIMES).contains(&times)
            && (1..=1 << 15).contains(&inputs);
        fits.then_some(Self { channels: channels as u32, times: times as u32, inputs: inputs as u32 })
    }

    /// Channels.
    pub fn channels(&self) -> usize {
        self.channels as usize
    }

    /// Times.
    pub fn times(&self) -> usize {
        self.times as usize
    }

    /// Inputs.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// Blocks of 64 times of each channel.
    pub fn blocks(&self) -> usize {
        self.times().div_ceil(ROW_TIMES)
    }

    /// Products of inputs: the packed lower triangle.
    pub fn baselines(&self) -> usize {
        self.inputs() * (self.inputs() + 1) / 2
    }

    /// Voltages, complex samples.
    pub fn samples(&self) -> usize {
        self.channels() * self.times() * self.inputs()
    }

    /// Bytes of the rows `[channel][time / 64][input][64]`.
    pub fn row_bytes(&self) -> usize {
        self.channels() * self.blocks() * self.inputs() * ROW_BYTES
    }

    /// Visibilities, complex.
    pub fn visibilities(&self) -> usize {
        self.channels() * self.baselines()
    }

    /// Operations that correlating takes: 8 for each product of a pair, autocorrelations included.
    pub fn operations(&self) -> f64 {
        8.0 * self.visibilities() as f64 * self.times() as f64
    }

    /// The launch of a correlation kernel.
    pub fn correlate_launch(&self) -> LaunchConfig {
        let side = self.inputs().div_ceil(TILE_INPUTS);
        let y = self.channels().min(GRID_YZ);
        let grid = [(side * (side + 1) / 2) as u32, y as u32, self.channels().div_ceil(y) as u32];
        LaunchConfig::new(grid, [THREADS, 1, 1]).with_shared_bytes((3 * 2 * TILE_INPUTS * ROW_BYTES) as u32)
    }
}
