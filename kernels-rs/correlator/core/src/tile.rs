//! Which part of the visibility matrix a block computes.

/// Inputs on either side of a block's tile.
pub const INPUTS: u32 = 128;

/// Tiles on or below the diagonal for this many inputs: the first dimension of the correlator's grid.
pub const fn count(inputs: u32) -> u32 {
    let rows = inputs.div_ceil(INPUTS);
    rows * (rows + 1) / 2
}

/// Row and column of tile `index` in the packed lower triangle of tiles.
///
/// Subtracts rows one after another: exact for every size (an f32 square root is not), and at most 64 steps for 8192
/// inputs.
#[inline(always)]
pub const fn position(index: u32) -> (u32, u32) {
    let (mut row, mut rest) = (0, index);
    while rest > row {
        row += 1;
        rest -= row;
    }
    (row, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_run_through_the_triangle_row_by_row() {
        let mut index = 0;
        for row in 0..200 {
            for column in 0..=row {
                assert_eq!(position(index), (row, column));
                index += 1;
            }
        }
    }

    #[test]
    fn every_pair_of_inputs_lies_in_a_tile() {
        for (inputs, tiles) in [(1, 1), (128, 1), (129, 3), (1024, 36), (8192, 2080)] {
            assert_eq!(count(inputs), tiles);
        }
    }
}
