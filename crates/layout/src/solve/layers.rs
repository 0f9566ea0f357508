//! A chain in the form that the search works on: one layer per array, bits as numbers.

use crate::{Layout, Name};

use super::moves::Moves;
use super::product::Contraction;
use super::role::{Operand, Role};
use super::state::{Codec, PLACES, Tuple};
use super::{Boundary, Problem, SolveError, Step, Where};
use crate::plan::LANE_BITS;

/// Most bits of an array that the search holds.
pub(super) const MOST_BITS: usize = 13;

/// One array.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) bits: Vec<Name>,
    pub(super) codec: Codec,
    /// What must hold before conversions, and after.
    pub(super) before: Vec<Pin>,
    pub(super) after: Vec<Pin>,
}

/// What must hold of an arrangement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pin {
    /// A place holds this bit, or no bit.
    Holds(usize, Option<u8>),
    /// A bit is at a place of this kind.
    Is(u8, Where),
    /// One of these lists holds.
    Any(Vec<Vec<Pin>>),
}

/// What happens between two arrays.
#[derive(Debug, Clone)]
pub(super) enum Link {
    Contract(Contraction),
    Multiply { depends: u32, complex: Option<u8> },
}

/// A problem, prepared.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) layers: Vec<Layer>,
    pub(super) links: Vec<Link>,
    pub(super) roles: Vec<Role>,
    pub(super) moves: Moves,
    pub(super) elements: usize,
}

impl Layer {
    pub(super) fn number(&self, bit: Name) -> Option<u8> {
        self.bits.iter().position(|of| *of == bit).map(|at| at as u8)
    }

    /// Whether the places hold what they must.
    pub(super) fn fits(&self, pins: &[Pin], tuple: &Tuple) -> bool {
        let places = &tuple[..self.codec.places];
        let elements = places.len() - LANE_BITS;
        pins.iter().all(|pin| match pin {
            Pin::Holds(place, Some(bit)) => places[*place] == *bit,
            Pin::Holds(place, None) => places[*place] as usize >= self.bits.len(),
            Pin::Is(bit, Where::Inside) => places[..elements].contains(bit),
            Pin::Is(bit, Where::Lane) => places[elements..].contains(bit),
            Pin::Is(bit, Where::Register) => !places.contains(bit),
            Pin::Any(lists) => lists.iter().any(|pins| self.fits(pins, tuple)),
        })
    }

    /// The number of an arrangement; places that hold nothing are told apart by their order only.
    #[inline]
    pub(super) fn rank(&self, tuple: &Tuple) -> usize {
        if self.codec.symbols == self.bits.len() {
            return self.codec.rank(tuple);
        }
        self.codec.rank(&self.canonical(tuple))
    }

    /// The arrangement with places that hold nothing in order.
    pub(super) fn canonical(&self, tuple: &Tuple) -> Tuple {
        let (mut tuple, mut empty) = (*tuple, self.bits.len() as u8);
        for symbol in &mut tuple[..self.codec.places] {
            if *symbol as usize >= self.bits.len() {
                *symbol = empty;
                empty += 1;
            }
        }
        tuple
    }

    /// Whether there is room for what holds nothing.
    #[inline]
    pub(super) fn holds(&self, tuple: &Tuple) -> bool {
        let empty = tuple[..self.codec.places].iter().filter(|&&symbol| symbol as usize >= self.bits.len()).count();
        empty <= self.codec.symbols - self.bits.len()
    }

    /// Register bits of an arrangement.
    #[inline]
    pub(super) fn registers(&self, tuple: &Tuple) -> usize {
        let held = tuple[..self.codec.places].iter().filter(|&&symbol| (symbol as usize) < self.bits.len()).count();
        self.bits.len() - held
    }
}

/// The place of a physical bit: none for a register.
pub(super) fn place_of(name: Name, elements: usize) -> Result<Option<usize>, Name> {
    match (name.stem(), name.number().unwrap_or(0)) {
        ("b", number) if number < elements => Ok(Some(number)),
        ("t", number) if number < 5 => Ok(Some(elements + number)),
        ("r", _) => Ok(None),
        _ => Err(name),
    }
}

