//! What the solver answers.

use std::fmt;

use crate::atoms::mma::Mma;
use crate::plan::Costs;
use crate::program::Counts;
use crate::{Layout, Name};

use super::Operand;

/// An array in one layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The chain's name of the array; with a prime where it is converted before it is used.
    pub name: String,
    /// Its layout.
    pub layout: Layout,
}

/// One instruction `mma`: which registers of the arrays are its fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Registers of the matrix.
    pub matrix: Vec<u32>,
    /// Registers of the data.
    pub data: Vec<u32>,
    /// Registers of the result; none where the fragment's register holds nothing of use.
    pub result: Vec<Option<u32>>,
    /// Whether it adds to what an earlier call left in the result, or begins it.
    pub accumulates: bool,
}

/// A sum of which the instructions compute one half of the result, and half2 operations the other.
///
/// The matrix depends on the created bit `q` by the sign `(-1)^(q n)` only, with `n` the summed bit. The calls compute
/// the registers with `q = 0`, those of one result one after the other. After the first half of these, the terms with
/// `n = 0`, the accumulator is `S`; after all it is `Z`, and the register with `q = 1` is `2 S - Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The summed bit: in the data a register bit, which no place of the fragment holds.
    pub sums: Name,
    /// The created bit.
    pub creates: Name,
    /// Which bit of the result's register number the created bit is.
    pub register: usize,
}

/// A contraction with tensor-core instructions.
#[derive(Debug, Clone)]
pub struct Product {
    /// Number of the chain's step; none for a conversion by an identity matrix.
    pub step: Option<usize>,
    /// The instruction.
    pub mma: &'static Mma,
    /// SM-cycles of one.
    pub cycles: f64,
    /// Which of its operands the data are.
    pub operand: Operand,
    /// Layout of the matrix. A bit that is summed and created, or carried through, is there as `ReIm_in` and
    /// `ReIm_out`; where `pad` bits are set the matrix is zero.
    pub matrix: Layout,
    /// Bits that are neither summed nor created: the matrix is zero unless `n_in2` and `n_out2` agree.
    pub carried: Vec<Name>,
    /// Bits that are summed.
    pub sums: Vec<Name>,
    /// Bits that are created.
    pub creates: Vec<Name>,
    /// Kept bits on which the matrix depends.
    pub depends: Vec<Name>,
    /// The instructions.
    pub calls: Vec<Call>,
    /// The half of the result that they do not compute.
    pub split: Option<Split>,
    /// Half2 operations of the split: half of the result's registers.
    pub half2: u32,
    /// Registers that hold the matrix; fewer than in its layout if it is stored packed.
    pub registers: usize,
    /// Sign flips and permutes that unpack it.
    pub unpack: (u32, u32),
}

/// A product element by element.
#[derive(Debug, Clone)]
pub struct Multiply {
    /// Number of the chain's step.
    pub step: usize,
    /// Layout of the factors; the real-or-imaginary bit is always in registers, whether it is in the data or not.
    pub factors: Layout,
    /// Bits on which the factors depend.
    pub depends: Vec<Name>,
    /// The real-or-imaginary bit of a complex product.
    pub complex: Option<Name>,
    /// Registers of the factors.
    pub registers: usize,
    /// Fused multiply-adds.
    pub half2: u32,
    /// Permutes that bring the other part of a value inside its register.
    pub permute: u32,
    /// Shuffles that bring the other part of a value from another lane.
    pub shuffle: u32,
}

/// What happens between two arrays.
#[derive(Debug, Clone)]
pub enum Operation {
    /// The layout changes, by these instructions.
    Convert(Counts),
    /// A contraction.
    Product(Product),
    /// A product element by element.
    Multiply(Multiply),
}

