//! A solution executed on register arrays of 32 lanes, in f64.

use std::collections::HashMap;

use crate::{Layout, Name, atoms};

use super::role::element_bits;
use super::solution::{Multiply, Operation, Product, Solution};
use super::{CheckError, Operand};

/// The elements of a step's matrix or factors: step, and the value of each index bit by name (`ReIm_in` and `ReIm_out`
/// for bits that are summed and created).
pub type Values<'a> = dyn Fn(usize, &dyn Fn(&str) -> bool) -> f64 + 'a;

/// The elements of an array, by the value of each index bit.
pub type Elements<'a> = dyn Fn(&dyn Fn(&str) -> bool) -> f64 + 'a;

/// The place of an element in an array of this module: `b` bits, lanes, registers.
pub(super) fn place(elements: usize, element: usize, lane: usize, register: usize) -> u64 {
    (element | lane << elements | register << (elements + 5)) as u64
}

/// Whether the bit of this name is set in an index.
pub(super) fn bit_of(layout: &Layout, index: u64, name: &str) -> Option<bool> {
    let name = Name::new(name).ok()?;
    layout.logical().position(&name).map(|at| index >> at & 1 == 1)
}

/// The value of each (row, column) of a fragment: what its places hold.
pub(super) fn fragment<T: Copy>(layout: &Layout, mut read: impl FnMut(usize, usize, usize) -> T) -> HashMap<u64, T> {
    let mut values = HashMap::new();
    for register in 0..atoms::registers(layout) {
        for lane in 0..32 {
            for element in 0..1usize << element_bits(layout) {
                let index = layout.apply(atoms::place(layout, element, register, lane));
                values.insert(index, read(element, lane, register));
            }
        }
    }
    values
}

impl Product {
    /// The element of the matrix with this index in the matrix's layout.
    pub(super) fn element(&self, index: u64, values: &Values<'_>) -> f64 {
        let bit = |name: &str| bit_of(&self.matrix, index, name);
        for at in 0..self.matrix.logical().len() {
            if self.matrix.logical().get(at).stem() == "pad" && index >> at & 1 == 1 {
                return 0.0;
            }
        }
        for name in &self.carried {
            let marked = |mark| super::assemble::marked(*name, mark).ok().and_then(|name| bit(name.as_str()));
            if marked("_in") != marked("_out") {
                return 0.0;
            }
        }
        let Some(step) = self.step else { return 1.0 };
        values(step, &|name: &str| {
            bit(name).unwrap_or_else(|| {
                let entered = Name::new(name).ok().and_then(|name| super::assemble::marked(name, "_in").ok());
                entered.and_then(|name| bit(name.as_str())).unwrap_or(false)
            })
        })
    }

    fn run(&self, data: &[f64], registers: usize, values: &Values<'_>) -> Vec<f64> {
        let elements = element_bits(&self.mma.c);
        let mut result = vec![0.0; registers << (elements + 5)];
        let (of_data, of_matrix) = match self.operand {
            Operand::A => (&self.mma.a, &self.mma.b),
            Operand::B => (&self.mma.b, &self.mma.a),
        };
        let rows = self.mma.k as u64;
        let halves = self.halves();
        let mut sums = HashMap::new();
        for (number, call) in self.calls.iter().enumerate() {
            let data = fragment(of_data, |element, lane, register| {
                data[place(elements, element, lane, call.data[register] as usize) as usize]
            });
            let matrix = fragment(of_matrix, |element, lane, register| {
                let at = place(elements, element, lane, call.matrix[register] as usize);
                self.element(self.matrix.apply(at), values)
            });
            let (a, b) = match self.operand {
                Operand::A => (&data, &matrix),
                Operand::B => (&matrix, &data),
            };
            for register in 0..atoms::registers(&self.mma.c) {
                let Some(to) = call.result[register] else { continue };
                for lane in 0..32 {
                    for element in 0..1usize << elements {
                        let index = self.mma.c.apply(atoms::place(&self.mma.c, element, register, lane));
                        let (i, k) = (index & 15, index >> 4);
                        let sum: f64 = (0..rows).map(|j| a[&(i | j << 4)] * b[&(j + k * rows)]).sum();
                        let cell = &mut result[place(elements, element, lane, to as usize) as usize];
                        *cell = if call.accumulates { *cell + sum } else { sum };
                    }
                }
            }
            if let Some(split) = self.split.filter(|_| halves.contains(&number)) {
                // The half of the terms, S, is kept.
                for to in call.result.iter().flatten().map(|&to| to as usize) {
                    let cells = (0..1usize << (elements + 5)).map(|inside| result[inside | to << (elements + 5)]);
                    sums.insert(to | 1 << split.register, (to, cells.collect::<Vec<f64>>()));
                }
            }
        }
        for (other, (to, sums)) in sums {
            for (inside, sum) in sums.into_iter().enumerate() {
                let all = result[inside | to << (elements + 5)];
                if let Some(cell) = result.get_mut(inside | other << (elements + 5)) {
                    *cell = 2.0 * sum - all;
                }
            }
        }
        result
    }

