//! Powers of 4-bit and 8-bit voltages: exact, in plain Rust that compilers make vectors of.
//!
//! An 8-bit power is at most `2 127^2 < 2^15`, so that two of them lie in 32 bits side by side, and one multiply-add of
//! 16-bit pairs (which every x86-64 has) gives the sum of both squares; two such sums fit 32 bits without a sign. A
//! 4-bit power is at most 98, and four squares of it fit 16 bits. Values that are no samples (-128, -8) give wrong sums
//! and nothing worse.

use fringes_types::Complex4;
use num_complex::Complex;

use super::stretch::{LANES, Lanes};

type C8 = Complex<i8>;

impl Lanes for C8 {
    type Sum = u64;
    type First = u32;
    type Second = u64;

    fn power(self) -> (u64, u64) {
        let power = u64::from(i32::from(self.re).pow(2).wrapping_add(i32::from(self.im).pow(2)) as u32);
        (power, power * power)
    }

    fn add_rows(rows: [&[Self]; 4], first: &mut [u32], second: &mut [u64]) {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>().0);
        let sums = first.as_chunks_mut::<LANES>().0.iter_mut().zip(second.as_chunks_mut::<LANES>().0);
        for ((((a, b), c), d), (first, second)) in a.iter().zip(b).zip(c).zip(d).zip(sums) {
            bytes([a, b, c, d], first, second);
        }
    }

    fn wide(first: u32, second: u64) -> (u64, u64) {
        (first.into(), second)
    }
}

impl Lanes for Complex4 {
    type Sum = u64;
    type First = u32;
    type Second = u32;

    fn power(self) -> (u64, u64) {
        C8::new(self.re(), self.im()).power()
    }

    fn add_rows(rows: [&[Self]; 4], first: &mut [u32], second: &mut [u32]) {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>().0);
        let sums = first.as_chunks_mut::<LANES>().0.iter_mut().zip(second.as_chunks_mut::<LANES>().0);
        for ((((a, b), c), d), (first, second)) in a.iter().zip(b).zip(c).zip(d).zip(sums) {
            nibbles([a, b, c, d], first, second);
        }
    }

    fn wide(first: u32, second: u32) -> (u64, u64) {
        (first.into(), second.into())
    }
}

/// Powers of 16 bytes of pairs.
#[inline(always)]
fn powers(row: &[C8; LANES]) -> [i32; LANES] {
    row.map(|x| {
        let (re, im) = (i32::from(x.re), i32::from(x.im));
        re * re + im * im
    })
}

/// The sum of the squares of two numbers below 2^15.
#[inline(always)]
fn squares(a: i32, b: i32) -> u32 {
    let pair = a | (b << 16);
    let (a, b) = (i32::from(pair as i16), pair >> 16);
    (a * a).wrapping_add(b * b) as u32
}

/// Adds four rows of 8-bit voltages.
#[inline(always)]
fn bytes(rows: [&[C8; LANES]; 4], first: &mut [u32; LANES], second: &mut [u64; LANES]) {
    let [a, b, c, d] = rows.map(powers);
    let (mut power, mut square) = ([0u32; LANES], [0u32; LANES]);
    for lane in 0..LANES {
        power[lane] = (a[lane] + b[lane] + c[lane] + d[lane]) as u32;
        square[lane] = squares(a[lane], b[lane]).wrapping_add(squares(c[lane], d[lane]));
    }
    for lane in 0..LANES {
        first[lane] = first[lane].wrapping_add(power[lane]);
    }
    for lane in 0..LANES {
        second[lane] = second[lane].wrapping_add(square[lane].into());
    }
}

/// Adds four rows of 4-bit voltages.
#[inline(always)]
fn nibbles(rows: [&[Complex4; LANES]; 4], first: &mut [u32; LANES], second: &mut [u32; LANES]) {
    let (mut power, mut square) = ([0u16; LANES], [0u16; LANES]);
    for row in rows {
        // Magnitudes of two's complement: 16 - n for n of 8 and above.
        let (mut re, mut im) = ([0u8; LANES], [0u8; LANES]);
        for (lane, packed) in row.iter().enumerate() {
            let (high, low) = (packed.0 >> 4, packed.0 & 15);
            (re[lane], im[lane]) = (high.min(16 - high), low.min(16 - low));
        }
        for lane in 0..LANES {
            let (re, im) = (u16::from(re[lane]), u16::from(im[lane]));
            let one = re * re + im * im;
            power[lane] = power[lane].wrapping_add(one);
            square[lane] = square[lane].wrapping_add(one.wrapping_mul(one));
        }
    }
    for lane in 0..LANES {
        first[lane] = first[lane].wrapping_add(power[lane].into());
    }
    for lane in 0..LANES {
        second[lane] = second[lane].wrapping_add(square[lane].into());
    }
}