/// What a layout demands of an array.
pub(super) fn pins(array: &str, layer: &[Name], layout: &Layout, elements: usize) -> Result<Vec<Pin>, SolveError> {
    let wrong = |reason, bit| Err(SolveError::Boundary { array: array.into(), reason, bit });
    let (mut pins, mut held) = (Vec::new(), 0u32);
    for at in 0..layout.physical().len() {
        let physical = layout.physical().get(at);
        let Ok(place) = place_of(physical, elements) else {
            return wrong("a place is no bit inside a register, of a lane or of a register's number", physical);
        };
        let column = layout.column(at);
        if column == 0 {
            pins.extend(place.map(|place| Pin::Holds(place, None)));
            continue;
        }
        if !column.is_power_of_two() {
            return wrong("a place holds a sum of bits", physical);
        }
        let bit = layout.logical().get(column.trailing_zeros() as usize);
        let number = number(array, layer, bit, &mut held)?;
        pins.push(match place {
            Some(place) => Pin::Holds(place, Some(number)),
            None => Pin::Is(number, Where::Register),
        });
    }
    Ok(pins)
}

/// The number of a bit of which something is demanded, for the first time.
fn number(array: &str, layer: &[Name], bit: Name, held: &mut u32) -> Result<u8, SolveError> {
    let wrong = |reason| Err(SolveError::Boundary { array: array.into(), reason, bit });
    let Some(number) = layer.iter().position(|of| *of == bit) else {
        return wrong("the array has no such bit");
    };
    if *held >> number & 1 == 1 {
        return wrong("a bit is at two places");
    }
    *held |= 1 << number;
    Ok(number as u8)
}

/// What is demanded by kinds of places.
fn among(array: &str, bits: &[Name], demands: &[(Name, Where)]) -> Result<Vec<Pin>, SolveError> {
    let mut held = 0;
    let pin = |&(bit, place): &(Name, Where)| Ok(Pin::Is(number(array, bits, bit, &mut held)?, place));
    demands.iter().map(pin).collect()
}

/// What a boundary demands.
fn boundary(array: &str, bits: &[Name], boundary: &Boundary, elements: usize) -> Result<Vec<Pin>, SolveError> {
    match boundary {
        Boundary::Free => Ok(Vec::new()),
        Boundary::Partial(layout) => pins(array, bits, layout, elements),
        Boundary::Among(demands) => among(array, bits, demands),
        Boundary::AnyAmong(lists) => {
            let lists = lists.iter().map(|demands| among(array, bits, demands)).collect::<Result<_, _>>()?;
            Ok(vec![Pin::Any(lists)])
        }
        Boundary::Fixed(layout) => {
            let mut pins = pins(array, bits, layout, elements)?;
            let is_held = |at: usize| {
                pins.iter().any(|pin| matches!(pin, Pin::Holds(_, Some(bit)) | Pin::Is(bit, _) if *bit as usize == at))
            };
            if let Some(at) = (0..bits.len()).find(|&at| !is_held(at)) {
                return Err(SolveError::Boundary {
                    array: array.into(),
                    reason: "a bit of the array is at no place",
                    bit: bits[at],
                });
            }
            for place in 0..elements + 5 {
                if !pins.iter().any(|pin| matches!(pin, Pin::Holds(of, _) if *of == place)) {
                    pins.push(Pin::Holds(place, None));
                }
            }
            Ok(pins)
        }
    }
}

