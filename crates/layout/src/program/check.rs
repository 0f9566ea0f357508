//! The check of a program against the definition of the conversion.

use std::collections::HashSet;

use thiserror::Error;

use crate::{Layout, Name};

use super::{Places, Program, ProgramError};

/// How a program fails to convert between two layouts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// A place holds the wrong element.
    #[error(
        "lane {lane}, register {register}, part {part}: expected element {expected} ({expected_bits}), found {actual} ({actual_bits})"
    )]
    Element {
        /// The lane.
        lane: usize,
        /// The output.
        register: usize,
        /// The position inside the register, in elements.
        part: usize,
        /// The element that belongs there, numbered by the logical bits of the layout before.
        expected: u64,
        /// The element that is there.
        actual: u64,
        /// The logical bits that are set in it.
        expected_bits: String,
        /// The logical bits that are set in it.
        actual_bits: String,
    },
    /// A place must hold an element that is nowhere before.
    #[error(
        "lane {lane}, register {register}, part {part}: element {element} ({bits}) is in no place of the layout before"
    )]
    Unreached {
        /// The lane.
        lane: usize,
        /// The register.
        register: usize,
        /// The position inside the register, in elements.
        part: usize,
        /// The element.
        element: u64,
        /// The logical bits that are set in it.
        bits: String,
    },
    /// Another number of registers before.
    #[error("the program takes {actual} registers, the layout before has {expected}")]
    Inputs {
        /// Registers of the layout.
        expected: usize,
        /// Registers of the program.
        actual: usize,
    },
    /// Another number of registers afterwards.
    #[error("the program gives {actual} registers, the layout afterwards has {expected}")]
    Outputs {
        /// Registers of the layout.
        expected: usize,
        /// Registers of the program.
        actual: usize,
    },
    /// Elements of different widths.
    #[error("elements of {after} bits afterwards and {before} before")]
    Width {
        /// Bits of an element before.
        before: u32,
        /// Bits of an element afterwards.
        after: u32,
    },
    /// A physical bit that registers of a warp do not have.
    #[error("bit {bit} is none of b0 to b4, r0 to r15, t0 to t4")]
    Physical {
        /// The bit.
        bit: Name,
    },
    /// A logical bit that only one of the layouts has.
    #[error("bit {bit} is in one of the layouts only")]
    Logical {
        /// The bit.
        bit: Name,
    },
    /// The program cannot run.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Program {
    /// Runs the program on an array that `from` describes, and compares every place of every lane with what `to` says
    /// it must hold.
    ///
    /// Every element is filled with its own number; where that has more bits than an element, the program runs once for
    /// each part of them.
    ///
    /// # Errors
    /// [`Mismatch`], naming the first place that holds the wrong element.
    pub fn check(&self, from: &Layout, to: &Layout) -> Result<(), Mismatch> {
        let (before, after) = (Places::new(from, from)?, Places::new(to, from)?);
        if before.width() != after.width() {
            return Err(Mismatch::Width { before: before.width(), after: after.width() });
        }
        if self.inputs != before.registers() {
            return Err(Mismatch::Inputs { expected: before.registers(), actual: self.inputs });
        }
        if self.outputs.len() != after.registers() {
            return Err(Mismatch::Outputs { expected: after.registers(), actual: self.outputs.len() });
        }
        let width = before.width();
        let mask = u64::from(u32::MAX >> (32 - width));
        let bits = from.logical().len() as u32;
        let places = after.registers() * 32 * after.parts();
        let mut found = vec![0u64; places];
        for slice in 0..bits.div_ceil(width).max(1) {
            let result = self.run(&before.fill(|element| (element >> (slice * width)) as u32))?;
            for (place, found) in found.iter_mut().enumerate() {
                let (lane, register, part) = split(place, &after);
                let part = u64::from(result[register][lane] >> (width as usize * part)) & mask;
                *found |= part << (slice * width);
            }
        }
        let held: HashSet<u64> = (0..before.registers() * 32 * before.parts())
            .map(|place| split(place, &before))
            .map(|(lane, register, part)| before.element(lane, register, part))
            .collect();
        for (place, &actual) in found.iter().enumerate() {
            let (lane, register, part) = split(place, &after);
            let expected = after.element(lane, register, part);
            if !held.contains(&expected) {
                let bits = Places::name(from, expected);
                return Err(Mismatch::Unreached { lane, register, part, element: expected, bits });
            }
            if actual != expected {
                let [expected_bits, actual_bits] = [expected, actual].map(|element| Places::name(from, element));
                return Err(Mismatch::Element { lane, register, part, expected, actual, expected_bits, actual_bits });
            }
        }
        Ok(())
    }
}

/// Lane, register and part of a place.
fn split(place: usize, places: &Places) -> (usize, usize, usize) {
    (place / places.parts() % 32, place / places.parts() / 32, place % places.parts())
}
