//! Whether registers that an instruction takes hold what the layouts say: everything here runs at compile time.

use fringes_device::layout::atoms::mma::Mma;
use fringes_device::layout::{Layout, LayoutError};

use super::places::{Call, Factor};

/// The value, or an error of compilation with the layout's message.
const fn held(result: Result<Layout, LayoutError>) -> Layout {
    match result {
        Ok(layout) => layout,
        Err(error) => panic!("{}", error.message().as_str()),
    }
}

/// The named bits of the elements.
const fn bits(layout: &Layout, names: &[&str]) -> Layout {
    held(layout.project(names))
}

/// Place of a half (lowest bit) and lane, and of a register, in the order in which this module's layouts have them.
const fn place(inside: u64, register: usize) -> u64 {
    inside | (register as u64) << 6
}

/// Whether places are numbered by halves, lanes, registers.
const fn ordered(layout: &Layout) -> bool {
    let space = layout.physical();
    let mut bit = 0;
    while bit < space.len() {
        let number = match bit {
            0 => space.index(&[("b", 1)]),
            1..6 => space.index(&[("t", 1 << (bit - 1))]),
            _ => space.index(&[("r", 1 << (bit - 6))]),
        };
        if number != 1 << bit {
            return false;
        }
        bit += 1;
    }
    bit >= 6
}

/// A contraction on tensor cores, its matrix as operand A.
pub(super) struct Contraction<'a> {
    pub(super) mma: &'a Mma,
    pub(super) data: Layout,
    pub(super) matrix: Layout,
    pub(super) result: Layout,
    /// Bits of the data that are summed, and what they are in the matrix.
    pub(super) sums: [&'a [&'a str]; 2],
    /// Bits of the result that are created, and what they are in the matrix.
    pub(super) creates: [&'a [&'a str]; 2],
    /// Bits of data and result that are the same.
    pub(super) keeps: &'a [&'a str],
    /// Of these, bits that the matrix depends on.
    pub(super) depends: &'a [&'a str],
}

impl Contraction<'_> {
    /// Whether these calls are the contraction: in each, the element of the matrix in row `i` and column `j` belongs to
    /// the element of the data in row `j` and column `k` and that of the result in row `i` and column `k`; and every
    /// register of the result is written once.
    pub(super) const fn is<const A: usize, const B: usize>(&self, calls: &[Call<A, B>]) -> bool {
        let Self { mma, data, matrix, result, sums, creates, keeps, depends } = self;
        let complete = data.logical().len() == sums[0].len() + keeps.len()
            && result.logical().len() == creates[0].len() + keeps.len()
            && matrix.logical().len() == sums[1].len() + creates[1].len() + depends.len();
        if !(complete && ordered(data) && ordered(matrix) && ordered(result)) {
            return false;
        }
        let (a, b, c) = (held(mma.a.invert()), held(mma.b.invert()), held(mma.c.invert()));
        let (data_sums, matrix_sums) = (bits(data, sums[0]), bits(matrix, sums[1]));
        let (result_creates, matrix_creates) = (bits(result, creates[0]), bits(matrix, creates[1]));
        let (data_keeps, result_keeps) = (bits(data, keeps), bits(result, keeps));
        let (data_depends, matrix_depends) = (bits(data, depends), bits(matrix, depends));
        // All maps between lanes are linear and registers are looked up, so it is enough to look at no bit and at one
        // bit of `i`, `j` and `k` each: of the bits that are registers (`i3`, `j3`) all combinations are among them.
        const POINTS: [u64; 5] = [0, 1, 2, 4, 8];
        let (mut at, mut written) = (0, 0u64);
        while at < calls.len() {
            let call = &calls[at];
            let mut point = 0;
            while point < 5 * 5 * 4 {
                let (i, j, k) = (POINTS[point % 5], POINTS[point / 5 % 5], POINTS[point / 25]);
                point += 1;
                if j >= mma.k as u64 {
                    continue;
                }
                // Fragments have halves, registers, lanes.
                let a = fragment(a.apply(i | j << 4), &call.matrix);
                let b = fragment(b.apply(j + k * mma.k as u64), &call.data);
                let c = fragment(c.apply(i | k << 4), &call.result);
                let fits = matrix_sums.apply(a) == data_sums.apply(b)
                    && matrix_creates.apply(a) == result_creates.apply(c)
                    && matrix_depends.apply(a) == data_depends.apply(b)
                    && data_keeps.apply(b) == result_keeps.apply(c);
                if !fits {
                    return false;
                }
            }
            written |= 1 << call.result[0] | 1 << call.result[1];
            at += 1;
        }
        // Two registers a call, all different.
        written.count_ones() as usize == 2 * calls.len() && written == (1 << (2 * calls.len())) - 1
    }
}

/// The place in an array's layout of a place in a fragment whose registers are these.
const fn fragment<const N: usize>(at: u64, registers: &[usize; N]) -> u64 {
    let bits = N.trailing_zeros();
    let (half, register, lane) = (at & 1, at >> 1 & (N as u64 - 1), at >> (1 + bits));
    place(half | lane << 1, registers[register as usize])
}

/// Whether the registers of every product with a phase hold the real and the imaginary part of a number and of the
/// phase that has the same `bits`; and every register of the data is multiplied once.
pub(super) const fn multiplies(data: &Layout, phases: &Layout, names: &[&str], factors: &[Factor; 8]) -> bool {
    if !(ordered(data) && ordered(phases)) || phases.logical().len() != names.len() + 1 {
        return false;
    }
    let (data_bits, phase_bits) = (bits(data, names), bits(phases, names));
    let (data_part, phase_part) = (bits(data, &["ReIm"]), bits(phases, &["ReIm"]));
    let data_rest = held(data.drop_logical(&["ReIm"]));
    let (mut at, mut multiplied) = (0, 0u64);
    while at < 8 {
        let Factor { data, phase } = &factors[at];
        let mut point = 0;
        while point < 7 {
            let inside = 1 << point >> 1;
            let mut part = 0;
            while part < 2 {
                let (number, factor) = (place(inside, data[part]), place(inside, phase[part]));
                let fits = data_part.apply(number) == part as u64
                    && phase_part.apply(factor) == part as u64
                    && data_bits.apply(number) == phase_bits.apply(factor)
                    && data_rest.apply(number) == data_rest.apply(place(inside, data[0]));
                if !fits {
                    return false;
                }
                part += 1;
            }
            point += 1;
        }
        multiplied |= 1 << data[0] | 1 << data[1];
        at += 1;
    }
    multiplied == 0xffff
}

/// Whether registers of one array of phases are those of another: bit by bit the same numbers, and `zero` clear in the
/// second.
pub(super) const fn shares(
    one: (&Layout, &[&str]),
    other: (&Layout, &[&str]),
    registers: &[usize],
    zero: &[&str],
) -> bool {
    let (first, second, clear) = (bits(one.0, one.1), bits(other.0, other.1), bits(other.0, zero));
    let complete = one.0.logical().len() == one.1.len() && other.0.logical().len() == other.1.len() + zero.len();
    if !(complete && ordered(one.0) && ordered(other.0)) {
        return false;
    }
    let mut register = 0;
    while register < registers.len() {
        let mut point = 0;
        while point < 7 {
            let inside = 1 << point >> 1;
            let there = place(inside, registers[register]);
            if first.apply(place(inside, register)) != second.apply(there) || clear.apply(there) != 0 {
                return false;
            }
            point += 1;
        }
        register += 1;
    }
    true
}
