//! Chains of Fourier transforms.

use crate::Name;

use super::{Chain, SolveError, Step};

/// One factor of a [transform](Fft): a sum over some input bits that creates some output bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Factor {
    /// Numbers of the input bits `n` that are summed.
    pub sums: Vec<usize>,
    /// Numbers of the output bits `q` that are created.
    pub creates: Vec<usize>,
    /// Numbers of the input bits, summed later, whose phases with these output bits are part of the matrix. The others
    /// are a product element by element afterwards.
    pub in_matrix: Vec<usize>,
}

impl Factor {
    /// A factor.
    pub fn new(sums: &[usize], creates: &[usize], in_matrix: &[usize]) -> Self {
        Self { sums: sums.to_vec(), creates: creates.to_vec(), in_matrix: in_matrix.to_vec() }
    }
}

/// `Y[q] = sum over n < 2^input_bits of exp(2 pi i q n / 2^output_bits) X[n]`, as a chain of products.
///
/// In bits the phase is a product over pairs: `E(q_j, n_k) = exp(2 pi i q_j n_k 2^(j+k) / 2^output_bits)`, which is 1
/// for `j + k >= output_bits`. Each other pair has to be multiplied once, after (or while) `q_j` is created and before
/// (or while) `n_k` is summed.
///
/// | factor | sums | creates | matrix | then |
/// |---|---|---|---|---|
/// | 1 | `n7 n6` | `q0 q1 q2` | pairs with `n7 n6`, and `n1 n0` if these are in the matrix | pairs with `n5 n4 n3 n2` |
/// | 2 | `n5 n4 n3` | `q3 q4 q5` | pairs with `n5 n4 n3` | pairs with `n2 n1 n0` |
/// | 3 | `n2 n1 n0` | `q6 q7 q8` | pairs with `n2 n1 n0` | |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fft {
    /// Bits of the input's index.
    pub input_bits: usize,
    /// Bits of the output's index, at least as many: with more, the input is as if padded with zeros.
    pub output_bits: usize,
    /// The factors.
    pub factors: Vec<Factor>,
}

