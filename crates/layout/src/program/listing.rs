//! Programs as text.

use std::fmt;

use super::{Counts, Instruction, LaneFlag, LaneMap, Program, Register, Selector};

impl fmt::Display for LaneFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sum(f, (0..8).filter(|bit| self.mask >> bit & 1 == 1).map(|bit| format!("t{bit}")))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(bytes) => write!(f, "{bytes:#06x}"),
            Self::ByLane { flag, zero, one } => write!(f, "{flag} ? {one:#06x} : {zero:#06x}"),
        }
    }
}

impl fmt::Display for LaneMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns.iter().enumerate().filter(|(_, column)| **column != 0);
        let offset = (self.offset != 0).then(|| format!("{:#x}", self.offset));
        sum(f, columns.map(|(bit, column)| format!("t{bit}*{column:#x}")).chain(offset))
    }
}

fn sum(f: &mut fmt::Formatter<'_>, terms: impl Iterator<Item = String>) -> fmt::Result {
    let terms: Vec<_> = terms.collect();
    if terms.is_empty() { f.write_str("0") } else { f.write_str(&terms.join("^")) }
}

/// Registers as a list.
struct List<'a>(&'a [Register]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, register) in self.0.iter().enumerate() {
            write!(f, "{}v{register}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trans = |transposed: &bool| if *transposed { ".trans" } else { "" };
        match self {
            Self::Select { d, flag, zero, one } => write!(f, "v{d} = {flag} ? v{one} : v{zero}"),
            Self::Permute { d, a, b, selector } => write!(f, "v{d} = prmt v{a} v{b} {selector}"),
            Self::ShuffleXor { d, a, mask } => write!(f, "v{d} = shfl.bfly v{a} {mask:#x}"),
            Self::ShuffleIndex { d, a, source } => write!(f, "v{d} = shfl.idx v{a} [{source}]"),
            Self::MoveMatrix { d, a } => write!(f, "v{d} = movmatrix.trans v{a}"),
            Self::StoreShared { address, values } => {
                write!(f, "st.shared.v{} [{address}] {}", values.len(), List(values))
            }
            Self::LoadShared { d, address } => write!(f, "{} = ld.shared.v{} [{address}]", List(d), d.len()),
            Self::StoreMatrix { row, values, transposed } => {
                write!(f, "stmatrix.x{}{} [{row}] {}", values.len(), trans(transposed), List(values))
            }
            Self::LoadMatrix { d, row, transposed } => {
                write!(f, "{} = ldmatrix.x{}{} [{row}]", List(d), d.len(), trans(transposed))
            }
            Self::WarpBarrier => f.write_str("bar.warp.sync"),
        }
    }
}

/// One line an instruction, the outputs last.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "in  {}", List(&(0..self.inputs as Register).collect::<Vec<_>>()))?;
        for instruction in &self.instructions {
            writeln!(f, "    {instruction}")?;
        }
        writeln!(f, "out {}", List(&self.outputs))
    }
}

/// The kinds that there are: `32 permutes, 16 shuffles, 48 selects`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let kinds = [
            (self.permute, "permute", "permutes"),
            (self.shuffle, "shuffle", "shuffles"),
            (self.select, "select", "selects"),
            (self.move_matrix, "movmatrix", "movmatrix"),
            (self.store_matrix, "matrix stored", "matrices stored"),
            (self.load_matrix, "matrix loaded", "matrices loaded"),
            (self.address, "XOR of an address", "XORs of addresses"),
            (self.barrier, "barrier", "barriers"),
        ];
        let memory = [(self.store, self.store_words, "store", "stores"), (self.load, self.load_words, "load", "loads")];
        for (count, one, many) in kinds.into_iter().filter(|kind| kind.0 > 0) {
            write!(f, "{separator}{count} {}", if count == 1 { one } else { many })?;
            separator = ", ";
        }
        for (count, words, one, many) in memory.into_iter().filter(|kind| kind.0 > 0) {
            let (kind, unit) = (if count == 1 { one } else { many }, if words == 1 { "word" } else { "words" });
            write!(f, "{separator}{count} {kind} ({words} {unit} a lane)")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("nothing") } else { Ok(()) }
    }
}
