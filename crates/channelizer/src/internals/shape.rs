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
//! With 32768 and 65536 channels a third kernel between the two makes another digit, `N = R D N'` with `D = 16`; then
//! `k1 < R D`, and rows are short enough for many slots to a block. So it does from 8192 channels on where the filter
//! is too long for the shared memory that 16 points take ([`Shape::long`]).
//!
//! Numbers of channels with a factor of 3 or 5 have it in `R`, which is 6, 10 or 12: rows are powers of two.
//!
//! A *group* is two jobs of up to 64 spectra. Slot `2 spectrum + job` of its 128 is a spectrum. Between the kernels
//! points are in a workspace `[group][n2][k1][slot]`.

use std::ops::RangeInclusive;

use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::f_engine::{self as abi, columns, rows, tensor};

use super::launches::LaunchBytes;
use super::passes::LANES;

/// Most spectra of a job.
pub const SPECTRA: usize = abi::SPECTRA as usize;
/// Spectra of a block of the filter's products.
pub const BLOCK: u64 = abi::BLOCK as u64;
/// Jobs of a group.
pub const JOBS: usize = abi::JOBS as usize;
/// Spectra of a group.
pub const SLOTS: usize = JOBS * SPECTRA;

/// The sizes of a number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    channels: usize,
    radix: usize,
    middle: usize,
    last: usize,
    launches: LaunchBytes,
}

/// Numbers of channels that have shapes.
pub(super) const CHANNELS: &str = "64, 128, ... or 65536 channels, or 6, 10 or 12 times 32, 64, ... or 1024";

/// Points of the first transform of numbers of channels that are no powers of two, those first that are taken first
/// unless rows are [`SLOW_ROWS`].
const MIXED: [usize; 3] = [6, 12, 10];

/// Points of rows of which a multiprocessor has a single block: 1536 channels had 160 Gsamples/s by 12 x 128, and 151
/// by 6 x 256. Shorter and longer rows had up to 7 % more with 6 than with 12.
const SLOW_ROWS: usize = 256;

/// Points of rows of such numbers of channels.
const MIXED_ROWS: RangeInclusive<usize> = 32..=1024;

/// Numbers of channels, powers of two, that have shapes for long filters; 4096 have a usual one with room for them, and
/// are for tests.
const LONG: RangeInclusive<usize> = 4096..=65536;

impl Shape {
    /// Those of [`CHANNELS`].
    pub fn new(channels: usize) -> Option<Self> {
        if !channels.is_power_of_two() {
            let shapes = || MIXED.into_iter().filter_map(|radix| Self::mixed(channels, radix));
            return shapes().find(|shape| shape.rows() != SLOW_ROWS).or_else(|| shapes().next());
        }
        if !(64..=65536).contains(&channels) {
            return None;
        }
        let (radix, middle) = match channels {
            64 | 128 => (channels / 32, 1),
            ..=4096 => (8, 1),
            8192 | 16384 => (16, 1),
            _ => (16, rows::DIGIT as usize),
        };
        let last = rows::last((channels / (radix * middle)) as u32) as usize;
        Some(Self { channels, radix, middle, last, launches: LaunchBytes::SINGLE })
    }

    /// That of a number of channels that is no power of two, by so many points of the first transform.
    fn mixed(channels: usize, radix: usize) -> Option<Self> {
        let rows = channels / radix;
        let has = channels.is_multiple_of(radix) && rows.is_power_of_two() && MIXED_ROWS.contains(&rows);
        let (last, launches) = (rows::last(rows as u32) as usize, LaunchBytes::SINGLE);
        has.then_some(Self { channels, radix, middle: 1, last, launches })
    }

