//! A solution checked against the atoms' tables, element by element, without anything that the search knows.

use std::collections::HashMap;

use crate::{Layout, Name, atoms};

use super::assemble::marked;
use super::role::element_bits;
use super::simulate::{bit_of, fragment, place, sources};
use super::solution::{Multiply, Operation, Product, Solution};
use super::{Chain, Operand, Step};

/// What is inconsistent in a solution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A bit of an array is at no place, or at several.
    #[error("{array}: bit {bit} is at {places} places")]
    Places {
        /// The array.
        array: String,
        /// The bit.
        bit: Name,
        /// Places.
        places: usize,
    },
    /// A conversion needs an element that its source does not hold.
    #[error("a conversion loses elements with bit {bit}")]
    Lost {
        /// The bit.
        bit: Name,
    },
    /// Two operands of an instruction disagree.
    #[error("{array}: instruction {call} combines elements that differ in bit {bit}")]
    Differ {
        /// The result.
        array: String,
        /// The instruction.
        call: usize,
        /// The bit.
        bit: Name,
    },
    /// A product is split where the chain does not say that it can be, or its other half is not where it should be.
    #[error("{array}: split at bit {bit}, which the chain does not allow or which is at another place")]
    Split {
        /// The result.
        array: String,
        /// The created bit.
        bit: Name,
    },
    /// An element of a result does not get each of its terms once, with the right sign.
    #[error("{array}: place {place} gets {terms} terms of {expected}, or one of them twice or with the wrong sign")]
    Terms {
        /// The result.
        array: String,
        /// The place.
        place: u64,
        /// Different terms that it gets as it should.
        terms: usize,
        /// Terms of its sum.
        expected: usize,
    },
}

/// Registers of an array.
pub(super) fn registers(layout: &Layout) -> usize {
    1 << layout.physical().iter().filter(|name| name.stem() == "r").count()
}

/// Each bit is the column of one physical bit.
fn places(name: &str, layout: &Layout, bits: &[Name]) -> Result<(), CheckError> {
    for &bit in bits {
        let column = layout.logical().position(&bit).map(|at| 1u64 << at);
        let found = (0..layout.physical().len()).filter(|&at| column == Some(layout.column(at))).count();
        if found != 1 {
            return Err(CheckError::Places { array: name.into(), bit, places: found });
        }
    }
    Ok(())
}

impl Product {
    /// Whether an element of the matrix is zero because of padding or of a carried bit.
    fn is_zero(&self, index: u64) -> bool {
        self.element(index, &|_, _| 1.0) == 0.0
    }

    fn check(&self, name: &str, from: &Layout, to: &Layout) -> Result<(), CheckError> {
        let elements = element_bits(&self.mma.c);
        let (of_data, of_matrix) = match self.operand {
            Operand::A => (&self.mma.a, &self.mma.b),
            Operand::B => (&self.mma.b, &self.mma.a),
        };
        // Terms of each place and how often each is added.
        let mut terms: HashMap<u64, HashMap<u64, i32>> = HashMap::new();
        let mut others: HashMap<u64, HashMap<u64, i32>> = HashMap::new();
        let halves = self.halves();
        let rows = self.mma.k as u64;
        for (number, call) in self.calls.iter().enumerate() {
            let data = fragment(of_data, |element, lane, register| {
                from.apply(place(elements, element, lane, call.data[register] as usize))
            });
            let matrix = fragment(of_matrix, |element, lane, register| {
                self.matrix.apply(place(elements, element, lane, call.matrix[register] as usize))
            });
            for register in 0..atoms::registers(&self.mma.c) {
                let Some(target) = call.result[register] else { continue };
                for (lane, element) in
                    (0..32).flat_map(|lane| (0..1usize << elements).map(move |element| (lane, element)))
                {
                    let index = self.mma.c.apply(atoms::place(&self.mma.c, element, register, lane));
                    let (i, k) = (index & 15, index >> 4);
                    let at = place(elements, element, lane, target as usize);
                    let result = to.apply(at);
                    let entry = terms.entry(at).or_default();
                    if !call.accumulates {
                        entry.clear();
                    }
                    for j in 0..rows {
                        let (of_matrix, of_data) = match self.operand {
                            Operand::A => (matrix[&(j + k * rows)], data[&(i | j << 4)]),
                            Operand::B => (matrix[&(i | j << 4)], data[&(j + k * rows)]),
                        };
                        if self.is_zero(of_matrix) {
                            continue;
                        }
                        let term = self.agree(from, to, of_data, of_matrix, result);
                        let differ = |bit| CheckError::Differ { array: name.into(), call: number, bit };
                        *entry.entry(term.map_err(differ)?).or_default() += 1;
                    }
                    if let Some(split) = self.split.filter(|_| halves.contains(&number)) {
                        let other = at | 1u64.checked_shl((elements + 5 + split.register) as u32).unwrap_or(0);
                        let created = to.logical().position(&split.creates).map_or(0, |at| 1u64 << at);
                        if other >= to.physical().size() || to.apply(other) != result ^ created {
                            return Err(CheckError::Split { array: name.into(), bit: split.creates });
                        }
                        // 2 S, of which Z is taken when that is known.
                        others.insert(other, entry.iter().map(|(&term, &times)| (term, 2 * times)).collect());
                    }
                }
            }
        }
        let mut negative = 0;
        if let Some(split) = self.split {
            for (other, mut half) in others {
                let from = other ^ 1u64 << (elements + 5 + split.register);
                for (&term, &times) in terms.get(&from).into_iter().flatten() {
                    *half.entry(term).or_default() -= times;
                }
                terms.insert(other, half);
            }
            negative = self.sums.iter().position(|bit| *bit == split.sums).map_or(0, |at| 1u64 << at);
        }
        let expected = 1usize << self.sums.len();
        for at in 0..to.physical().size() {
            let odd = self.split.is_some_and(|split| bit_of(to, to.apply(at), split.creates.as_str()) == Some(true));
            let sign = |term: u64| if odd && term & negative != 0 { -1 } else { 1 };
            let found = terms.get(&at).into_iter().flatten();
            let (right, wrong): (Vec<_>, Vec<_>) = found.partition(|(term, times)| **times == sign(**term));
            if right.len() != expected || !wrong.is_empty() {
                return Err(CheckError::Terms { array: name.into(), place: at, terms: right.len(), expected });
            }
        }
        Ok(())
    }

