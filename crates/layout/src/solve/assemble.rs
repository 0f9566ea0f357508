//! From a path of the search to arrays, matrices and instructions.

use crate::{Layout, Name};

use super::product::{Choice, NONE};
use super::role::{Operand, Role};
use super::solution::{Call, Product, Split};
use super::{SolveError, role};

/// An arrangement with names and with an order of the registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Concrete {
    /// The bit at each place; none where both halves hold the same.
    pub(super) places: Vec<Option<Name>>,
    pub(super) registers: Vec<Name>,
}

/// Physical places as a text, and then what they hold.
fn layout(elements: usize, places: &[Option<Name>], registers: &[Option<Name>]) -> Result<Layout, SolveError> {
    let mut text = String::new();
    let mut group = |stem: &str, bits: &[Option<Name>]| {
        if !bits.is_empty() {
            for number in 0..bits.len() {
                text += &format!("{stem}{number} ");
            }
            text += "<->";
            for bit in bits {
                text += &format!(" {}", bit.as_ref().map_or("0", Name::as_str));
            }
            text += "\n";
        }
    };
    group("b", &places[..elements]);
    group("t", &places[elements..]);
    group("r", registers);
    Ok(Layout::parse(&text)?)
}

impl Concrete {
    pub(super) fn layout(&self) -> Result<Layout, SolveError> {
        let registers: Vec<_> = self.registers.iter().map(|name| Some(*name)).collect();
        layout(self.places.len() - 5, &self.places, &registers)
    }

    /// Another arrangement of the same bits, with the order of registers kept as far as it can be.
    pub(super) fn rearranged(&self, places: Vec<Option<Name>>, bits: &[Name]) -> Self {
        let free = |bit: &Name| bits.contains(bit) && !places.contains(&Some(*bit));
        let mut left: Vec<Name> =
            bits.iter().copied().filter(|bit| free(bit) && !self.registers.contains(bit)).collect();
        left.reverse();
        let mut registers = Vec::new();
        for bit in &self.registers {
            if free(bit) {
                registers.push(*bit);
            } else if let Some(bit) = left.pop() {
                registers.push(bit);
            }
        }
        registers.extend(left.into_iter().rev());
        Self { places, registers }
    }
}

/// A bit of a product: of the array before (kept ones too), or one that the product creates or carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bit {
    Before(Name),
    After(Name),
}

/// `n2` and `_in` to `n_in2`.
pub(super) fn marked(name: Name, mark: &str) -> Result<Name, SolveError> {
    let number = name.number().map_or(String::new(), |number| number.to_string());
    Ok(Name::new(&format!("{}{mark}{number}", name.stem()))?)
}

/// A product to be assembled.
pub(super) struct Assembly<'a> {
    pub(super) role: &'a Role,
    pub(super) choice: &'a Choice,
    pub(super) step: Option<usize>,
    pub(super) before: &'a Concrete,
    pub(super) after: &'a Concrete,
    /// Names by the numbers that the choice uses.
    pub(super) names_before: &'a [Name],
    pub(super) names_after: &'a [Name],
    pub(super) sums: &'a [Name],
    pub(super) creates: &'a [Name],
    pub(super) depends: &'a [Name],
}