    /// That with a first digit of 8 points, for which filters of up to 64 taps have room, and one of 16 between the
    /// passes.
    pub fn long(channels: usize) -> Option<Self> {
        let (radix, middle) = (8, rows::DIGIT as usize);
        let has = channels.is_power_of_two() && LONG.contains(&channels);
        let last = || rows::last((channels / (radix * middle)) as u32) as usize;
        has.then(|| Self { channels, radix, middle, last: last(), launches: LaunchBytes::SINGLE })
    }

    /// The same with other launches.
    pub fn with_launches(self, launches: LaunchBytes) -> Self {
        Self { launches, ..self }
    }

    /// Whether the second kernel is one that is told how many rows there are: the number of channels is no power of
    /// two, or the filter long.
    pub fn is_told(&self) -> bool {
        !self.channels.is_power_of_two() || (self.middle > 1 && self.radix == 8)
    }

    /// Channels, `N`.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Points of the transform of the first kernel, `R`.
    pub fn radix(&self) -> usize {
        self.radix
    }

    /// Points of the digit between the kernels, `D`: 16, or 1 where there is none.
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

    /// Points of a row of the first kernel, `N / R`.
    pub fn first_rows(&self) -> usize {
        self.channels / self.radix
    }

    /// Points of the last transform of a row: a row is 16 or 256 times as long.
    pub fn last(&self) -> usize {
        self.last
    }

    /// Whether a row takes three transforms, and not two.
    pub fn has_second(&self) -> bool {
        self.rows() > 16 * self.last
    }

    /// Points of the workspace, two to an element, of a group.
    pub fn workspace_of_group(&self) -> usize {
        self.channels * SLOTS / 2
    }

    /// Groups that a pair of launches runs at most.
    pub fn groups_of_launch(&self) -> usize {
        (self.launches.workspace / (16 * self.workspace_of_group())).max(1)
    }

    /// The first kernel for `groups` groups and up to `16 m` taps.
    pub fn columns(&self, groups: usize, m: usize) -> LaunchConfig {
        let grid = [columns::strips(self.first_rows() as u32), groups as u32, 1];
        LaunchConfig::new(grid, [columns::THREADS, 1, 1])
            .with_shared_bytes(columns::shared_bytes(m as u32, self.radix as u32))
    }

    /// The first kernel of wide samples.
    pub fn wide_columns(&self, groups: usize, m: usize) -> LaunchConfig {
        let mut config = self.columns(groups, m);
        config.grid[0] = columns::wide_strips(self.first_rows() as u32);
        config
    }

    /// The kernel between the two for `groups` groups, if there is one.
    pub fn between(&self, groups: usize) -> Option<LaunchConfig> {
        let threads = (self.rows() * self.radix * SPECTRA) as u32;
        let grid = [threads / tensor::THREADS, groups as u32, 1];
        (self.middle > 1).then(|| LaunchConfig::new(grid, [tensor::THREADS, 1, 1]))
    }

    /// Slots of a block of the second kernel.
    fn slots(&self) -> usize {
        rows::slots(self.rows() as u32) as usize
    }

    /// The second kernel for `groups` groups.
    pub fn rows_of_slots(&self, groups: usize) -> LaunchConfig {
        let slots = self.slots();
        let grid = [(SLOTS / slots) as u32, (self.all_rows() / 2) as u32, groups as u32];
        let rows = self.rows() as u32;
        LaunchConfig::new(grid, [rows::threads(rows), 1, 1]).with_shared_bytes(rows::shared_bytes(rows))
    }

    /// First group and number of groups of each pair of launches.
    pub fn launches(&self, groups: usize) -> impl ExactSizeIterator<Item = (usize, usize)> + use<> {
        of_lanes(groups, self.groups_of_launch(), self.launches.full / (16 * self.workspace_of_group()))
    }
}

