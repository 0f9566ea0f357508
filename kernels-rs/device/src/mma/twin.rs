//! What the functions compute in the emulator.

use fringes_emulator::warp;
use fringes_layout_core::Layout;
use fringes_layout_core::atoms::mma::MMAS;

use crate::tensor_core::{self, Accumulator, COLUMNS, Factor, ROWS};

/// Registers of `A`, `B` and `C` of one lane.
type Registers<const A: usize, const B: usize, const C: usize> = ([u32; A], [u32; B], [u32; C]);

/// What decides the meaning of a product: rows of `A`, columns of `B`, `C`, all elements in bits, to `D`.
pub(crate) trait Product {
    fn products(a: &[u32], b: &[u32], c: &Elements) -> Elements;
}

/// Elements of `C` or `D`, `[row][column]`.
type Elements = [u32; ROWS * COLUMNS];

/// The number in [`MMAS`] of the instruction of this name, PTX and numbers of registers; a compile-time error if
/// there is none.
pub(crate) const fn number(name: &str, ptx: &str, registers: [usize; 3]) -> usize {
    let mut number = 0;
    while !same(MMAS[number].name, name) {
        number += 1;
    }
    assert!(same(MMAS[number].ptx, ptx), "another instruction than the table's");
    let [a, b, c] = MMAS[number].registers();
    assert!(a == registers[0] && b == registers[1] && c == registers[2], "other registers than the table's");
    number
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Where the element of each place of a fragment lies in an array with these strides of rows and columns.
const fn places<const N: usize>(fragment: &Layout, rows: usize, [row, column]: [usize; 2]) -> [u16; N] {
    let (mut places, mut place) = ([0; N], 0);
    while place < fragment.physical().size() {
        let element = fragment.apply(place) as usize;
        places[place as usize] = (element % rows * row + element / rows * column) as u16;
        place += 1;
    }
    places
}

/// The fragments of instruction `MMA` of [`MMAS`], place by place: elements of a register, registers, lanes.
struct Fragments<const MMA: usize>;

impl<const MMA: usize> Fragments<MMA> {
    /// Terms of a sum.
    const K: usize = MMAS[MMA].k;
    /// Bits of an element of `A` and `B`.
    const BITS: usize = MMAS[MMA].element.bits();
    /// `A`, `K` elements a row.
    const A: [u16; 1024] = places(&MMAS[MMA].a, 16, [Self::K, 1]);
    /// `B`, `K` elements a column.
    const B: [u16; 512] = places(&MMAS[MMA].b, Self::K, [1, Self::K]);
    /// `C` and `D`, 8 elements a row.
    const C: [u16; 128] = places(&MMAS[MMA].c, 16, [8, 1]);
}

/// Puts the elements of a lane's registers where `places`, those of the lane, say.
#[inline(always)]
fn unpack(bits: usize, registers: &[u32], places: &[u16], elements: &mut [u32]) {
    let mask = u32::MAX >> (32 - bits);
    for (word, places) in registers.iter().zip(places.chunks_exact(32 / bits)) {
        for (e, &place) in places.iter().enumerate() {
            elements[usize::from(place)] = word >> (bits * e) & mask;
        }
    }
}

/// Registers of `A`, `B` and `C` of all lanes, those of `A` and `C` four and those of `B` two; what there is less of is
/// not looked at.
type All = ([[u32; 4]; 32], [[u32; 2]; 32], [[u32; 4]; 32]);

/// Where elements lie, and how many bits they have.
struct Shape {
    places: (&'static [u16; 1024], &'static [u16; 512], &'static [u16; 128]),
    k: usize,
    bits: usize,
    registers: [usize; 3],
}

/// `D = A B + C` on the registers of 32 lanes; elements of `C` and `D` in 32 bits (4 registers) or 16 (2).
///
/// No type is a parameter, so that it is compiled here, for all crates of kernels.
fn product(
    shape: &Shape,
    (of_a, of_b, of_c): &All,
    products: fn(&[u32], &[u32], &Elements) -> Elements,
) -> [[u32; 4]; 32] {
    let Shape { places, k, bits, registers: [a_count, b_count, c_count] } = *shape;
    let (mut a, mut b) = ([0; 1024], [0; 512]);
    let n = 32 / bits;
    for (registers, places) in of_a.iter().zip(places.0.chunks_exact(a_count * n)) {
        unpack(bits, &registers[..a_count], places, &mut a);
    }
    for (registers, places) in of_b.iter().zip(places.1.chunks_exact(b_count * n)) {
        unpack(bits, &registers[..b_count], places, &mut b);
    }
    let (n, width) = (4 / c_count, 8 * c_count);
    let place = |place: usize| (place % n, place / n % c_count, place / 4);
    let mut elements = [0; ROWS * COLUMNS];
    for (at, &element) in places.2.iter().enumerate() {
        let (e, r, lane) = place(at);
        elements[usize::from(element)] = of_c[lane][r] >> (width * e) & u32::MAX >> (32 - width);
    }
    let elements = products(&a[..ROWS * k], &b[..COLUMNS * k], &elements);
    let mut d = [[0; 4]; 32];
    for (at, &element) in places.2.iter().enumerate() {
        let (e, r, lane) = place(at);
        d[lane][r] |= elements[usize::from(element)] << (width * e);
    }
    d
}

/// Runs instruction `MMA` of [`MMAS`].
#[track_caller]
pub(crate) fn run<P: Product, const MMA: usize, const A: usize, const B: usize, const C: usize>(
    a: [u32; A],
    b: [u32; B],
    c: [u32; C],
) -> [u32; C]
where
    [u32; A]: Default,
    [u32; B]: Default,
    [u32; C]: Default,
{
    warp::collective(MMAS[MMA].name, u32::MAX, (a, b, c), |_, lanes: &[Registers<A, B, C>; 32]| {
        let (places, k, bits) = const {
            let places = (&Fragments::<MMA>::A, &Fragments::<MMA>::B, &Fragments::<MMA>::C);
            (places, Fragments::<MMA>::K, Fragments::<MMA>::BITS)
        };
        let mut all: All = ([[0; 4]; 32], [[0; 2]; 32], [[0; 4]; 32]);
        for (lane, (a, b, c)) in lanes.iter().enumerate() {
            all.0[lane][..A].copy_from_slice(a);
            all.1[lane][..B].copy_from_slice(b);
            all.2[lane][..C].copy_from_slice(c);
        }
        let d = product(&Shape { places, k, bits, registers: [A, B, C] }, &all, P::products);
        d.map(|d| std::array::from_fn(|r| d[r]))
    })
}

macro_rules! floating {
    ($($(#[$attribute:meta])* $name:ident, $factor:ident, $accumulator:ident;)*) => { $(
        $(#[$attribute])*
        pub(crate) enum $name {}

        impl Product for $name {
            fn products(a: &[u32], b: &[u32], c: &Elements) -> Elements {
                tensor_core::products(tensor_core::TWIN, Factor::$factor, Accumulator::$accumulator, a, b, c)
            }
        }
    )* };
}

floating! {
    /// f16 factors, f32 accumulators.
    HalfWide, F16, F32;
    /// f16 factors and accumulators.
    Half, F16, F16;
    /// bf16 factors, f32 accumulators.
    Brain, BF16, F32;
    /// tf32 factors, f32 accumulators.
    Tensor, TF32, F32;
}

/// Sums modulo 2^32 of the products of each row and column.
#[inline(always)]
fn of_each(a: &[u32], b: &[u32], c: &Elements, product: impl Fn(&u32, &u32) -> u32 + Copy) -> Elements {
    let (k, mut d) = (a.len() / ROWS, *c);
    for (row, d) in a.chunks_exact(k).zip(d.chunks_exact_mut(COLUMNS)) {
        for (column, d) in b.chunks_exact(k).zip(d) {
            *d = row.iter().zip(column).fold(*d, |sum, (a, b)| sum.wrapping_add(product(a, b)));
        }
    }
    d
}

/// Signed integers of `BITS` bits.
pub(crate) enum Signed<const BITS: usize> {}

impl<const BITS: usize> Product for Signed<BITS> {
    fn products(a: &[u32], b: &[u32], c: &Elements) -> Elements {
        let value = |x: &u32| (x << (32 - BITS)) as i32 >> (32 - BITS);
        of_each(a, b, c, |a, b| (value(a) * value(b)) as u32)
    }
}

/// Unsigned integers of `BITS` bits.
pub(crate) enum Unsigned<const BITS: usize> {}

impl<const BITS: usize> Product for Unsigned<BITS> {
    fn products(a: &[u32], b: &[u32], c: &Elements) -> Elements {
        of_each(a, b, c, |a, b| a * b)
    }
}