    /// The calls after which half of the terms of their results are summed.
    pub(super) fn halves(&self) -> Vec<usize> {
        let mut begins: Vec<usize> = (0..self.calls.len()).filter(|&at| !self.calls[at].accumulates).collect();
        begins.push(self.calls.len());
        begins
            .windows(2)
            .map(|pair| pair[0] + (pair[1] - pair[0]) / 2)
            .filter_map(|after| after.checked_sub(1))
            .collect()
    }
}

impl Multiply {
    /// The register of the factors that belongs to an element of the data, and whether the element is an imaginary
    /// part.
    pub(super) fn register(&self, index: u64, data: &Layout) -> usize {
        let mut register = 0;
        for at in 0..self.factors.physical().len() {
            let physical = self.factors.physical().get(at);
            let column = self.factors.column(at);
            if physical.stem() == "r" && column != 0 {
                let name = self.factors.logical().get(column.trailing_zeros() as usize);
                if Some(name) != self.complex && bit_of(data, index, name.as_str()) == Some(true) {
                    register |= 1 << physical.number().unwrap_or(0);
                }
            }
        }
        register
    }

    /// The register bit that tells real from imaginary factors.
    fn part(&self) -> usize {
        self.complex.map_or(0, |bit| {
            let column = self.factors.logical().position(&bit).map_or(0, |at| 1u64 << at);
            let physical = (0..self.factors.physical().len()).find(|&at| self.factors.column(at) == column);
            physical.map_or(0, |at| 1 << self.factors.physical().get(at).number().unwrap_or(0))
        })
    }

    fn run(&self, data: &[f64], layout: &Layout, values: &Values<'_>) -> Vec<f64> {
        let elements = layout.physical().iter().filter(|name| name.stem() == "b").count();
        let partner = self.complex.and_then(|bit| {
            let column = layout.logical().position(&bit).map(|at| 1u64 << at)?;
            (0..layout.physical().len()).find(|&at| layout.column(at) == column).map(|at| 1usize << at)
        });
        let factor = |at: usize, register: usize| {
            let inside = at & ((1 << (elements + 5)) - 1);
            let index = self.factors.apply((inside | register << (elements + 5)) as u64);
            values(self.step, &|name: &str| bit_of(&self.factors, index, name).unwrap_or(false))
        };
        (0..data.len())
            .map(|at| {
                let index = layout.apply(at as u64);
                let register = self.register(index, layout);
                let Some((partner, bit)) = partner.zip(self.complex) else { return data[at] * factor(at, register) };
                let (re, im) = (factor(at, register), factor(at, register | self.part()));
                let imaginary = bit_of(layout, index, bit.as_str()) == Some(true);
                data[at] * re + data[at ^ partner] * if imaginary { im } else { -im }
            })
            .collect()
    }
}

/// For each place of one layout a place of another that holds the same element.
pub(super) fn sources(from: &Layout, to: &Layout) -> Result<Vec<usize>, CheckError> {
    let mut places = HashMap::new();
    for at in 0..from.physical().size() {
        places.entry(from.apply(at)).or_insert(at as usize);
    }
    (0..to.physical().size())
        .map(|at| {
            let index = to.apply(at);
            let mut wanted = 0u64;
            for bit in (0..to.logical().len()).filter(|&bit| index >> bit & 1 == 1) {
                let name = to.logical().get(bit);
                let Some(position) = from.logical().position(&name) else {
                    return Err(CheckError::Lost { bit: name });
                };
                wanted |= 1 << position;
            }
            places.get(&wanted).copied().ok_or(CheckError::Lost { bit: to.logical().get(0) })
        })
        .collect()
}

impl Solution {
    /// The result of the chain, computed by the solution's instructions: fragments are taken from and put into the
    /// registers of 32 lanes as the atoms' tables say, and conversions move each element to the place that its
    /// layout says.
    ///
    /// `input` gives the elements of the first array and `values` those of matrices and factors, both by the values of
    /// index bits. The result is in the order of the last array's places.
    ///
    /// # Errors
    /// [`CheckError::Lost`] if a conversion needs what is not there.
    pub fn simulate(&self, input: &Elements<'_>, values: &Values<'_>) -> Result<Vec<f64>, CheckError> {
        let Some(first) = self.arrays.first() else { return Ok(Vec::new()) };
        let mut data: Vec<f64> = (0..first.layout.physical().size())
            .map(|at| {
                let index = first.layout.apply(at);
                input(&|name: &str| bit_of(&first.layout, index, name).unwrap_or(false))
            })
            .collect();
        for (operation, pair) in self.operations.iter().zip(self.arrays.windows(2)) {
            let (from, to) = (&pair[0].layout, &pair[1].layout);
            data = match operation {
                Operation::Convert(_) => sources(from, to)?.into_iter().map(|at| data[at]).collect(),
                Operation::Product(product) => product.run(&data, super::verify::registers(to), values),
                Operation::Multiply(multiply) => multiply.run(&data, from, values),
            };
        }
        Ok(data)
    }
}
