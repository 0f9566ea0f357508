//! A conversion as a map of places: from which place of the registers before each place of the registers afterwards
//! gets its element.
//!
//! A place is a number: its lowest bits are the part inside the register, then five bits of the lane, then the
//! register.

use fringes_layout_core::{Layout, Matrix, Name, Space};

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};
use super::error::PlanError;

/// Most bits of a place.
pub(super) const MAX_PLACE: usize = 16;

/// Where each place gets its element from: place `p` from `offset ^ XOR of columns[i] over the bits i that are set in
/// p`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    /// The registers before.
    pub before: Shape,
    /// The registers afterwards.
    pub after: Shape,
    /// By bit of the place afterwards.
    pub columns: Vec<u32>,
    pub offset: u32,
    /// What each bit of the place before holds.
    pub names: Vec<Name>,
    /// The layouts without the bits that tell warps apart.
    pub layouts: [Layout; 2],
    /// Whether no two places afterwards hold the same element and every place before is wanted.
    pub bijective: bool,
    /// What each bit of the place holds, before and afterwards, and what place 0 does.
    held: [(Vec<u64>, u64); 2],
}

/// One layout's columns by bit of the place.
struct Side {
    shape: Shape,
    columns: Vec<u64>,
    layout: Layout,
    /// Bits that tell warps and blocks apart, and their columns.
    outer: Vec<(Name, u64)>,
}

impl Side {
    fn new(layout: &Layout) -> Result<Self, PlanError> {
        let (mut parts, mut lanes, mut registers) = (Vec::new(), vec![0; LANE_BITS], Vec::new());
        let (mut outer, mut inner, mut kept) = (Vec::new(), Space::new(), Vec::new());
        for (at, bit) in layout.physical().iter().enumerate() {
            let number = bit.number().unwrap_or(0);
            let (columns, most) = match bit.stem() {
                "b" => (&mut parts, 2),
                "t" => (&mut lanes, LANE_BITS),
                "r" => (&mut registers, MAX_PLACE),
                "w" | "k" => {
                    outer.push((bit, layout.column(at)));
                    continue;
                }
                _ => return Err(PlanError::Place { bit }),
            };
            if number >= most {
                return Err(PlanError::Place { bit });
            }
            columns.resize(columns.len().max(number + 1), 0);
            columns[number] = layout.column(at);
            inner = inner.with(bit)?;
            kept.push(layout.column(at));
        }
        let shape = Shape { parts: parts.len(), registers: registers.len() };
        if shape.bits() > MAX_PLACE {
            return Err(PlanError::TooMany { actual: shape.bits(), limit: MAX_PLACE });
        }
        let columns = [parts, lanes, registers].concat();
        let layout = Layout::from_columns(inner, *layout.logical(), &kept)?.with_offset(layout.offset())?;
        Ok(Self { shape, columns, layout, outer })
    }
}

