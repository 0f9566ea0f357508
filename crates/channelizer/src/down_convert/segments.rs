//! How a launch of the kernels on tensor cores is cut into segments.

/// A launch: segments and tiles of each input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// Blocks of outputs of a segment.
    pub blocks: u32,
    /// Tiles of an input.
    pub tiles: u32,
}

/// What tiles are made of, and who takes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles {
    /// Segments of a tile.
    pub(super) rows: u32,
    /// Blocks of outputs that segments are a multiple of.
    pub(super) unit: u32,
    /// Units of a segment, at most.
    pub(super) most_units: u64,
    /// Tiles that are taken at a time.
    pub(super) at_a_time: u64,
    /// Tiles that there are beside those of the inputs.
    pub(super) beside: u64,
}

impl Tiles {
    /// Cuts so many blocks of outputs of each of `inputs` inputs: in as few rounds of tiles as the longest segments
    /// take, and in these so that the tiles are as short as they can be, and all rounds as full.
    pub(super) fn cut(&self, blocks: u64, inputs: usize) -> Segments {
        let Self { rows, unit, most_units, at_a_time, beside } = *self;
        let (inputs, at_a_time) = (inputs.max(1) as u64, at_a_time.max(1));
        // Of an input, one for each row of a tile.
        let units = blocks.div_ceil(u64::from(rows * unit)).max(1);
        let longest = units.div_ceil(most_units.max(1)).saturating_mul(inputs).saturating_add(beside);
        let most_tiles = longest.div_ceil(at_a_time).saturating_mul(at_a_time).saturating_sub(beside) / inputs;
        let segment = units.div_ceil(most_tiles.max(1)) * u64::from(unit);
        Segments { blocks: segment as u32, tiles: blocks.div_ceil(segment * u64::from(rows)) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_all_blocks_in_full_rounds() {
        for (rows, unit, most_units) in [(64, 1, 273), (64, 2, 145), (32, 16, 17), (64, 1, 1)] {
            for (blocks, inputs) in
                [(0, 3), (1, 1), (1000, 2), (1 << 22, 1), (1 << 22, 2), (1 << 26, 1), (1 << 20, 130)]
            {
                for (at_a_time, beside) in [(1, 0), (1, 1), (396, 0), (396, 3)] {
                    let tiles = Tiles { rows, unit, most_units, at_a_time, beside };
                    let Segments { blocks: segment, tiles: of_input } = tiles.cut(blocks, inputs);
                    assert!(segment > 0 && segment.is_multiple_of(unit));
                    assert!(u64::from(segment) <= most_units * u64::from(unit));
                    let all = u64::from(of_input) * u64::from(segment * rows);
                    assert!(all >= blocks && all.saturating_sub(u64::from(segment * rows)) < blocks.max(1));
                    // As many rounds as the longest segments take.
                    let rounds = |tiles: u64| (tiles * inputs as u64 + beside).div_ceil(at_a_time);
                    let longest = blocks.div_ceil(u64::from(rows * unit)).div_ceil(most_units);
                    assert!(rounds(u64::from(of_input)) <= rounds(longest.max(1)));
                }
            }
        }
    }

    #[test]
    fn two_inputs_are_cut_so_that_no_second_round_is_half_empty() {
        // 2^28 samples of each of two inputs, 128 taps, a decimation of 8, 132 multiprocessors.
        let tiles = Tiles { rows: 64, unit: 1, most_units: 273, at_a_time: 396, beside: 1 };
        assert_eq!(tiles.cut(1 << 22, 2), Segments { blocks: 166, tiles: 395 });
        assert_eq!(tiles.cut(1 << 20, 2), Segments { blocks: 84, tiles: 196 });
        assert_eq!(tiles.cut(1 << 22, 1), Segments { blocks: 166, tiles: 395 });
    }
}