/// Instructions of a solution and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Instructions of conversions, unpacking and parts brought to multiplications.
    pub counts: Counts,
    /// Tensor-core instructions.
    pub products: u32,
    /// Of these, conversions by identity matrices.
    pub identities: u32,
    /// Half2 operations.
    pub half2: u32,
    /// SM-cycles of the tensor pipe.
    pub tensor: f64,
    /// SM-cycles of half2 operations.
    pub fma: f64,
    /// SM-cycles of permutes, selects and logical operations.
    pub alu: f64,
    /// SM-cycles of shuffles and whatever else goes through shared memory's paths.
    pub exchange: f64,
    /// Instructions in all.
    pub instructions: u32,
}

impl Totals {
    /// Sum of all: the cost that is minimised.
    pub fn cost(&self) -> f64 {
        self.tensor + self.fma + self.alu + self.exchange
    }

    /// SM-cycles that issuing takes at four warp instructions a cycle.
    pub fn issue(&self) -> f64 {
        f64::from(self.instructions) / 4.0
    }

    pub(super) fn add(&mut self, operation: &Operation, costs: &Costs) {
        match operation {
            Operation::Convert(counts) => self.count(counts, costs),
            Operation::Product(product) => {
                let calls = product.calls.len() as u32;
                self.products += calls;
                self.identities += if product.step.is_none() { calls } else { 0 };
                self.instructions += calls;
                self.tensor += f64::from(calls) * product.cycles;
                self.half2(product.half2, costs);
                let (logic, permute) = product.unpack;
                self.count(&Counts { address: logic, permute, ..Counts::default() }, costs);
            }
            Operation::Multiply(multiply) => {
                self.half2(multiply.half2, costs);
                let Multiply { permute, shuffle, .. } = *multiply;
                self.count(&Counts { permute, shuffle, ..Counts::default() }, costs);
            }
        }
    }

    fn half2(&mut self, count: u32, costs: &Costs) {
        self.half2 += count;
        self.fma += f64::from(count) * costs.rates.half2;
        self.instructions += count;
    }

    fn count(&mut self, counts: &Counts, costs: &Costs) {
        let all = &mut self.counts;
        all.select += counts.select;
        all.permute += counts.permute;
        all.shuffle += counts.shuffle;
        all.move_matrix += counts.move_matrix;
        all.store_words += counts.store_words;
        all.store += counts.store;
        all.load_words += counts.load_words;
        all.load += counts.load;
        all.store_matrix += counts.store_matrix;
        all.load_matrix += counts.load_matrix;
        all.address += counts.address;
        all.barrier += counts.barrier;
        let alu =
            Counts { select: counts.select, permute: counts.permute, address: counts.address, ..Counts::default() };
        self.alu += costs.cost(&alu);
        self.exchange += costs.cost(counts) - costs.cost(&alu);
        self.instructions += counts.select
            + counts.permute
            + counts.shuffle
            + counts.move_matrix
            + counts.store
            + counts.load
            + counts.store_matrix
            + counts.load_matrix
            + counts.address
            + counts.barrier;
    }
}

/// A consistent assignment of a chain's arrays, and what it costs.
///
/// Printed, it is in the form of the note: each array and each matrix with its layout, with the conversions between.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The arrays in order.
    pub arrays: Vec<Array>,
    /// What happens between array `i` and array `i + 1`.
    pub operations: Vec<Operation>,
    /// Instructions and costs.
    pub totals: Totals,
    /// No assignment within the move set's reach, and none with any other way of converting, costs less.
    pub bound: f64,
    /// Registers of data (the most that a step has before and after it) and of all matrices and phases.
    pub registers: (usize, usize),
    /// Arrangements that the search settled.
    pub explored: usize,
    /// The cost table.
    pub costs: Costs,
}

impl Solution {
    /// What is minimised: the sum over all instructions of their SM-cycles.
    pub fn cost(&self) -> f64 {
        self.totals.cost()
    }

    /// The layout of an array by name.
    pub fn layout(&self, name: &str) -> Option<&Layout> {
        self.arrays.iter().find(|array| array.name == name).map(|array| &array.layout)
    }
}

impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        while at < self.arrays.len() {
            // Arrays between which only factors are multiplied share a line.
            let mut until = at;
            while until + 1 < self.arrays.len()
                && matches!(self.operations[until], Operation::Multiply(_))
                && self.arrays[until + 1].layout == self.arrays[at].layout
            {
                until += 1;
            }
            let names: Vec<&str> = self.arrays[at..=until].iter().map(|array| array.name.as_str()).collect();
            writeln!(f, "[{}]  {}", names.join(", "), self.arrays[at].layout)?;
            for next in at..=until {
                if let Some(operation) = self.operations.get(next) {
                    write_operation(f, operation, &self.arrays[next].name, &self.arrays[next + 1].name)?;
                }
            }
            at = until + 1;
        }
        let Totals { counts, products, identities, half2, tensor, fma, alu, exchange, instructions } = &self.totals;
        writeln!(
            f,
            "{products} products ({identities} with identity matrices), {half2} half2 operations, {} shuffles, {} selects, {} permutes, {} others",
            counts.shuffle,
            counts.select,
            counts.permute,
            instructions - products - half2 - counts.shuffle - counts.select - counts.permute,
        )?;
        writeln!(
            f,
            "{:.2} SM-cycles ({}): tensor {tensor:.2}, half2 {fma:.2}, ALU {alu:.2}, shuffles {exchange:.2}; issue {:.2}",
            self.cost(),
            self.costs.name,
            self.totals.issue(),
        )?;
        write!(
            f,
            "lower bound {:.2}; registers: {} of data, {} of matrices and phases; {} arrangements explored",
            self.bound, self.registers.0, self.registers.1, self.explored,
        )
    }
}

fn write_operation(f: &mut fmt::Formatter<'_>, operation: &Operation, from: &str, to: &str) -> fmt::Result {
    match operation {
        Operation::Convert(counts) => {
            write!(f, "    {from} -> {to}: converted by")?;
            let kinds = [
                (counts.permute, "permutes"),
                (counts.shuffle, "shuffles"),
                (counts.select, "selects"),
                (counts.move_matrix, "movmatrix"),
                (counts.store + counts.load, "stores and loads"),
                (counts.store_matrix + counts.load_matrix, "matrices stored and loaded"),
                (counts.address, "address calculations"),
                (counts.barrier, "barriers"),
            ];
            let mut separator = " ";
            for (count, kind) in kinds.into_iter().filter(|(count, _)| *count > 0) {
                write!(f, "{separator}{count} {kind}")?;
                separator = ", ";
            }
            writeln!(f, "{}", if separator == " " { " renaming registers" } else { "" })
        }
        Operation::Product(product) => {
            let matrix = if product.step.is_some() { "E" } else { "I" };
            let data = if product.operand == Operand::A { "first" } else { "second" };
            writeln!(f, "  [{matrix} {from} -> {to}]  {}", product.matrix)?;
            write!(
                f,
                "    {} {}, data {data}, matrix {} registers",
                product.calls.len(),
                product.mma.name,
                product.registers
            )?;
            if !product.carried.is_empty() {
                let names: Vec<&str> = product.carried.iter().map(Name::as_str).collect();
                write!(f, ", carries {}", names.join(" "))?;
            }
            if let Some(split) = &product.split {
                let Split { sums, creates, .. } = split;
                write!(f, ", split at {sums} -> {creates} with {} half2 operations", product.half2)?;
            }
            if product.unpack != (0, 0) {
                write!(f, ", unpacked by {} sign flips and {} permutes", product.unpack.0, product.unpack.1)?;
            }
            writeln!(f)
        }
        Operation::Multiply(multiply) => {
            writeln!(f, "  [E {from} -> {to}]  {}", multiply.factors)?;
            write!(f, "    {} half2 operations, factors {} registers", multiply.half2, multiply.registers)?;
            if multiply.permute + multiply.shuffle > 0 {
                write!(f, ", other part by {} permutes, {} shuffles", multiply.permute, multiply.shuffle)?;
            }
            writeln!(f)
        }
    }
}
