//! Products of matrices by a warpgroup: where the elements of their factors and sums lie, and the arithmetic.
//!
//! Every product has 64 rows, N columns, and 32 bytes of K: factors are kept here as rows of 32 bytes, those of `A` and
//! those of the transpose of `B`.

use fringes_layout_core::atoms::descriptor::{Descriptor, Fields, Swizzle};

/// Type of the factors' elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Signed 8-bit integers, summed modulo 2^32.
    S8,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// The high 19 bits of a binary32.
    TF32,
}

/// Bytes of K.
pub(crate) const ROW: usize = 32;

/// 16 bytes of a factor in shared memory: their address, and what they are.
pub(crate) struct Chunk {
    pub(crate) address: u32,
    /// Row that they belong to, and byte in it; if transposed the first of eight rows, which one element of 16 bits
    /// each belongs to.
    row: usize,
    byte: usize,
}

/// The 16-byte chunks of a factor of so many rows, K-major or `transposed`.
pub(crate) fn chunks(descriptor: Descriptor, rows: usize, transposed: bool) -> impl Iterator<Item = Chunk> {
    let Fields { address, leading, stride, swizzle, .. } = descriptor.fields();
    let line = swizzle.row_bytes();
    let swizzled = swizzle != Swizzle::None;
    // Along: bytes in the direction in which memory is contiguous. Across: lines, eight of which make an atom.
    let place = move |along: u32, across: u32| {
        let (further, eight) = if transposed && !swizzled { (stride, leading) } else { (leading, stride) };
        // K-major rows of a permutation do not go on behind their span: a descriptor that is advanced points into them.
        let (inside, blocks) = if swizzled && !transposed { (along, 0) } else { (along % line, along / line) };
        let offset = inside + blocks * further + line * (across % 8) + across / 8 * eight;
        // The permutation is of the address.
        swizzle.apply(address + offset)
    };
    let lines = if transposed { 16 } else { rows };
    let width = if transposed { 2 * rows } else { ROW };
    (0..lines * width / 16).map(move |i| {
        let (along, across) = (16 * (i % (width / 16)), i / (width / 16));
        let address = place(along as u32, across as u32);
        if transposed {
            Chunk { address, row: along / 2, byte: 2 * across }
        } else {
            Chunk { address, row: across, byte: along }
        }
    })
}

/// Puts a chunk's bytes into the factor.
pub(crate) fn put(factor: &mut [[u8; ROW]], chunk: &Chunk, transposed: bool, bytes: &[u8]) {
    let Chunk { row, byte, .. } = *chunk;
    if transposed {
        for (element, bytes) in bytes.chunks(2).enumerate() {
            factor[row + element][byte..byte + 2].copy_from_slice(bytes);
        }
    } else {
        factor[row][byte..byte + 16].copy_from_slice(bytes);
    }
}

/// Row and byte of K of a register of `A` in a thread of the warpgroup.
pub(crate) const fn place_of_a(register: usize, thread: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (16 * warp + lane / 4 + 8 * (register % 2), 4 * (lane % 4) + 16 * (register / 2))
}

/// Row and column of a register of `D` in a thread of the warpgroup.
#[inline]
pub(crate) const fn place_of_d(register: usize, thread: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (16 * warp + lane / 4 + 8 * (register / 2 % 2), 8 * (register / 4) + 2 * (lane % 4) + register % 2)
}

/// `D = A B + D`, `D` by rows.
pub(crate) fn multiply(elements: Elements, a: &[[u8; ROW]], b: &[[u8; ROW]], d: &mut [u32]) {
    match elements {
        Elements::S8 => integers(a, b, d),
        Elements::F16 => floats::<16>(a, b, d, |row, k| half(u16::from_le_bytes([row[2 * k], row[2 * k + 1]]))),
        Elements::BF16 => {
            floats::<16>(a, b, d, |row, k| f32::from_le_bytes([0, 0, row[2 * k], row[2 * k + 1]]).into());
        }
        Elements::TF32 => floats::<8>(a, b, d, |row, k| {
            f32::from_le_bytes([0, row[4 * k + 1] & 0xe0, row[4 * k + 2], row[4 * k + 3]]).into()
        }),
    }
}

