//! How the two kernels of a plan cut its points, and what their launches look like.
//!
//! `N` complex points `n = N' n1 + n2` become channels `k = k1 + R k2`, with `n1, k1 < R` and `n2, k2 < N'`:
//!
//! ```text
//! columns    filter, transform over n1        a block has 16 n2 (8 of wide samples) and all k1 of a group
//! rows       transform over n2, all the rest  a block has rows k1 and R - k1 of some slots of a group, of complex
//!                                             samples k1 and k1 + R / 2
//! ```
//!
//! A *group* is two jobs of up to 64 spectra. Slot `2 spectrum + job` of its 128 is a spectrum. Between the kernels
//! points are in a workspace `[group][n2][k1][slot]`.

use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::f_engine::{self as abi, columns, fused, rows};

/// Most spectra of a job.
pub const SPECTRA: usize = abi::SPECTRA as usize;
/// Spectra of a block of the filter's products.
pub const BLOCK: u64 = abi::BLOCK as u64;
/// Jobs of a group.
pub const JOBS: usize = abi::JOBS as usize;
/// Spectra of a group.
pub const SLOTS: usize = JOBS * SPECTRA;

/// Points `n2` of a block of the first kernel.
const STRIP: usize = columns::STRIP as usize;
/// Bytes that the workspace has at most, unless a single group takes more: what stays in the L2 cache of an H200,
/// beside samples and output.
const WORKSPACE_BYTES: usize = 32 << 20;
/// Bytes of the places of the fused kernel, at most.
const PLACES_BYTES: usize = 40 << 20;
/// Most groups for which the fused kernel keeps counters.
const MOST_PLACES: usize = fused::MOST_PLACES as usize;
/// Occupancy of the fused kernel: blocks that a multiprocessor runs at a time.
const FUSED_OCCUPANCY: usize = 2;
/// Most groups of its launch.
pub const MOST_GROUPS: usize = fused::MOST_GROUPS as usize;
/// Those counters.
pub const COUNTERS: usize = fused::COUNTERS as usize;

/// How the fused kernel proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// Groups by which the second pass follows the first one.
    pub lag: usize,
    /// Groups that the workspace has places for.
    pub places: usize,
}

/// The sizes of a number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    channels: usize,
    radix: usize,
    last: usize,
}

impl Shape {
    /// Those of 256, 512, ... 65536 channels.
    pub fn new(channels: usize) -> Option<Self> {
        if !channels.is_power_of_two() || !(256..=65536).contains(&channels) {
            return None;
        }
        let radix = if channels <= 4096 { 8 } else { 16 };
        Some(Self { channels, radix, last: rows::last((channels / radix) as u32) as usize })
    }

    /// Channels, `N`.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Points of the transform of the first kernel, `R`.
    pub fn radix(&self) -> usize {
        self.radix
    }

    /// Points of a row, `N'`.
    pub fn rows(&self) -> usize {
        self.channels / self.radix
    }

    /// Points of the last transform of a row: a row is 16 or 256 times as long.
    pub fn last(&self) -> usize {
        self.last
    }

    /// Whether a row takes three transforms, and not two.
    pub fn has_middle(&self) -> bool {
        self.rows() > 16 * self.last
    }

    /// Points of the workspace, two to an element, of a group.
    pub fn workspace_of_group(&self) -> usize {
        self.channels * SLOTS / 2
    }

    /// Groups that a pair of launches runs at most.
    pub fn groups_of_launch(&self) -> usize {
        (WORKSPACE_BYTES / (16 * self.workspace_of_group())).max(1)
    }

    /// The first kernel for `groups` groups and up to `16 m` taps.
    pub fn columns(&self, groups: usize, m: usize) -> LaunchConfig {
        let grid = [columns::strips(self.rows() as u32), groups as u32, 1];
        LaunchConfig::new(grid, [columns::THREADS, 1, 1])
            .with_shared_bytes(columns::shared_bytes(m as u32, self.radix as u32))
    }

    /// The first kernel of wide samples.
    pub fn wide_columns(&self, groups: usize, m: usize) -> LaunchConfig {
        let mut config = self.columns(groups, m);
        config.grid[0] = columns::wide_strips(self.rows() as u32);
        config
    }

    /// Slots of a block of the second kernel.
    fn slots(&self) -> usize {
        rows::slots(self.rows() as u32) as usize
    }

    /// The second kernel for `groups` groups.
    pub fn rows_of_slots(&self, groups: usize) -> LaunchConfig {
        let slots = self.slots();
        let grid = [(SLOTS / slots) as u32, (self.radix / 2) as u32, groups as u32];
        let rows = self.rows() as u32;
        LaunchConfig::new(grid, [rows::threads(rows), 1, 1]).with_shared_bytes(rows::shared_bytes(rows))
    }

    /// Most places of the workspace of the fused kernel.
    pub fn most_places(&self) -> usize {
        (PLACES_BYTES / (16 * self.workspace_of_group())).clamp(2, MOST_PLACES)
    }