/// The atoms with the data as either operand.
pub(super) fn roles(problem: &Problem) -> Result<Vec<Role>, SolveError> {
    let (mut roles, mut reason) = (Vec::new(), Err(SolveError::Atom { reason: "none is allowed".into() }));
    for atom in &problem.atoms {
        for operand in [Operand::B, Operand::A] {
            if operand == Operand::B || problem.allowed.data_first {
                match Role::new(atom, operand) {
                    Ok(role) => roles.push(role),
                    Err(error) => reason = Err(error),
                }
            }
        }
    }
    let Some(first) = roles.first() else { return reason.map(|()| roles) };
    let elements = super::role::element_bits(&first.mma.c);
    if let Some(other) = roles.iter().find(|role| super::role::element_bits(&role.mma.c) != elements) {
        let reason = format!("{} and {} have values of different widths", first.mma.name, other.mma.name);
        return Err(SolveError::Atom { reason });
    }
    Ok(roles)
}

impl Prepared {
    pub(super) fn new(problem: &Problem) -> Result<Self, SolveError> {
        let roles = roles(problem)?;
        let elements = roles.first().map_or(0, |role| super::role::element_bits(&role.mma.c));
        let places = elements + 5;
        let created = roles.iter().map(|role| role.new.len()).max().unwrap_or(0);
        let arrays = problem.chain.arrays()?;
        let mut empty = places.saturating_sub(arrays[0].len());
        let mut layers: Vec<Layer> = Vec::new();
        for (at, bits) in arrays.into_iter().enumerate() {
            let name = match at {
                0 => problem.chain.name.clone(),
                _ => problem.chain.steps[at - 1].name().into(),
            };
            if at > 0
                && let Step::Contract { creates, .. } = &problem.chain.steps[at - 1]
            {
                empty = empty.max(created.saturating_sub(creates.len()));
            }
            empty = empty.max(places.saturating_sub(bits.len())).min(PLACES);
            if bits.len() + empty > MOST_BITS {
                let limit = MOST_BITS - empty;
                return Err(SolveError::TooManyBits { array: name, actual: bits.len(), limit });
            }
            let codec = Codec { symbols: bits.len() + empty, places };
            layers.push(Layer { name, bits, codec, before: Vec::new(), after: Vec::new() });
        }
        let last = layers.len() - 1;
        layers[0].before = boundary(&layers[0].name, &layers[0].bits, &problem.input, elements)?;
        layers[last].after = boundary(&layers[last].name, &layers[last].bits, &problem.output, elements)?;
        let mut links = Vec::new();
        for (at, step) in problem.chain.steps.iter().enumerate() {
            let (before, after) = (&layers[at], &layers[at + 1]);
            let mask = |bits: &[Name]| {
                bits.iter().filter_map(|bit| before.number(*bit)).fold(0u32, |mask, number| mask | 1 << number)
            };
            links.push(match step {
                Step::Contract { sums, creates, depends, split, .. } => {
                    let mut to = [super::product::NONE; 32];
                    for (number, bit) in before.bits.iter().enumerate() {
                        if !sums.contains(bit) {
                            to[number] = after.number(*bit).unwrap_or(super::product::NONE);
                        }
                    }
                    let complex = problem.chain.complex.filter(|bit| sums.contains(bit) && creates.contains(bit));
                    Link::Contract(Contraction {
                        sums: mask(sums),
                        depends: mask(depends),
                        to,
                        creates: creates.iter().filter_map(|bit| after.number(*bit)).collect(),
                        real: (before.bits.len(), after.bits.len()),
                        complex: complex.and_then(|bit| Some((before.number(bit)?, after.number(bit)?))),
                        split: split.and_then(|(of, creates)| Some((before.number(of)?, after.number(creates)?))),
                    })
                }
                Step::Multiply { depends, complex, .. } => {
                    Link::Multiply { depends: mask(depends), complex: complex.and_then(|bit| before.number(bit)) }
                }
            });
        }
        let registers = layers.iter().flat_map(|layer| {
            let (bits, empty) = (layer.bits.len(), layer.codec.symbols - layer.bits.len());
            bits.saturating_sub(places)..=(bits + empty).saturating_sub(places)
        });
        let registers: Vec<usize> = registers.collect();
        let identity: &[Role] = if problem.allowed.identity { &roles } else { &[] };
        let moves = Moves::new(elements, &registers, &problem.costs, identity);
        Ok(Self { layers, links, roles, moves, elements })
    }
}