/// First group and number of groups of launches in two lanes, as even as they can be: of at most `most` groups, and as
/// many launches in both lanes if there are more than `full` groups, which fill a GPU by themselves.
pub(super) fn of_lanes(
    groups: usize,
    most: usize,
    full: usize,
) -> impl ExactSizeIterator<Item = (usize, usize)> + use<> {
    let launches = groups.div_ceil(most.max(1));
    let launches = if groups > full { launches.next_multiple_of(LANES) } else { launches };
    let each = groups.div_ceil(launches.max(1)).max(1);
    (0..groups).step_by(each).map(move |first| (first, each.min(groups - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_two_or_three_transforms() {
        for (channels, radix, middle, last, second) in [
            (64, 2, 1, 2, false),
            (128, 4, 1, 2, false),
            (256, 8, 1, 2, false),
            (512, 8, 1, 4, false),
            (1024, 8, 1, 8, false),
            (2048, 8, 1, 16, false),
            (4096, 8, 1, 2, true),
            (8192, 16, 1, 2, true),
            (16384, 16, 1, 4, true),
            (32768, 16, 16, 8, false),
            (65536, 16, 16, 16, false),
        ] {
            let shape = Shape::new(channels).unwrap();
            assert_eq!((shape.radix(), shape.middle()), (radix, middle), "{channels}");
            assert_eq!((shape.last(), shape.has_second(), shape.is_told()), (last, second, false), "{channels}");
            assert_eq!(radix * middle * last * if second { 256 } else { 16 }, channels);
            assert_eq!(shape.first_rows(), middle * shape.rows());
            let between = shape.between(3).map(|config| (config.grid, config.block));
            // A thread has 16 points of two slots.
            let blocks = (channels * SLOTS / 2 / 16 / 256) as u32;
            assert_eq!(between, (middle > 1).then_some(([blocks, 3, 1], [256, 1, 1])));
        }
        assert_eq!([0, 32, 131_072, 96, 1000, 960, 576, 24_576].map(Shape::new), [None; 8]);
        for (channels, radix, rows) in
            [(192, 6, 32), (1536, 12, 128), (6144, 6, 1024), (12_288, 12, 1024), (320, 10, 32), (2560, 10, 256)]
        {
            let shape = Shape::new(channels).unwrap();
            assert_eq!((shape.radix(), shape.rows(), shape.middle(), shape.is_told()), (radix, rows, 1, true));
            assert_eq!(shape.last() * if shape.has_second() { 256 } else { 16 }, rows);
        }
        assert_eq!([2048, 131_072, 12_288].map(Shape::long), [None; 3]);
        for channels in [4096, 8192, 16384, 32768, 65536] {
            let shape = Shape::long(channels).unwrap();
            assert_eq!(
                (shape.radix(), shape.all_rows(), shape.rows(), shape.is_told()),
                (8, 128, channels / 128, true)
            );
            let blocks = (channels * SLOTS / 2 / 16 / 256) as u32;
            assert_eq!(shape.between(2).map(|config| config.grid), Some([blocks, 2, 1]));
        }
    }

    #[test]
    fn launches_cover_all_groups_evenly_within_the_workspace() {
        let shape = Shape::new(8192).unwrap();
        assert_eq!(shape.groups_of_launch(), 10);
        let of = |groups| shape.launches(groups).collect::<Vec<_>>();
        assert_eq!((of(3), of(4)), (vec![(0, 3)], vec![(0, 4)]));
        // More than fill a GPU are in both lanes.
        assert_eq!((of(5), of(20)), (vec![(0, 3), (3, 2)], vec![(0, 10), (10, 10)]));
        assert_eq!(of(21), [(0, 6), (6, 6), (12, 6), (18, 3)]);
        assert_eq!(shape.launches(0).count(), 0);
        // The workspace of one group of 65536 channels is 64 MiB.
        let largest = Shape::new(65536).unwrap();
        assert_eq!((largest.groups_of_launch(), 16 * largest.workspace_of_group()), (1, 64 << 20));
    }

    #[test]
    fn blocks_fit_every_device_that_has_room_for_the_filter() {
        for channels in (6..=16).map(|power| 1 << power) {
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
