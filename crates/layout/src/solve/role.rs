//! Atoms as the search sees them: which places hold what is summed, what is kept and what is created.

use crate::Layout;
use crate::atoms::mma::Mma;

use super::{Atom, SolveError};

/// Which operand of the product the data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The first, A; the matrix is B.
    A,
    /// The second, B; the matrix is A.
    B,
}

/// A place outside the registers' numbers: `b` bits first, then the five lane bits.
pub(super) type Place = usize;

/// An atom with the data as one of its operands.
#[derive(Debug, Clone)]
pub(super) struct Role {
    pub(super) mma: &'static Mma,
    pub(super) cycles: f64,
    pub(super) operand: Operand,
    /// Places of the data that are summed over.
    pub(super) contract: Vec<Place>,
    /// Register bits of a fragment that are summed over.
    pub(super) contract_slots: usize,
    /// Places of the data that are kept, and where they are in the result; none is a register bit.
    pub(super) batch: Vec<(Place, Option<Place>)>,
    /// Register bits of a fragment that are kept as such.
    pub(super) batch_slots: usize,
    /// Places of the result that are created.
    pub(super) new: Vec<Place>,
    /// Register bits of the result's fragment that are created.
    pub(super) new_slots: usize,
    /// Registers of the matrix's fragment, as a power of two.
    pub(super) matrix_bits: usize,
}

/// Number of `b` bits of a fragment.
pub(super) fn element_bits(layout: &Layout) -> usize {
    layout.physical().iter().filter(|name| name.stem() == "b").count()
}

/// The places of a layout: place (or none for a register) and the stem and number of what is there.
fn places(layout: &Layout) -> Vec<(Option<Place>, crate::Name)> {
    let elements = element_bits(layout);
    (0..layout.physical().len())
        .map(|bit| {
            let name = layout.physical().get(bit);
            let number = name.number().unwrap_or(0);
            let place = match name.stem() {
                "b" => Some(number),
                "t" => Some(elements + number),
                _ => None,
            };
            (place, layout.logical().get(layout.column(bit).trailing_zeros() as usize))
        })
        .collect()
}

impl Role {
    /// An atom with the data as this operand, or why that cannot be.
    pub(super) fn new(atom: &Atom, operand: Operand) -> Result<Self, SolveError> {
        let mma = atom.mma;
        let (data, matrix) = match operand {
            Operand::A => (&mma.a, &mma.b),
            Operand::B => (&mma.b, &mma.a),
        };
        let refuse = |reason: String| Err(SolveError::Atom { reason });
        if element_bits(data) != element_bits(&mma.c) {
            return refuse(format!("{} has results of another width than its factors", mma.name));
        }
        let result = places(&mma.c);
        let mut role = Self {
            mma,
            cycles: atom.cycles,
            operand,
            contract: Vec::new(),
            contract_slots: 0,
            batch: Vec::new(),
            batch_slots: 0,
            new: Vec::new(),
            new_slots: 0,
            matrix_bits: places(matrix).iter().filter(|(place, _)| place.is_none()).count(),
        };
        let mut kept = Vec::new();
        for (place, bit) in places(data) {
            if bit.stem() == "j" {
                match place {
                    Some(place) => role.contract.push(place),
                    None => role.contract_slots += 1,
                }
                continue;
            }
            let Some(&(out, _)) = result.iter().find(|(_, of)| *of == bit) else {
                return refuse(format!("{} loses bit {bit}", mma.name));
            };
            match (place, out) {
                (Some(place), out) => role.batch.push((place, out)),
                (None, None) => role.batch_slots += 1,
                (None, Some(_)) => return refuse(format!("{} moves register bit {bit} to a lane", mma.name)),
            }
            kept.push(bit);
        }
        for (place, bit) in result {
            if !kept.contains(&bit) {
                match place {
                    Some(place) => role.new.push(place),
                    None => role.new_slots += 1,
                }
            }
        }
        Ok(role)
    }
}