impl Model {
    pub(super) fn new(from: &Layout, to: &Layout) -> Result<Self, PlanError> {
        // The same numbering of the logical bits.
        for bit in to.logical().iter() {
            if from.logical().position(&bit).is_none() {
                return Err(PlanError::NotHeld { bit });
            }
        }
        let mut ordered = *to.logical();
        for bit in from.logical().iter() {
            if ordered.position(&bit).is_none() {
                ordered = ordered.with(bit)?;
            }
        }
        let numbered =
            Layout::from_columns(*to.physical(), ordered, to.matrix().columns())?.with_offset(to.offset())?;
        let to = numbered.with_logical_order(from.logical())?;
        let (before, after) = (Side::new(from)?, Side::new(&to)?);
        if before.shape.parts != after.shape.parts {
            return Err(PlanError::Parts { actual: after.shape.parts, expected: before.shape.parts });
        }
        let name = |vector: u64| {
            let bit = vector.trailing_zeros() as usize;
            if bit < from.logical().len() { Some(from.logical().get(bit)) } else { None }
        };
        // Warps keep what they hold.
        for (bit, column) in before.outer.iter().chain(&after.outer) {
            let of = |side: &Side| side.outer.iter().find(|each| each.0 == *bit).map_or(0, |each| each.1);
            if of(&before) != of(&after) {
                return Err(PlanError::Warps { bit: name(of(&before) ^ of(&after)).or(name(*column)).unwrap_or(*bit) });
            }
        }
        let matrix = Matrix::from_columns(&before.columns)?;
        let kernel = matrix.kernel();
        let source = |wanted: u64, at: usize| -> Result<u32, PlanError> {
            let Some(first) = matrix.solve(wanted) else {
                let bit = name(matrix.reduce().reduce(wanted).0);
                let held = bit.and_then(|bit| {
                    let index = from.logical().position(&bit)?;
                    before.outer.iter().any(|each| each.1 >> index & 1 == 1).then_some(PlanError::Warps { bit })
                });
                return Err(match (held, bit) {
                    (Some(error), _) => error,
                    (None, Some(bit)) => PlanError::NotHeld { bit },
                    (None, None) => PlanError::NoWay,
                });
            };
            // Of several places with the element, one that moves little: the same lane bit, then the same part, then
            // few bits.
            let lanes = |place: u64| place >> before.shape.parts & 0x1f;
            let own = lanes(if at < before.shape.first_register() { 1 << at } else { 0 });
            let part = if at < before.shape.parts { 1u64 << at } else { 0 };
            let parts = (1u64 << before.shape.parts) - 1;
            let places = (0..1u64 << kernel.width().min(10)).map(|choice| first ^ kernel.apply(choice));
            let best = places.min_by_key(|&place| {
                // A bit that changes nothing before stands for one that changes nothing afterwards, once.
                let empty = wanted == 0 && place != 0 && place != 1 << at;
                (lanes(place) != own, place & parts != part, empty, place.count_ones(), place)
            });
            Ok(best.unwrap_or(first) as u32)
        };
        let columns = after.columns.iter().enumerate().map(|(at, &column)| source(column, at));
        let columns = columns.collect::<Result<Vec<u32>, _>>()?;
        let offset = source(before.layout.offset() ^ after.layout.offset(), MAX_PLACE + 16)?;
        let names = before.columns.iter().enumerate().map(|(at, &column)| {
            let fallback = || Name::numbered("bit", at).ok();
            name(column).or_else(fallback)
        });
        let names = names.collect::<Option<Vec<Name>>>().ok_or(PlanError::NoWay)?;
        let square: Vec<u64> = columns.iter().map(|&column| u64::from(column)).collect();
        let bijective = before.shape == after.shape && Matrix::from_columns(&square)?.inverse().is_some();
        Ok(Self {
            before: before.shape,
            after: after.shape,
            columns,
            offset,
            names,
            held: [(before.columns, before.layout.offset()), (after.columns, after.layout.offset())],
            layouts: [before.layout, after.layout],
            bijective,
        })
    }

    /// The element in a place, before (0) or afterwards (1).
    pub(super) fn elements(&self, side: usize) -> impl Fn(usize) -> u64 + '_ {
        let (columns, offset) = &self.held[side];
        move |place| {
            let set = columns.iter().enumerate().filter(|(bit, _)| place >> bit & 1 == 1);
            set.fold(*offset, |sum, (_, column)| sum ^ column)
        }
    }

    /// The place from which a place gets its element.
    pub(super) fn source(&self, place: usize) -> usize {
        let set = self.columns.iter().enumerate().filter(|(bit, _)| place >> bit & 1 == 1);
        set.fold(self.offset, |sum, (_, column)| sum ^ column) as usize
    }

    /// The arrangements before and afterwards, if the conversion is a permutation of bits (but for the offset).
    pub(super) fn arrangements(&self) -> Option<(Arrangement, Arrangement)> {
        if !self.bijective || self.columns.iter().any(|column| column.count_ones() != 1) {
            return None;
        }
        let arrangement = |bits: &[Bit]| {
            let (parts, rest) = bits.split_at(self.before.parts);
            let lanes = std::array::from_fn(|lane| rest[lane]);
            Arrangement::new(parts, lanes, &rest[LANE_BITS..])
        };
        let own: Vec<Bit> = (0..self.columns.len() as Bit).collect();
        let held: Vec<Bit> = self.columns.iter().map(|column| column.trailing_zeros() as Bit).collect();
        Some((arrangement(&own), arrangement(&held)))
    }
}