    /// How the fused kernel proceeds on a device of so many multiprocessors.
    ///
    /// The second pass follows the first one by about one block of the first for each multiprocessor, and the workspace
    /// has places for twice as many groups, as far as they go: on an H200 with 1024 channels, a quarter less takes
    /// 5 % longer, and a third more no less.
    pub fn pipeline(&self, multiprocessors: usize) -> Pipeline {
        let lag = (multiprocessors + multiprocessors / 8).div_ceil(self.rows() / STRIP).max(1);
        let places = (2 * lag).clamp(2, self.most_places());
        Pipeline { lag: lag.min(places / 2), places }
    }

    /// Both kernels in one launch for `groups` groups on a device of so many multiprocessors: blocks take tickets, of
    /// three of which one is of the first kernel.
    pub fn fused(&self, groups: usize, lag: usize, multiprocessors: usize) -> LaunchConfig {
        let rows = self.rows() as u32;
        let tickets = fused::tickets(rows, groups as u64, lag as u64);
        let blocks = tickets.min((FUSED_OCCUPANCY * multiprocessors) as u64);
        LaunchConfig::new([u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1], [fused::THREADS, 1, 1])
            .with_shared_bytes(fused::shared_bytes(rows, self.radix as u32))
    }

    /// First group and number of groups of each pair of launches, as even as they can be.
    pub fn launches(&self, groups: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        even(groups, self.groups_of_launch())
    }
}

/// First and number of each part of `count`, of at most `most`, as even as they can be.
pub(super) fn even(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
    let each = count.div_ceil(count.div_ceil(most).max(1)).max(1);
    (0..count).step_by(each).map(move |first| (first, each.min(count - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_two_or_three_transforms() {
        for (channels, radix, last, middle) in [
            (256, 8, 2, false),
            (512, 8, 4, false),
            (1024, 8, 8, false),
            (2048, 8, 16, false),
            (4096, 8, 2, true),
            (8192, 16, 2, true),
            (16384, 16, 4, true),
            (32768, 16, 8, true),
            (65536, 16, 16, true),
        ] {
            let shape = Shape::new(channels).unwrap();
            assert_eq!((shape.radix(), shape.last(), shape.has_middle()), (radix, last, middle), "{channels}");
            assert_eq!(radix * last * if middle { 256 } else { 16 }, channels);
        }
        assert_eq!([0, 128, 384, 131_072].map(Shape::new), [None; 4]);
    }

    #[test]
    fn launches_cover_all_groups_evenly_within_the_workspace() {
        let shape = Shape::new(8192).unwrap();
        assert_eq!(shape.groups_of_launch(), 4);
        assert_eq!(shape.launches(9).collect::<Vec<_>>(), [(0, 3), (3, 3), (6, 3)]);
        assert_eq!(shape.launches(10).collect::<Vec<_>>(), [(0, 4), (4, 4), (8, 2)]);
        assert_eq!(shape.launches(0).count(), 0);
        // The workspace of one group of 65536 channels is 64 MiB.
        let largest = Shape::new(65536).unwrap();
        assert_eq!((largest.groups_of_launch(), 16 * largest.workspace_of_group()), (1, 64 << 20));
    }

    #[test]
    fn the_second_pass_follows_by_half_of_the_places() {
        let of = |channels, multiprocessors| {
            let Pipeline { lag, places } = Shape::new(channels).unwrap().pipeline(multiprocessors);
            (lag, places)
        };
        assert_eq!([of(256, 132), of(1024, 132), of(4096, 132)], [(64, 128), (19, 38), (5, 10)]);
        assert_eq!([of(1024, 1), of(4096, 1), of(4096, 10_000)], [(1, 2), (1, 2), (5, 10)]);
        let shape = Shape::new(1024).unwrap();
        let config = shape.fused(5, 2, 132);
        assert_eq!((config.grid, config.block, config.shared_bytes), ([168, 1, 1], [256, 1, 1], 82_992));
        assert_eq!(shape.fused(500, 2, 132).grid, [264, 1, 1]);
    }

    #[test]
    fn blocks_fit_every_device_that_has_room_for_the_filter() {
        for channels in (8..=16).map(|power| 1 << power) {
            let shape = Shape::new(channels).unwrap();
            let rows = shape.rows_of_slots(3);
            assert!(rows.block[0] <= 512 && rows.shared_bytes <= 160 << 10, "{channels}: {rows:?}");
            assert_eq!(rows.grid[0] as usize * shape.slots(), SLOTS);
            assert_eq!(rows.grid[2], 3);
        }
        let rows = Shape::new(1024).unwrap().rows_of_slots(3);
        assert_eq!(
            (rows.grid, rows.block, rows.shared_bytes),
            ([4, 4, 3], [256, 1, 1], 32 * (2 * 16 * 8 * 8 + 8 * 8 + 48))
        );
        let columns = Shape::new(256).unwrap().columns(5, 1);
        assert_eq!((columns.grid, columns.shared_bytes), ([2, 5, 1], 2 * (32 * 1296 + 16)));
        let wide = Shape::new(256).unwrap().wide_columns(5, 1);
        assert_eq!((wide.grid, wide.shared_bytes), ([4, 5, 1], columns.shared_bytes));
    }
}