/// Where a step's phases come from.
enum Part<'a> {
    Matrix(&'a Factor),
    Phases(&'a Factor),
}

impl Fft {
    /// A transform in factors of three input bits, the first one of what remains, each of which creates as many output
    /// bits as it must.
    pub fn new(input_bits: usize, output_bits: usize) -> Self {
        let first = if input_bits.is_multiple_of(3) { 3 } else { input_bits % 3 };
        let mut sizes = vec![first.min(input_bits)];
        sizes.resize(input_bits.div_ceil(3).max(1), 3);
        Self::with_sizes(input_bits, output_bits, &sizes)
    }

    /// A transform whose factors sum this many input bits each, from the highest down, and create as many output bits,
    /// from the lowest up, as the pairs need; the last creates the rest.
    pub fn with_sizes(input_bits: usize, output_bits: usize, sizes: &[usize]) -> Self {
        let (mut left, mut created) = (input_bits, 0);
        let mut factors = Vec::new();
        for (at, &size) in sizes.iter().enumerate() {
            let low = left.saturating_sub(size);
            let until = if at + 1 == sizes.len() { output_bits } else { output_bits.saturating_sub(low).max(created) };
            factors.push(Factor {
                sums: (low..left).rev().collect(),
                creates: (created..until).collect(),
                in_matrix: Vec::new(),
            });
            (left, created) = (low, until);
        }
        Self { input_bits, output_bits, factors }
    }

    /// The transform with the phases of these input bits put into the matrix of factor `factor`.
    pub fn in_matrix(mut self, factor: usize, bits: &[usize]) -> Self {
        if let Some(factor) = self.factors.get_mut(factor) {
            factor.in_matrix = bits.to_vec();
        }
        self
    }

    /// Whether `E(q_j, n_k)` is not 1.
    fn needed(&self, created: usize, summed: usize) -> bool {
        created + summed < self.output_bits
    }

    /// Input bits that are summed by factors after this one.
    fn later(&self, factor: usize) -> impl Iterator<Item = usize> + '_ {
        self.factors[factor + 1..].iter().flat_map(|later| later.sums.iter().copied())
    }

    /// Input bits whose phases with the bits created by this factor are a product of their own.
    fn phases(&self, factor: usize) -> Vec<usize> {
        let this = &self.factors[factor];
        self.later(factor)
            .filter(|summed| !this.in_matrix.contains(summed))
            .filter(|&summed| this.creates.iter().any(|&created| self.needed(created, summed)))
            .collect()
    }

    /// The summed and the created bit at which a factor can be split: `E(q_j, n_k) = -1`, and every other phase of
    /// `q_j` in the factor's matrix is 1.
    fn split(&self, factor: usize) -> Option<(usize, usize)> {
        let this = &self.factors[factor];
        let in_matrix = || this.in_matrix.iter().filter(|&&bit| self.later(factor).any(|of| of == bit));
        this.sums.iter().find_map(|&summed| {
            let created = self.output_bits.checked_sub(summed + 1)?;
            let others = this.sums.iter().filter(|&&other| other != summed).chain(in_matrix());
            let alone =
                this.creates.contains(&created) && others.into_iter().all(|&other| !self.needed(created, other));
            alone.then_some((summed, created))
        })
    }

    /// The chain, on bits `n0 ...`, `q0 ...` and `ReIm`: from `X` over `Z1`, `Z2` ... to `Y`.
    ///
    /// # Errors
    /// [`SolveError::Phase`] if a pair can be applied nowhere, [`SolveError::Missing`], [`SolveError::Exists`] or
    /// [`SolveError::Twice`] if the factors do not sum and create each bit once.
    pub fn chain(&self) -> Result<Chain, SolveError> {
        let n = |bit| Name::numbered("n", bit);
        let q = |bit| Name::numbered("q", bit);
        for (at, factor) in self.factors.iter().enumerate() {
            for &created in &factor.creates {
                let before = self.factors[..at].iter().flat_map(|earlier| earlier.sums.iter());
                if let Some(&summed) = before.into_iter().find(|&&summed| self.needed(created, summed)) {
                    return Err(SolveError::Phase { created: q(created)?, summed: n(summed)? });
                }
            }
        }
        let re_im = Name::new("ReIm")?;
        let mut inputs = (0..self.input_bits).map(n).collect::<Result<Vec<_>, _>>()?;
        inputs.push(re_im);
        let mut steps = Vec::new();
        for (at, factor) in self.factors.iter().enumerate() {
            let mut sums = factor.sums.iter().map(|&bit| n(bit)).collect::<Result<Vec<_>, _>>()?;
            let mut creates = factor.creates.iter().map(|&bit| q(bit)).collect::<Result<Vec<_>, _>>()?;
            sums.push(re_im);
            creates.push(re_im);
            let depends = factor
                .in_matrix
                .iter()
                .filter(|&&bit| factor.creates.iter().any(|&created| self.needed(created, bit)))
                .map(|&bit| n(bit))
                .collect::<Result<Vec<_>, _>>()?;
            let split = match self.split(at) {
                Some((summed, created)) => Some((n(summed)?, q(created)?)),
                None => None,
            };
            steps.push(Step::Contract { name: String::new(), sums, creates: creates.clone(), depends, split });
            let phases = self.phases(at);
            if !phases.is_empty() {
                creates.pop();
                creates.retain(|bit| {
                    factor.creates.iter().any(|&created| {
                        q(created) == Ok(*bit) && phases.iter().any(|&summed| self.needed(created, summed))
                    })
                });
                for bit in phases {
                    creates.push(n(bit)?);
                }
                steps.push(Step::Multiply { name: String::new(), depends: creates, complex: Some(re_im) });
            }
        }
        let last = steps.len().saturating_sub(1);
        for (at, step) in steps.iter_mut().enumerate() {
            let (Step::Contract { name, .. } | Step::Multiply { name, .. }) = step;
            *name = if at == last { "Y".into() } else { format!("Z{}", at + 1) };
        }
        let chain = Chain { name: "X".into(), inputs, complex: Some(re_im), steps };
        let result = chain.arrays()?;
        let outputs = result.last().map_or(&[][..], Vec::as_slice);
        for bit in 0..self.output_bits {
            if !outputs.contains(&q(bit)?) {
                return Err(SolveError::Missing { step: "Y".into(), bit: q(bit)? });
            }
        }
        if let Some(&bit) = outputs.iter().find(|bit| bit.stem() == "n") {
            return Err(SolveError::Exists { step: "Y".into(), bit });
        }
        Ok(chain)
    }

    /// Which phases the step of this number has.
    fn part(&self, step: usize) -> Option<(usize, Part<'_>)> {
        let mut at = 0;
        for (index, factor) in self.factors.iter().enumerate() {
            if at == step {
                return Some((index, Part::Matrix(factor)));
            }
            at += 1;
            if !self.phases(index).is_empty() {
                if at == step {
                    return Some((index, Part::Phases(factor)));
                }
                at += 1;
            }
        }
        None
    }

    /// Element of the matrix or of the phases of step `step` of the [chain](Self::chain), where `bit` gives the value
    /// of each index bit: `ReIm_in` and `ReIm_out` for a matrix, `ReIm` for phases.
    pub fn element(&self, step: usize, bit: &dyn Fn(&str) -> bool) -> f64 {
        let Some((index, part)) = self.part(step) else { return 0.0 };
        let phases = self.phases(index);
        let (factor, summed) = match &part {
            Part::Matrix(factor) => {
                let mut summed = factor.sums.clone();
                summed.extend(factor.in_matrix.iter().copied().filter(|bit| self.later(index).any(|of| of == *bit)));
                (factor, summed)
            }
            Part::Phases(factor) => (factor, phases),
        };
        let mut turns = 0u64;
        for &k in &summed {
            for &j in factor.creates.iter().filter(|&&j| self.needed(j, k)) {
                if bit(&format!("q{j}")) && bit(&format!("n{k}")) {
                    turns += 1 << (j + k);
                }
            }
        }
        let size = 1u64 << self.output_bits;
        let (im, re) = (core::f64::consts::TAU * (turns % size) as f64 / size as f64).sin_cos();
        match part {
            Part::Matrix(_) => match (bit("ReIm_out"), bit("ReIm_in")) {
                (false, false) | (true, true) => re,
                (false, true) => -im,
                (true, false) => im,
            },
            Part::Phases(_) if bit("ReIm") => im,
            Part::Phases(_) => re,
        }
    }
}
