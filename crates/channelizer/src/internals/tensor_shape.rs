//! How the two kernels with the transform on tensor cores cut the points of a plan, and what their launches look like.
//!
//! As [`Shape`](super::shape::Shape) says, with rows of 64, 128 or 256 points, numbers of one or two f16 between the
//! kernels, and blocks of the second one with as many slots as fit into 64 KiB. From 8192 channels on a third kernel
//! between the two makes another digit: `N = R D N'`.
//!
//! | channels | `R` | `D` | `N'` |
//! |---|---|---|---|
//! | 256 | 4 | 1 | 64 |
//! | 512, 1024, 2048 | 8 | 1 | 64, 128, 256 |
//! | 4096 | 16 | 1 | 256 |
//! | 4096, inner half alone | 8 | 8 | 64 |
//! | 8192, 16384, 32768 | 8 | 16 | 64, 128, 256 |
//! | 65536 | 8 | 32 | 256 |
//!
//! With 256 channels the first kernel has two transforms of four points side by side, and half as many points of a row.

use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::f_engine::{columns, tensor};

use super::launches::LaunchBytes;
use super::shape::{SLOTS, of_lanes};

/// Most channels of which blocks ask for samples of blocks to come.
const MOST_ASKING: usize = 8192;

/// The sizes of a number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorShape {
    channels: usize,
    radix: usize,
    middle: usize,
    terms: usize,
    launches: LaunchBytes,
}

impl TensorShape {
    /// Those of 256, 512, ... 65536 channels, for numbers of `terms` f16.
    pub fn new(channels: usize, terms: usize) -> Option<Self> {
        if !channels.is_power_of_two() || !(1..=2).contains(&terms) {
            return None;
        }
        let (radix, middle) = match channels {
            256 => (4, 1),
            512..=2048 => (8, 1),
            4096 => (16, 1),
            8192..=32768 => (8, 16),
            65536 => (8, 32),
            _ => return None,
        };
        Some(Self { channels, radix, middle, terms, launches: LaunchBytes::HALF })
    }

    /// The sizes where channels of the inner half alone come out: of 4096 the second kernel has half as much to do, so
    /// both ways are as fast, and this one has room for 32 taps on an A100.
    pub fn inner_half(self) -> Self {
        if self.channels == 4096 { Self { radix: 8, middle: 8, ..self } } else { self }
    }

    /// The same with other launches.
    pub fn with_launches(self, launches: LaunchBytes) -> Self {
        Self { launches, ..self }
    }

    /// Channels, `N`.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Points of the transform of the first kernel, `R`.
    pub fn radix(&self) -> usize {
        self.radix
    }

    /// Points of the digit between the kernels, `D`: 8, 16, or 1 where there is none.
    pub fn middle(&self) -> usize {
        self.middle
    }

    /// Rows of the second kernel, `R D`.
    pub fn all_rows(&self) -> usize {
        self.radix * self.middle
    }

    /// Points of a row of the second kernel, `N'`.
    pub fn rows(&self) -> usize {
        self.channels / self.all_rows()
    }

    /// Points that a warp of the first kernel has of a place: of one transform, or of two with 256 channels.
    pub fn first_points(&self) -> usize {
        self.radix.max(8)
    }

    /// Points of a row of the first kernel: `N / R`, or half of that where it has two transforms.
    pub fn first_rows(&self) -> usize {
        self.channels / self.first_points()
    }

    /// Logarithm of the points of a row of the first kernel after the digit between the two.
    pub fn row_bits(&self) -> u32 {
        self.rows().min(self.first_rows()).ilog2()
    }

    /// f16 of a number.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Pieces of 16 bytes of the workspace of a group.
    pub fn workspace_of_group(&self) -> usize {
        tensor::workspace_pieces(self.channels as u32, self.terms as u32) as usize
    }

    /// Groups that launches of the kernels, one after the other, run at most.
    pub fn groups_of_launch(&self) -> usize {
        (self.launches.workspace / (16 * self.workspace_of_group())).max(1)
    }

    /// The first kernel for `groups` groups and up to `16 m` taps.
    pub fn columns(&self, groups: usize, m: usize) -> LaunchConfig {
        let grid = [columns::strips(self.first_rows() as u32), groups as u32, 1];
        LaunchConfig::new(grid, [columns::THREADS, 1, 1])
            .with_shared_bytes(columns::shared_bytes(m as u32, self.first_points() as u32))
    }

