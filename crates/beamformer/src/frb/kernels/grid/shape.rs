//! Which kernel of a grid makes which beams, and how its work is divided.

/// Rows or columns of a fragment, and words of one in shared memory: those of the kernels.
const SIDE: usize = 8;
const TILE_WORDS: usize = 72;

/// Bytes that voltages are copied in, and lists of steps: those of the kernels.
const PIECE: usize = 16;
const LISTS: usize = 4;

/// Warps of a block at least, and at most.
const WARPS: [usize; 2] = [2, 8];

/// A kernel of powers: its name, lines and feeds it takes in tiles of 8 (`None` for any), tiles of beams of a warp,
/// tiles of outs of a block, and tiles of samples that are loaded at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridKind {
    /// The name.
    pub name: &'static str,
    sizes: Option<[usize; 2]>,
    beams: usize,
    outs: usize,
    tiles: usize,
}

/// Kernels of powers, the last one of any lines.
const POWERS: [GridKind; 3] = [
    GridKind { name: "grid_powers_1_6", sizes: Some([1, 6]), beams: 2, outs: 3, tiles: 8 },
    GridKind { name: "grid_powers_3_3", sizes: Some([3, 3]), beams: 2, outs: 3, tiles: 8 },
    GridKind { name: "grid_powers_any", sizes: None, beams: 1, outs: 2, tiles: 3 },
];

/// The kernel of voltages.
pub const VOLTAGES: GridKind = GridKind { name: "grid_voltages_any", sizes: None, beams: 1, outs: 2, tiles: 3 };

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
    /// Groups of tiles in shared memory.
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
        let beam_parts = warps.div_ceil(WARPS[1]).max(1);
        let steps = self.tiles.saturating_mul(SIDE / columns.max(1));
        let tile_bytes = 4 * TILE_WORDS * self.tiles;
        let samples = lines.div_ceil(SIDE).saturating_mul(feeds.div_ceil(SIDE)).saturating_mul(tile_bytes);
        // Lines as they lie begin and end within pieces, and some bytes behind them are read.
        let line_bytes = feeds.saturating_mul(voltage).saturating_add(PIECE - 1 + 3 * 8).next_multiple_of(PIECE);
        let raw = lines.saturating_mul(line_bytes).saturating_add(2 * PIECE).saturating_mul(2 * steps);
        let quads = lines.saturating_mul(feeds.div_ceil(4)).saturating_mul(16);
        let fixed = raw.saturating_add(quads).saturating_add(LISTS * 16 * steps);
        let bytes = |buffers: usize| samples.saturating_mul(buffers).saturating_add(fixed);
        let buffers = [2, 1].into_iter().find(|&buffers| bytes(buffers) <= most)?;
        Some(GridShape {
            kind: self,
            columns,
            warps: warps.div_ceil(beam_parts).clamp(WARPS[0], WARPS[1]),
            out_parts: outs.div_ceil(SIDE * self.outs),
            beam_parts,
            buffers,
            shared_bytes: bytes(buffers),
        })
    }
}

/// Lines of a tile of samples: fewer than 8 where 4 or fewer are all.
pub(super) fn columns(lines: usize) -> usize {
    if lines > SIDE / 2 { SIDE } else { lines.next_power_of_two() }
}