fn integers(a: &[[u8; ROW]], b: &[[u8; ROW]], d: &mut [u32]) {
    let wide = |rows: &[[u8; ROW]]| rows.iter().map(|row| row.map(|byte| i16::from(byte as i8))).collect::<Vec<_>>();
    let (a, b) = (wide(a), wide(b));
    for (a, d) in a.iter().zip(d.chunks_mut(b.len())) {
        for (b, d) in b.iter().zip(d) {
            // Wrapping, though nothing can wrap here: the loop is vectorised so.
            let sum =
                a.iter().zip(b).fold(0_i32, |sum, (&a, &b)| sum.wrapping_add(i32::from(a).wrapping_mul(b.into())));
            *d = d.wrapping_add(sum as u32);
        }
    }
}

/// Exact products summed in f64 in the order of K, the accumulator last, rounded once to f32.
fn floats<const K: usize>(a: &[[u8; ROW]], b: &[[u8; ROW]], d: &mut [u32], element: impl Fn(&[u8; ROW], usize) -> f64) {
    let columns = b.len();
    // By K, then by column, so that the columns are added side by side.
    let mut across = vec![0.0; K * columns];
    for (column, row) in b.iter().enumerate() {
        (0..K).for_each(|k| across[k * columns + column] = element(row, k));
    }
    let mut sums = vec![0.0; columns];
    for (a, d) in a.iter().zip(d.chunks_mut(columns)) {
        sums.fill(0.0);
        for k in 0..K {
            let a = element(a, k);
            sums.iter_mut().zip(&across[k * columns..]).for_each(|(sum, b)| *sum += a * b);
        }
        for (d, sum) in d.iter_mut().zip(&sums) {
            *d = ((sum + f64::from(f32::from_bits(*d))) as f32).to_bits();
        }
    }
}

/// Value of an f16.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (bits >> 10 & 31, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use fringes_layout_core::atoms::descriptor::{Major, Operand};
    use fringes_layout_core::atoms::wgmma::{Accumulator, M64K16_F32_F16, M64K32_S32_S8};

    use super::*;

    #[test]
    fn registers_lie_where_the_layout_atoms_have_them() {
        let d = Accumulator::new(M64K32_S32_S8.tile, 24).unwrap();
        for thread in 0..128 {
            for register in 0..d.registers() {
                assert_eq!(place_of_d(register, thread), d.position(0, register, thread));
            }
            for (a, bytes, elements) in [(&M64K32_S32_S8.a, 1, 4), (&M64K16_F32_F16.a, 2, 2)] {
                for register in 0..4 {
                    let at = (register * elements + thread * 4 * elements) as u64;
                    let index = a.apply(at) as usize;
                    assert_eq!(place_of_a(register, thread), (index % 64, index / 64 * bytes));
                }
            }
        }
    }

    #[test]
    fn factors_lie_where_the_layout_atoms_have_them() {
        for swizzle in Swizzle::ALL {
            for (major, bits) in [(Major::K, 8), (Major::K, 16), (Major::K, 32), (Major::MN, 16)] {
                let (leading, stride) = (8192, 2048);
                let operand = Operand::new(major, swizzle, bits, leading, stride).unwrap();
                let descriptor = Descriptor::new(1024, leading, stride, swizzle);
                let transposed = major == Major::MN;
                let size = bits as usize / 8;
                for chunk in chunks(descriptor, 64, transposed) {
                    let (row, column) = (chunk.row as u32, (chunk.byte / size) as u32);
                    let expected = operand.offset(row, column).unwrap();
                    assert_eq!(chunk.address, 1024 + expected, "{swizzle:?} {major:?} row {row} column {column}");
                }
            }
        }
    }

    #[test]
    fn halves_have_their_values() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (1, 2f64.powi(-24)), (0x7bff, 65504.0), (0x3555, 0.333_251_953_125)]
        {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7c01).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
    }
}
