//! What a solver is asked: chain, atoms, boundaries and costs.

use crate::atoms::mma::{self, Mma};
use crate::plan::Costs;
use crate::{Layout, Name};

use super::{Chain, SolveError};

/// A tensor-core instruction that may be used, with its price.
#[derive(Debug, Clone, Copy)]
pub struct Atom {
    /// Its fragments.
    pub mma: &'static Mma,
    /// SM-cycles of one.
    pub cycles: f64,
}

impl Atom {
    /// `m16n8k8` and `m16n8k16` with f16 factors and sums, at the rates of a cost table.
    pub fn half(costs: &Costs) -> Vec<Self> {
        vec![
            Self { mma: &mma::M16N8K8_F16_F16, cycles: costs.rates.mma_k8 },
            Self { mma: &mma::M16N8K16_F16_F16, cycles: costs.rates.mma_k16 },
        ]
    }
}

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Where {
    /// Inside a register: a `b` bit.
    Inside,
    /// In the lane's index.
    Lane,
    /// In the register's number.
    Register,
}

/// What is known of the layout at one end of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Boundary {
    /// Nothing: the solver chooses.
    #[default]
    Free,
    /// Everything, the order of registers included.
    Fixed(Layout),
    /// Some places: each physical bit of this layout holds that logical bit (for registers: that bit is at some
    /// register bit).
    Partial(Layout),
    /// Some bits: each is at a place of this kind. Nothing is said of the others.
    Among(Vec<(Name, Where)>),
    /// One of these lists, as in [`Among`](Self::Among).
    AnyAmong(Vec<Vec<(Name, Where)>>),
}

impl Boundary {
    /// Complex values of 32 bits as memory has them, read or written in whole sectors of 32 bytes: the parts inside
    /// registers, and the bits of the index of a sector's eight values, the lowest of the bits `stem0 stem1 stem2
    /// ...`, in lanes, or lowest in one or two register bits.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if the stem is no name.
    pub fn memory(stem: &str) -> Result<Self, SolveError> {
        let parts = (Name::new("ReIm")?, Where::Inside);
        let bits = [Name::numbered(stem, 0)?, Name::numbered(stem, 1)?, Name::numbered(stem, 2)?];
        let lists = (0..3).map(|words| {
            let place = |at| if at < words { Where::Register } else { Where::Lane };
            std::iter::once(parts).chain(bits.iter().enumerate().map(|(at, &bit)| (bit, place(at)))).collect()
        });
        Ok(Self::AnyAmong(lists.collect()))
    }
}

/// Ways of doing things that a search may use or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed {
    /// A product may carry bits that it neither sums nor creates through its matrix, which then is block-diagonal:
    /// zeros are multiplied, but the bits come out at other places. Without it only padding uses what a
    /// contraction leaves free.
    pub carry: bool,
    /// Conversions may be products with an identity matrix. Exact for finite values (an infinity or NaN spreads to the
    /// values that share a product with it).
    pub identity: bool,
    /// The data may be the first operand of a product, with the matrix as the second, and not only the other way
    /// round.
    pub data_first: bool,
    /// Complex matrices are stored once for both parts of the result where their places allow it, as in equation (29)
    /// of the note, and unpacked at each use at a price.
    pub packed: bool,
    /// Contractions may be [split](super::Split) where the chain says that they can: half of a result comes from half2
    /// operations.
    pub split: bool,
    /// The real and the imaginary part are in different registers wherever a complex product element by element is.
    /// Without it they may be inside a register or in two lanes, at the price of an instruction a register.
    pub parts_in_registers: bool,
}

impl Allowed {
    /// What the note uses: the data as second operand, every place of an atom filled by bits of the contraction.
    pub const NOTE: Self = Self {
        carry: false,
        identity: false,
        data_first: false,
        packed: false,
        split: false,
        parts_in_registers: false,
    };
    /// Everything except packing.
    pub const ALL: Self =
        Self { carry: true, identity: true, data_first: true, packed: false, split: true, parts_in_registers: false };
}

/// A question to the solver.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What is computed.
    pub chain: Chain,
    /// Instructions for contractions.
    pub atoms: Vec<Atom>,
    /// What instructions cost.
    pub costs: Costs,
    /// Layout of the input.
    pub input: Boundary,
    /// Layout of the result.
    pub output: Boundary,
    /// What the search may use.
    pub allowed: Allowed,
    /// Most registers for data, matrices and phases together. The zeros and ones of identity matrices are not counted.
    pub registers: Option<usize>,
    /// Most registers for matrices and phases alone, identity matrices not counted.
    pub phases: Option<usize>,
}

impl Problem {
    /// A chain with f16 products, free ends and everything allowed.
    pub fn new(chain: Chain, costs: Costs) -> Self {
        Self {
            chain,
            atoms: Atom::half(&costs),
            costs,
            input: Boundary::Free,
            output: Boundary::Free,
            allowed: Allowed::ALL,
            registers: None,
            phases: None,
        }
    }
}
