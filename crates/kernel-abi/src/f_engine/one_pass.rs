//! Any plan in one pass: a block has a job, whose spectra are in shared memory.

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Most taps.
pub const MOST_TAPS: u32 = 64;

/// Most points of a spectrum that the kernels' arithmetic allows; shared memory sets a lower limit.
pub const MOST_POINTS: u32 = 1 << 14;

/// Most spectra of a job.
pub const MOST_SLOTS: u32 = 1 << 10;

/// Most bits of a job's samples, which are counted in 32 bits.
pub const MOST_BITS: u64 = 1 << 31;

/// Words after those of the last number that kernels load: four numbers are loaded where two may be the last.
pub const PADDING: u64 = 2;

/// Spectra that a thread filters together if they are a step apart and a job has more than half as many.
pub const MANY: usize = 12;

/// Spectra that a thread filters together otherwise.
pub const FEW: usize = 4;

/// Taps whose weights a thread has in registers, of spectra that are a step apart.
pub const CHUNK: usize = 16;

/// Most steps from spectrum to spectrum that a thread filters together.
pub const MOST_STEPS: u32 = 5;

/// Bits of a radix among those of a transform: `radix - 1`, the first pass in the lowest ones, 0 after the last.
pub const RADIX_BITS: u32 = 5;

/// Pieces of 16 bytes of a spectrum's entry.
pub const ENTRY: u32 = 2;

/// [`place`]'s `skew` of a number of points: of a power of two a point is left free behind each 16, 128 bytes, so that
/// points 16, 32, 64, ... apart do not share banks. Of others passes have strides that divide no row of banks, and meet
/// fewer without.
#[inline(always)]
pub const fn skew(points: u32) -> u32 {
    if points.is_power_of_two() { 4 } else { 31 }
}

/// Place of a point within its slot.
#[inline(always)]
pub const fn place(point: u32, skew: u32) -> u32 {
    point + (point >> skew)
}

/// Points from slot to slot, 5 more than a multiple of 16, so that a point's values of neighbouring spectra share few
/// banks.
#[inline(always)]
pub const fn slot(points: u32) -> u32 {
    let used = place(points - 1, skew(points)) + 1;
    used + (5u32.wrapping_sub(used) & 15)
}

/// Bytes of shared memory for `slots` spectra of `points` points: whole pieces of 16.
#[inline(always)]
pub const fn shared_bytes(points: u32, slots: u32) -> u32 {
    (slots * (slot(points) * 8 + ENTRY * 16)).next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_have_places_of_their_own_within_their_slot() {
        for points in 1..600 {
            let place = |point| place(point, skew(points));
            assert!((1..points).all(|point| place(point) > place(point - 1)));
            assert!(place(points - 1) < slot(points) && slot(points) % 16 == 5);
        }
    }
}