    /// Whether an element of the data, one of the matrix and one of the result belong together: the number of the term,
    /// or the bit in which they differ.
    fn agree(&self, from: &Layout, to: &Layout, data: u64, matrix: u64, result: u64) -> Result<u64, Name> {
        let of_matrix = |name: Name, mark: &str| {
            let exact = bit_of(&self.matrix, matrix, name.as_str());
            exact.or_else(|| marked(name, mark).ok().and_then(|name| bit_of(&self.matrix, matrix, name.as_str())))
        };
        let mut term = 0;
        for at in 0..from.logical().len() {
            let name = from.logical().get(at);
            let value = Some(data >> at & 1 == 1);
            let summed = self.sums.iter().position(|of| *of == name);
            if let Some(number) = summed {
                term |= (data >> at & 1) << number;
            } else if bit_of(to, result, name.as_str()) != value {
                return Err(name);
            }
            let in_matrix = summed.is_some() || self.depends.contains(&name) || self.carried.contains(&name);
            if in_matrix && of_matrix(name, "_in") != value {
                return Err(name);
            }
        }
        for name in self.creates.iter().chain(&self.carried) {
            let created = bit_of(to, result, name.as_str());
            let agrees = match self.split {
                // The matrix is that of a clear bit, and so is the result.
                Some(split) if split.creates == *name => of_matrix(*name, "_out").is_none() && created == Some(false),
                _ => of_matrix(*name, "_out") == created,
            };
            if !agrees {
                return Err(*name);
            }
        }
        Ok(term)
    }
}

impl Multiply {
    fn check(&self, name: &str, from: &Layout, to: &Layout) -> Result<(), CheckError> {
        let elements = from.physical().iter().filter(|name| name.stem() == "b").count();
        for at in 0..from.physical().size() {
            let index = from.apply(at);
            let register = self.register(index, from) as u64;
            let factor = self.factors.apply(at & ((1 << (elements + 5)) - 1) | register << (elements + 5));
            for bit in &self.depends {
                if bit_of(&self.factors, factor, bit.as_str()) != bit_of(from, index, bit.as_str()) {
                    return Err(CheckError::Differ { array: name.into(), call: 0, bit: *bit });
                }
            }
            for bit in from.logical().iter() {
                if bit_of(from, index, bit.as_str()) != bit_of(to, to.apply(at), bit.as_str()) {
                    return Err(CheckError::Differ { array: name.into(), call: 0, bit });
                }
            }
        }
        Ok(())
    }
}

impl Solution {
    /// Checks every step by brute force against the tables of the atoms: for each instruction, each row, column and
    /// term, that data, matrix and result have the same bits, and that each element of a result gets each term of
    /// its sum once.
    ///
    /// # Errors
    /// [`CheckError`], with the first thing that is wrong.
    pub fn check(&self, chain: &Chain) -> Result<(), CheckError> {
        let bits = chain.arrays().unwrap_or_default();
        for array in &self.arrays {
            let plain = array.name.trim_end_matches('\'');
            let number = if plain == chain.name {
                Some(0)
            } else {
                chain.steps.iter().position(|step| step.name() == plain).map(|at| at + 1)
            };
            if let Some(bits) = number.and_then(|number| bits.get(number)) {
                places(&array.name, &array.layout, bits)?;
            }
        }
        for (operation, pair) in self.operations.iter().zip(self.arrays.windows(2)) {
            let (from, to, name) = (&pair[0].layout, &pair[1].layout, pair[1].name.as_str());
            match operation {
                Operation::Convert(_) => sources(from, to).map(|_| ())?,
                Operation::Product(product) => {
                    let allowed = match product.step.and_then(|step| chain.steps.get(step)) {
                        Some(Step::Contract { split, .. }) => *split,
                        _ => None,
                    };
                    if let Some(split) = product.split.filter(|of| allowed != Some((of.sums, of.creates))) {
                        return Err(CheckError::Split { array: name.into(), bit: split.creates });
                    }
                    product.check(name, from, to)?;
                }
                Operation::Multiply(multiply) => multiply.check(name, from, to)?,
            }
        }
        Ok(())
    }
}