    /// Blocks of the first kernel, of up to `16 m` taps, from one to that whose samples it asks for: as many as begin
    /// together on a device of so many multiprocessors, two of each where their shared memory has room. Of more than 16
    /// taps registers have room for one alone, so it may be twice as far; so it was measured. From 16384 channels on it
    /// asks for none, as that gains nothing there (D-199).
    pub fn ahead(&self, m: usize, multiprocessors: u32, shared_bytes_of_each: u32) -> u32 {
        if self.channels > MOST_ASKING {
            return 0;
        }
        // The device keeps 1024 bytes for each block.
        let room = shared_bytes_of_each / (self.columns(1, m).shared_bytes + 1024);
        multiprocessors * room.clamp(1, 2)
    }

    /// The kernel between the two for `groups` groups, if there is one.
    pub fn between(&self, groups: usize) -> Option<LaunchConfig> {
        let grid = [tensor::middle_blocks(self.rows() as u32), groups as u32, 1];
        (self.middle > 1).then(|| LaunchConfig::new(grid, [tensor::THREADS, 1, 1]))
    }

    /// The second kernel for `groups` groups.
    pub fn rows_of_slots(&self, groups: usize) -> LaunchConfig {
        let (rows, terms) = (self.rows() as u32, self.terms as u32);
        let grid = [SLOTS as u32 / tensor::slots(rows, terms), self.all_rows() as u32 / 2, groups as u32];
        LaunchConfig::new(grid, [tensor::THREADS, 1, 1]).with_shared_bytes(tensor::shared_bytes(rows, terms))
    }

    /// First group and number of groups of each of them.
    pub fn launches(&self, groups: usize) -> impl ExactSizeIterator<Item = (usize, usize)> + use<> {
        of_lanes(groups, self.groups_of_launch(), self.launches.full / (16 * self.workspace_of_group()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_kernels() {
        for (channels, radix, middle, rows) in [
            (256, 4, 1, 64),
            (512, 8, 1, 64),
            (1024, 8, 1, 128),
            (2048, 8, 1, 256),
            (4096, 16, 1, 256),
            (8192, 8, 16, 64),
            (16384, 8, 16, 128),
            (32768, 8, 16, 256),
            (65536, 8, 32, 256),
        ] {
            let shape = TensorShape::new(channels, 1).unwrap();
            assert_eq!((shape.radix(), shape.middle(), shape.rows()), (radix, middle, rows));
            assert_eq!(shape.first_rows(), if radix == 4 { 32 } else { middle * rows });
            // One less than rows have, where the first kernel has two transforms.
            assert_eq!(1 << shape.row_bits(), if radix == 4 { 32 } else { rows });
            let config = shape.rows_of_slots(3);
            assert!(config.shared_bytes <= 100 << 10, "two blocks of a multiprocessor");
            assert_eq!((config.grid[1] as usize, config.grid[2]), (radix * middle / 2, 3));
            assert_eq!(shape.between(3).map(|config| config.grid[1]), (middle > 1).then_some(3));
        }
        let inner = TensorShape::new(4096, 1).unwrap().inner_half();
        assert_eq!((inner.radix(), inner.middle(), inner.rows(), inner.first_rows()), (8, 8, 64, 512));
        assert_eq!([128, 131_072, 1000].map(|channels| TensorShape::new(channels, 1)), [None; 3]);
        let shape = TensorShape::new(1024, 1).unwrap();
        assert_eq!((16 * shape.workspace_of_group(), shape.groups_of_launch()), (512 << 10, 96));
        assert_eq!(shape.launches(32).collect::<Vec<_>>(), [(0, 32)]);
        assert_eq!(shape.launches(33).collect::<Vec<_>>(), [(0, 17), (17, 16)]);
    }

    #[test]
    fn blocks_ask_for_samples_a_wave_ahead() {
        let ahead = |channels, m, multiprocessors, shared| {
            TensorShape::new(channels, 1).unwrap().ahead(m, multiprocessors, shared)
        };
        let (h200, a100) = ((132, 228 << 10), (108, 164 << 10));
        assert_eq!([256, 1024, 8192].map(|channels| ahead(channels, 1, h200.0, h200.1)), [264; 3]);
        assert_eq!([4096, 16384, 65536].map(|channels| ahead(channels, 1, h200.0, h200.1)), [132, 0, 0]);
        assert_eq!([(1024, 1), (1024, 2), (4096, 1)].map(|(n, m)| ahead(n, m, a100.0, a100.1)), [108; 3]);
    }
}