impl Assembly<'_> {
    fn name(list: &[Name], number: u8) -> Option<Name> {
        if number == NONE { None } else { list.get(number as usize).copied() }
    }

    /// What each row and column bit of the product is.
    fn bits(&self) -> Vec<(Name, Option<Bit>)> {
        let Self { role, choice, .. } = self;
        let data = if role.operand == Operand::A { &role.mma.a } else { &role.mma.b };
        let mut found: Vec<(Name, Option<Bit>)> = Vec::new();
        let (mut slots, mut batch) = (choice.slots.iter(), choice.batch.iter());
        let places = |layout: &Layout| {
            (0..layout.physical().len())
                .map(|at| {
                    let physical = layout.physical().get(at);
                    let place = super::layers::place_of(physical, role::element_bits(layout)).ok().flatten();
                    (place, layout.logical().get(layout.column(at).trailing_zeros() as usize))
                })
                .collect::<Vec<_>>()
        };
        for (place, logical) in places(data) {
            let bit = match place {
                Some(place) => self.before.places[place],
                None if logical.stem() == "j" => slots.next().and_then(|&number| Self::name(self.names_before, number)),
                None => batch.next().and_then(|&number| Self::name(self.names_before, number)),
            };
            found.push((logical, bit.map(Bit::Before)));
        }
        let mut slots = choice.new[role.new.len().min(choice.new.len())..].iter();
        for (place, logical) in places(&role.mma.c) {
            if found.iter().all(|(of, _)| *of != logical) {
                let bit = match place {
                    Some(place) => self.after.places[place],
                    None => slots.next().and_then(|&number| Self::name(self.names_after, number)),
                };
                found.push((logical, bit.map(Bit::After)));
            }
        }
        found
    }

    /// Layout of the matrix, and the instructions.
    pub(super) fn product(&self) -> Result<Product, SolveError> {
        let Self { role, choice, .. } = self;
        let bits = self.bits();
        let of = |logical: Name| bits.iter().find(|(of, _)| *of == logical).and_then(|(_, bit)| *bit);
        let carried: Vec<Name> =
            super::state::members(choice.carried).filter_map(|number| Self::name(self.names_before, number)).collect();
        let new = |bit: &Name| self.creates.contains(bit) || carried.contains(bit);
        // Bits that number the calls.
        let used = |bit: Bit| bits.iter().any(|(_, of)| *of == Some(bit));
        let named = |list, number| Self::name(list, number);
        let split = choice
            .split
            .and_then(|(summed, created)| Some((named(self.names_before, summed)?, named(self.names_after, created)?)));
        let mut accumulated: Vec<Bit> = super::state::members(choice.accumulated)
            .filter_map(|number| Self::name(self.names_before, number).map(Bit::Before))
            .collect();
        // The terms with the split's bit clear come first.
        accumulated.sort_by_key(|bit| split.is_some_and(|(summed, _)| *bit == Bit::Before(summed)));
        let repeated: Vec<Bit> = self
            .after
            .registers
            .iter()
            .filter(|bit| new(bit) && split.is_none_or(|(_, created)| **bit != created))
            .map(|bit| Bit::After(*bit))
            .filter(|bit| !used(*bit))
            .collect();
        let kept: Vec<Bit> = self
            .before
            .registers
            .iter()
            .map(|bit| Bit::Before(*bit))
            .filter(|bit| !used(*bit) && !accumulated.contains(bit))
            .collect();
        let data = if role.operand == Operand::A { &role.mma.a } else { &role.mma.b };
        let matrix = if role.operand == Operand::A { &role.mma.b } else { &role.mma.a };
        let register_bits = |layout: &Layout| -> Vec<(Name, Option<Bit>)> {
            (0..layout.physical().len())
                .filter(|&at| layout.physical().get(at).stem() == "r")
                .map(|at| layout.logical().get(layout.column(at).trailing_zeros() as usize))
                .map(|logical| (logical, of(logical)))
                .collect()
        };
        // The matrix: its fragment, then one register bit for each further bit on which it depends.
        let depends = |bit: &Bit| matches!(bit, Bit::Before(name) if self.depends.contains(name));
        let further: Vec<Bit> =
            accumulated.iter().chain(&repeated).chain(kept.iter().filter(|bit| depends(bit))).copied().collect();
        let label = |logical: Name, bit: Option<Bit>| -> Result<Option<Name>, SolveError> {
            Ok(match bit {
                None if logical.stem() == "j" => Some(Name::numbered("pad", logical.number().unwrap_or(0))?),
                None => None,
                Some(Bit::Before(name)) if new(&name) => Some(marked(name, "_in")?),
                Some(Bit::After(name)) if self.sums.contains(&name) || carried.contains(&name) => {
                    Some(marked(name, "_out")?)
                }
                Some(Bit::Before(name) | Bit::After(name)) => Some(name),
            })
        };
        let elements = role::element_bits(matrix);
        let mut places = vec![None; elements + 5];
        let mut registers = Vec::new();
        for at in 0..matrix.physical().len() {
            let logical = matrix.logical().get(matrix.column(at).trailing_zeros() as usize);
            let label = label(logical, of(logical))?;
            match super::layers::place_of(matrix.physical().get(at), elements).ok().flatten() {
                Some(place) => places[place] = label,
                None => registers.push(label),
            }
        }
        for bit in &further {
            registers.push(label(self.names_before[0], Some(*bit))?);
        }
        let matrix_layout = layout(elements, &places, &registers)?;
        let index = |order: &[Name], env: &[(Bit, bool)], find: &dyn Fn(Name) -> Bit| {
            order.iter().enumerate().fold(0u32, |index, (at, name)| {
                let bit = find(*name);
                index | u32::from(env.iter().any(|(of, value)| *of == bit && *value)) << at
            })
        };
        let split = split.and_then(|(sums, creates)| {
            let register = self.after.registers.iter().position(|bit| *bit == creates)?;
            Some(Split { sums, creates, register })
        });
        let as_before = |name: Name| Bit::Before(name);
        let as_after = |name: Name| if new(&name) { Bit::After(name) } else { Bit::Before(name) };
        let data_bits = register_bits(data);
        let result_bits = register_bits(&role.mma.c);
        let matrix_bits = register_bits(matrix);
        let mut calls = Vec::new();
        let outer: Vec<Bit> = kept.iter().chain(&repeated).copied().collect();
        for at in 0..1u32 << outer.len() {
            for term in 0..1u32 << accumulated.len() {
                let mut env: Vec<(Bit, bool)> =
                    outer.iter().enumerate().map(|(bit, of)| (*of, at >> bit & 1 == 1)).collect();
                env.extend(accumulated.iter().enumerate().map(|(bit, of)| (*of, term >> bit & 1 == 1)));
                let with = |fragment: &[(Name, Option<Bit>)], pattern: u32| {
                    let mut env = env.clone();
                    let bits = fragment.iter().enumerate();
                    env.extend(bits.filter_map(|(bit, (_, of))| of.map(|of| (of, pattern >> bit & 1 == 1))));
                    env
                };
                let patterns = |fragment: &[(Name, Option<Bit>)]| 0..1u32 << fragment.len();
                let empty = |fragment: &[(Name, Option<Bit>)], pattern: u32| {
                    fragment.iter().enumerate().any(|(bit, (_, of))| of.is_none() && pattern >> bit & 1 == 1)
                };
                calls.push(Call {
                    matrix: patterns(&matrix_bits)
                        .map(|pattern| {
                            let further = further.iter().enumerate().fold(0u32, |index, (bit, of)| {
                                index | u32::from(env.iter().any(|(is, value)| is == of && *value)) << bit
                            });
                            pattern | further << matrix_bits.len()
                        })
                        .collect(),
                    data: patterns(&data_bits)
                        .map(|pattern| index(&self.before.registers, &with(&data_bits, pattern), &as_before))
                        .collect(),
                    result: patterns(&result_bits)
                        .map(|pattern| {
                            (!empty(&result_bits, pattern))
                                .then(|| index(&self.after.registers, &with(&result_bits, pattern), &as_after))
                        })
                        .collect(),
                    accumulates: term > 0,
                });
            }
        }
        Ok(Product {
            step: self.step,
            mma: role.mma,
            cycles: role.cycles,
            operand: role.operand,
            matrix: matrix_layout,
            carried,
            sums: self.sums.to_vec(),
            creates: self.creates.to_vec(),
            depends: self.depends.to_vec(),
            calls,
            split,
            half2: choice.half2,
            registers: choice.registers,
            unpack: choice.unpack,
        })
    }
}
