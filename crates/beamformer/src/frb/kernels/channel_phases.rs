//! Phases of the transform along a line of the kernel that takes feeds in finer channels.
//!
//! That kernel wants powers alone, so each output may have a phase of its own. With `m = n mod 16`, `l = q mod 32` and
//! `q = 32 h + l` the phases between its two products are those of `(m - 15/2) (l - 31/2) / 512` turns, at most 0.23,
//! by which a number is turned with three multiply-adds; the second product takes `31/2 m / 512 + m h / 16`.

use std::f64::consts::TAU;

use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use half::f16;

use super::tables::{LANES, word};

/// Inputs and outputs of the transform.
const INPUTS: usize = 256;
const OUTPUTS: usize = 512;

/// Words of the first matrix, and registers of the others: minus tangents of half the angles, sines, the second matrix.
const FIRST: usize = 16 * LANES;
const REGISTERS: usize = 8;

/// The powers of two that the matrices make numbers smaller by. All their numbers keep what f16 has of them.
const FIRST_EXPONENT: i32 = -1;
const SECOND_EXPONENT: i32 = -12;

/// The power of two that the transform makes numbers smaller by.
pub(super) const SMALLER: i32 = -(FIRST_EXPONENT + SECOND_EXPONENT);

/// Turns of the phase between the products, of bit `n1`.
fn turns(register: usize, lane: usize, n1: usize) -> f64 {
    let m = register % 2 + 2 * n1 + 4 * (lane % 4);
    let l = register / 2 % 2 + 2 * (lane / 4) + 16 * (register / 4);
    (m as f64 - 7.5) * (l as f64 - 15.5) / OUTPUTS as f64
}

/// A number of the second matrix, of bit `n1`.
fn second(register: usize, lane: usize, n1: usize, sign: f64) -> f64 {
    let m = register / 2 % 2 + 2 * n1 + 4 * (lane % 4);
    let h = lane / 8 + 4 * (lane / 4 % 2);
    let (of_imaginary, imaginary) = (register % 2 == 1, register / 4 == 1);
    let angle = sign * TAU * m as f64 * (h as f64 / 16.0 + 15.5 / OUTPUTS as f64);
    match (of_imaginary, imaginary) {
        (true, false) => -angle.sin(),
        (false, true) => angle.sin(),
        _ => angle.cos(),
    }
}

/// The table `[register][lane]` of a transform with this sign; empty if there is no kernel of the size.
pub fn channel_phases(sign: Sign) -> Vec<u32> {
    let Ok(size) = Size::new(INPUTS, OUTPUTS) else { return Vec::new() };
    let mut table = phase_table(size, sign, FIRST_EXPONENT);
    table.truncate(FIRST);
    let mut extend = |of: &dyn Fn(usize, usize, usize) -> f64| {
        let places = (0..REGISTERS).flat_map(|register| (0..LANES).map(move |lane| (register, lane)));
        table.extend(places.map(|(register, lane)| word(of(register, lane, 0), of(register, lane, 1))));
    };
    let angle = |register, lane, n1| sign.value() * TAU * turns(register, lane, n1);
    extend(&|register, lane, n1| -(angle(register, lane, n1) / 2.0).tan());
    extend(&|register, lane, n1| angle(register, lane, n1).sin());
    let scale = 2f64.powi(SECOND_EXPONENT);
    extend(&|register, lane, n1| scale * second(register, lane, n1, sign.value()));
    table
}

/// What the rounded phases make powers larger by on average, but for the power of two.
pub fn channel_phase_power() -> f64 {
    let values: Vec<f64> = (channel_phases(Sign::Positive).iter())
        .flat_map(|word| [*word as u16, (word >> 16) as u16])
        .map(|bits| f16::from_bits(bits).to_f64())
        .collect();
    let (first, rest) = values.split_at(2 * FIRST);
    let (tangents, rest) = rest.split_at(2 * REGISTERS * LANES);
    let (sines, second) = rest.split_at(2 * REGISTERS * LANES);
    // Numbers of a matrix are sines and cosines; those of all turns that there are have a mean square of a half.
    let matrix = |numbers: &[f64], exponent: i32| {
        2.0 * numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64 * 4f64.powi(-exponent)
    };
    // A turn as a matrix, whose numbers have squares that are 2 together.
    let turn = |(tangent, sine): (&f64, &f64)| {
        let cosine = 1.0 + tangent * sine;
        (2.0 * cosine * cosine + sine * sine + (tangent * (1.0 + cosine)).powi(2)) / 2.0
    };
    let turned = tangents.iter().zip(sines).map(turn).sum::<f64>() / tangents.len() as f64;
    matrix(first, FIRST_EXPONENT) * turned * matrix(second, SECOND_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_less_than_a_quarter_and_rounding_changes_powers_by_little() {
        for register in 0..REGISTERS {
            for lane in 0..LANES {
                assert!(turns(register, lane, 0).abs().max(turns(register, lane, 1).abs()) < 0.2271);
            }
        }
        let power = channel_phase_power();
        assert!((power - 1.0).abs() < 3e-4, "{power}");
        assert_eq!(channel_phases(Sign::Negative).len(), 40 * LANES);
    }
}
