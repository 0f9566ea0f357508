//! Layouts of an array in the registers of a warp: which element each part of each register of each lane holds.

use crate::{Layout, Name};

use super::Mismatch;

/// A layout of physical bits `b`, `r` and `t`, its elements numbered by the logical bits of another layout.
///
/// Bits that a layout does not have change nothing: a layout without `t4` holds the same in lanes 0 to 15 and 16 to 31.
#[derive(Debug, Clone)]
pub struct Places {
    part: Vec<u64>,
    register: Vec<u64>,
    lane: Vec<u64>,
    offset: u64,
}

impl Places {
    /// The places of `layout`, elements numbered by the logical bits of `numbering`.
    ///
    /// # Errors
    /// [`Mismatch::Physical`] for a bit other than `b0` to `b4`, `t0` to `t4` and `r0` to `r15`, [`Mismatch::Logical`]
    /// for one that only one of the layouts has.
    pub fn new(layout: &Layout, numbering: &Layout) -> Result<Self, Mismatch> {
        let only =
            |one: &Layout, other: &Layout| one.logical().iter().find(|bit| other.logical().position(bit).is_none());
        if let Some(bit) = only(layout, numbering).or(only(numbering, layout)) {
            return Err(Mismatch::Logical { bit });
        }
        let renumbered = |element: u64| {
            let bits = layout.logical().iter().enumerate().filter(|(at, _)| element >> at & 1 == 1);
            bits.filter_map(|(_, bit)| numbering.logical().position(&bit)).fold(0, |sum, at| sum | 1 << at)
        };
        let mut places =
            Self { part: Vec::new(), register: Vec::new(), lane: Vec::new(), offset: renumbered(layout.offset()) };
        for (at, bit) in layout.physical().iter().enumerate() {
            let (columns, most) = match bit.stem() {
                "b" => (&mut places.part, 5),
                "r" => (&mut places.register, 16),
                "t" => (&mut places.lane, 5),
                _ => return Err(Mismatch::Physical { bit }),
            };
            let number = bit.number().unwrap_or(0);
            if number >= most {
                return Err(Mismatch::Physical { bit });
            }
            columns.resize(columns.len().max(number + 1), 0);
            columns[number] = renumbered(layout.column(at));
        }
        Ok(places)
    }

    /// Registers that a lane holds.
    pub fn registers(&self) -> usize {
        1 << self.register.len()
    }

    /// Elements in a register.
    pub fn parts(&self) -> usize {
        1 << self.part.len()
    }

    /// Bits of an element.
    pub fn width(&self) -> u32 {
        32 >> self.part.len()
    }

    /// The element in a place.
    pub fn element(&self, lane: usize, register: usize, part: usize) -> u64 {
        let sum = |columns: &[u64], index: usize| {
            let set = columns.iter().enumerate().filter(|(bit, _)| index >> bit & 1 == 1);
            set.fold(0, |sum, (_, column)| sum ^ column)
        };
        self.offset ^ sum(&self.lane, lane) ^ sum(&self.register, register) ^ sum(&self.part, part)
    }

    /// What the registers of a warp hold where every element is `value` of its number, cut to the width of an element.
    pub fn fill(&self, value: impl Fn(u64) -> u32) -> Vec<super::Lanes> {
        let mask = u32::MAX >> (32 - self.width());
        let word = |lane: usize, register: usize| {
            (0..self.parts()).fold(0, |word, part| {
                let element = value(self.element(lane, register, part)) & mask;
                word | element << (self.width() as usize * part)
            })
        };
        (0..self.registers()).map(|register| std::array::from_fn(|lane| word(lane, register))).collect()
    }

    /// The name of an element: its logical bits that are set.
    pub(crate) fn name(numbering: &Layout, element: u64) -> String {
        let bits = numbering.logical().iter().enumerate().filter(|(at, _)| element >> at & 1 == 1);
        let names: Vec<String> = bits.map(|(_, bit): (_, Name)| bit.to_string()).collect();
        if names.is_empty() { "0".into() } else { names.join("^") }
    }
}
