//! The sizes, and the assignment of each.

use std::fmt;

use fringes_layout::Name;
use fringes_layout::plan::Costs;
use fringes_layout::solve::{Boundary, Fft, Problem, Solution, Where, solve};

/// A size and how its input bits are divided into factors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Bits of `n`.
    pub(crate) input_bits: usize,
    /// Bits of `q`.
    pub(crate) output_bits: usize,
    /// Bits of each factor, from the highest input bits down.
    pub(crate) factors: &'static [usize],
}

const fn size(input_bits: usize, output_bits: usize, factors: &'static [usize]) -> Size {
    Size { input_bits, output_bits, factors }
}

/// Every size: the cheapest factors that `solve::best` finds.
pub(crate) const SIZES: &[Size] = &[
    size(6, 6, &[3, 3]),
    size(6, 7, &[3, 3]),
    size(7, 7, &[4, 3]),
    size(7, 8, &[3, 4]),
    size(8, 8, &[4, 4]),
    size(8, 9, &[4, 4]),
    size(9, 9, &[4, 5]),
    size(9, 10, &[4, 5]),
    size(10, 10, &[5, 5]),
];

impl Size {
    /// `64_128`.
    pub(crate) fn key(&self) -> String {
        format!("{}_{}", 1 << self.input_bits, 1 << self.output_bits)
    }

    /// Name of the module, `fft_64_128`.
    pub(crate) fn module(&self) -> String {
        format!("fft_{}", self.key())
    }

    /// Name of the type, `Fft64To128`.
    pub(crate) fn name(&self) -> String {
        format!("Fft{}To{}", 1 << self.input_bits, 1 << self.output_bits)
    }

    /// The assignment: both parts of a number in one register at either end, the lowest bit of the index in the
    /// register's number, the next ones in the lane's, so that accesses are of whole sectors: three at the input,
    /// for 8-bit samples, two at the output.
    pub(crate) fn solution(&self) -> Result<Solution, String> {
        let end = |stem: &str, lanes: usize| -> Result<Boundary, String> {
            let name = |text: &str| Name::new(text).map_err(|error| error.to_string());
            let mut places = vec![(name("ReIm")?, Where::Inside), (name(&format!("{stem}0"))?, Where::Register)];
            for bit in 1..=lanes {
                places.push((name(&format!("{stem}{bit}"))?, Where::Lane));
            }
            Ok(Boundary::Among(places))
        };
        let fft = Fft::with_sizes(self.input_bits, self.output_bits, self.factors);
        let chain = fft.chain().map_err(|error| error.to_string())?;
        let mut problem = Problem::new(chain, Costs::H200);
        (problem.input, problem.output) = (end("n", 3)?, end("q", 2)?);
        let solution = solve(&problem).map_err(|error| error.to_string())?;
        Ok(solution)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", 1 << self.input_bits, 1 << self.output_bits)
    }
}
