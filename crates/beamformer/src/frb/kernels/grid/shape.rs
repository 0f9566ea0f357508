//! Which kernel of a grid makes which beams, and how its work is divided.

/// Rows or columns of a fragment, and words of one in shared memory: those of the kernels.
const SIDE: usize = 8;
const TILE_WORDS: usize = 72;

/// Bytes that voltages are copied in, and lists of steps: those of the kernels.
const PIECE: usize = 16;
const LISTS: usize = 4;
const STEP_BYTES: usize = 32;

/// Warps of a block at most.
const WARPS: usize = 8;

/// A kernel of powers: its name, lines and feeds it takes in tiles of 8 (`None` for any), tiles of beams of a warp,
/// tiles of outs of a block, tiles of samples that are multiplied at once, and how many times as many are loaded at
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridKind {
    /// The name.
    pub name: &'static str,
    sizes: Option<[usize; 2]>,
    beams: usize,
    outs: usize,
    tiles: usize,
    groups: usize,
}

/// Kernels of powers, the last one of any lines.
const POWERS: [GridKind; 3] = [
    GridKind { name: "grid_powers_1_6", sizes: Some([1, 6]), beams: 2, outs: 3, tiles: 8, groups: 1 },
    GridKind { name: "grid_powers_3_3", sizes: Some([3, 3]), beams: 1, outs: 3, tiles: 8, groups: 1 },
    GridKind { name: "grid_powers_any", sizes: None, beams: 2, outs: 3, tiles: 2, groups: 4 },
];

/// The kernel of voltages.
pub const VOLTAGES: GridKind =
    GridKind { name: "grid_voltages_any", sizes: None, beams: 2, outs: 3, tiles: 2, groups: 4 };

/// A kernel, and how a launch of it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridShape {
    /// The kernel.
    pub kind: GridKind,
    /// Lines of a tile of samples.
    pub columns: usize,
    /// Warps of a block.
    pub warps: usize,
    /// Parts that the outs are divided into.
    pub out_parts: usize,
    /// Parts that the beams along a line are divided into.
    pub beam_parts: usize,
    /// How many times as many tiles are loaded at once as are multiplied at once.
    pub groups: usize,
    /// Sets of tiles in shared memory.
    pub buffers: usize,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
}

impl GridKind {
    /// The kernel of powers of so many lines of so many feeds; of any if `any`.
    pub fn powers(lines: usize, feeds: usize, any: bool) -> Self {
        let tiles = [lines.div_ceil(SIDE), feeds.div_ceil(SIDE)];
        // Fewer lines share a tile with other times.
        let takes = |kind: &&Self| lines > SIDE / 2 && !any && kind.sizes == Some(tiles);
        POWERS.iter().find(takes).copied().unwrap_or(POWERS[2])
    }

    /// How it makes so many beams of voltages of so many bytes, in blocks of at most so many bytes of shared memory;
    /// `None` if samples do not fit there.
    pub fn shape(self, [lines, feeds, outs, beams]: [usize; 4], voltage: usize, most: usize) -> Option<GridShape> {
        let columns = columns(lines);
        let warps = beams.div_ceil(SIDE * self.beams);
        let beam_parts = warps.div_ceil(WARPS).max(1);
        // Lines as they lie begin and end within pieces, and some bytes behind them are read.
        let line_bytes = feeds.saturating_mul(voltage).saturating_add(PIECE - 1 + 3 * 8).next_multiple_of(PIECE);
        let raw = lines.saturating_mul(line_bytes).saturating_add(2 * PIECE).saturating_mul(2);
        let quads = lines.saturating_mul(feeds.div_ceil(4)).saturating_mul(8).saturating_add(8);
        let samples = lines.div_ceil(SIDE).saturating_mul(feeds.div_ceil(SIDE)).saturating_mul(4 * TILE_WORDS);
        let steps = |groups: usize| self.tiles * groups * (SIDE / columns.max(1));
        let bytes = |groups: usize, buffers: usize| {
            let of_steps = steps(groups).saturating_mul(raw.saturating_add(LISTS * STEP_BYTES));
            let of_tiles = samples.saturating_mul(self.tiles * groups * buffers);
            of_tiles.saturating_add(of_steps).saturating_add(quads)
        };
        let fits = |(groups, buffers): &(usize, usize)| bytes(*groups, *buffers) <= most;
        let sets = (1..=self.groups).rev().map(|groups| (groups, 2)).chain([(1, 1)]);
        let (groups, buffers) = sets.into_iter().find(fits)?;
        Some(GridShape {
            kind: self,
            columns,
            // As many threads at least as there are steps.
            warps: warps.div_ceil(beam_parts).clamp(steps(groups).div_ceil(32), WARPS),
            out_parts: outs.div_ceil(SIDE * self.outs),
            beam_parts,
            groups,
            buffers,
            shared_bytes: bytes(groups, buffers),
        })
    }
}

/// Lines of a tile of samples: fewer than 8 where 4 or fewer are all.
pub(super) fn columns(lines: usize) -> usize {
    if lines > SIDE / 2 { SIDE } else { lines.next_power_of_two() }
}
