//! Chains: what is computed, in terms of index bits and without any layout.

use crate::Name;

use super::SolveError;

/// A sequence of operations on an array, each of which sums some of the array's index bits and creates others.
///
/// ```
/// use fringes_layout::solve::Chain;
/// // Two matrices one after the other: [a2 a1 a0][b2 b1 b0] -> [c2 c1 c0][b2 b1 b0] -> [d2 d1 d0][b2 b1 b0].
/// let chain = Chain::new("X", &["a0", "a1", "a2", "b0", "b1", "b2"])?
///     .contract("Y", &["a0", "a1", "a2"], &["c0", "c1", "c2"], &[])?
///     .contract("Z", &["c0", "c1", "c2"], &["d0", "d1", "d2"], &[])?;
/// assert_eq!(chain.steps.len(), 2);
/// # Ok::<(), fringes_layout::solve::SolveError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Name of the array at the beginning.
    pub name: String,
    /// Its index bits.
    pub inputs: Vec<Name>,
    /// The bit that tells the real from the imaginary part, if the values are complex. A contraction that sums and
    /// creates it has a complex matrix.
    pub complex: Option<Name>,
    /// The operations.
    pub steps: Vec<Step>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `result[created, kept] = sum over summed of matrix[created, summed, depends] * array[summed, kept]`.
    ///
    /// A bit may be summed and created, as `ReIm` is in a complex product; then it is `ReIm_in` and `ReIm_out` of the
    /// matrix.
    Contract {
        /// Name of the result.
        name: String,
        /// Bits that are summed.
        sums: Vec<Name>,
        /// Bits that the result has instead.
        creates: Vec<Name>,
        /// Bits kept by the step on which the matrix depends.
        depends: Vec<Name>,
        /// A summed bit `n` and a created bit `q` of which the matrix depends on `q` by the sign `(-1)^(q n)` only. A
        /// solution may then compute the half with `q = 0` and find the other from it: with `S` the terms of
        /// `n = 0` and `Z` all terms, it is `2 S - Z`.
        split: Option<(Name, Name)>,
    },
    /// `result[all] = factor[depends] * array[all]`.
    Multiply {
        /// Name of the result.
        name: String,
        /// Bits on which the factor depends.
        depends: Vec<Name>,
        /// The real-or-imaginary bit of a complex product; none for a real one.
        complex: Option<Name>,
    },
}

impl Step {
    /// Name of the result.
    pub fn name(&self) -> &str {
        match self {
            Self::Contract { name, .. } | Self::Multiply { name, .. } => name,
        }
    }
}

/// The names that texts spell.
pub(super) fn names(texts: &[&str]) -> Result<Vec<Name>, SolveError> {
    texts.iter().map(|text| Name::new(text).map_err(SolveError::from)).collect()
}

impl Chain {
    /// A chain without steps on a real array with these index bits.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if a text is no name.
    pub fn new(name: &str, inputs: &[&str]) -> Result<Self, SolveError> {
        Ok(Self { name: name.into(), inputs: names(inputs)?, complex: None, steps: Vec::new() })
    }

    /// The chain with this bit, one of the inputs, telling the real from the imaginary part.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if the text is no name.
    pub fn with_complex(mut self, bit: &str) -> Result<Self, SolveError> {
        self.complex = Some(Name::new(bit)?);
        Ok(self)
    }

    /// The chain with a [contraction](Step::Contract) at its end. The real-or-imaginary bit is added to the sums and to
    /// what is created.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if a text is no name.
    pub fn contract(
        mut self,
        name: &str,
        sums: &[&str],
        creates: &[&str],
        depends: &[&str],
    ) -> Result<Self, SolveError> {
        let (mut sums, mut creates, depends) = (names(sums)?, names(creates)?, names(depends)?);
        sums.extend(self.complex);
        creates.extend(self.complex);
        self.steps.push(Step::Contract { name: name.into(), sums, creates, depends, split: None });
        Ok(self)
    }

    /// The chain with this summed and this created bit of its last contraction as its [split](Step::Contract::split):
    /// the caller says that the matrix depends on the created bit by that sign only.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if a text is no name. That the contraction sums and creates the bits is checked by
    /// [`arrays`](Self::arrays).
    pub fn with_split(mut self, summed: &str, created: &str) -> Result<Self, SolveError> {
        let pair = (Name::new(summed)?, Name::new(created)?);
        let contraction = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Contract { split, .. } => Some(split),
            Step::Multiply { .. } => None,
        });
        match contraction {
            Some(split) => *split = Some(pair),
            None => return Err(SolveError::Missing { step: self.name, bit: pair.0 }),
        }
        Ok(self)
    }

    /// The chain with a [product element by element](Step::Multiply) at its end, complex if the array is.
    ///
    /// # Errors
    /// [`SolveError::Layout`] if a text is no name.
    pub fn multiply(mut self, name: &str, depends: &[&str]) -> Result<Self, SolveError> {
        let complex = self.complex;
        self.steps.push(Step::Multiply { name: name.into(), depends: names(depends)?, complex });
        Ok(self)
    }

    /// Checks the chain and returns the index bits of each array, the first one and one after each step.
    ///
    /// # Errors
    /// [`SolveError::Missing`], [`SolveError::Exists`], [`SolveError::Twice`] or [`SolveError::Split`], with step and
    /// bit.
    pub fn arrays(&self) -> Result<Vec<Vec<Name>>, SolveError> {
        let twice = |step: &str, bits: &[Name]| match (1..bits.len()).find(|&at| bits[..at].contains(&bits[at])) {
            Some(at) => Err(SolveError::Twice { step: step.into(), bit: bits[at] }),
            None => Ok(()),
        };
        twice(&self.name, &self.inputs)?;
        let mut arrays = vec![self.inputs.clone()];
        let mut bits = self.inputs.clone();
        if let Some(bit) = self.complex.filter(|bit| !bits.contains(bit)) {
            return Err(SolveError::Missing { step: self.name.clone(), bit });
        }
        for step in &self.steps {
            let name = step.name();
            match step {
                Step::Contract { sums, creates, depends, split, .. } => {
                    twice(name, sums)?;
                    twice(name, creates)?;
                    if let Some(&bit) = sums.iter().chain(depends).find(|bit| !bits.contains(bit)) {
                        return Err(SolveError::Missing { step: name.into(), bit });
                    }
                    if let Some(&bit) = depends.iter().find(|bit| sums.contains(bit)) {
                        return Err(SolveError::Twice { step: name.into(), bit });
                    }
                    if let Some((summed, created)) = *split {
                        let wrong = |bit, reason| Err(SolveError::Split { step: name.into(), bit, reason });
                        if !sums.contains(&summed) {
                            return wrong(summed, "is not summed");
                        }
                        if !creates.contains(&created) {
                            return wrong(created, "is not created");
                        }
                        if let Some(bit) =
                            [summed, created].into_iter().find(|bit| sums.contains(bit) && creates.contains(bit))
                        {
                            return wrong(bit, "is summed and created");
                        }
                    }
                    bits.retain(|bit| !sums.contains(bit));
                    if let Some(&bit) = creates.iter().find(|bit| bits.contains(bit)) {
                        return Err(SolveError::Exists { step: name.into(), bit });
                    }
                    bits.extend(creates);
                }
                Step::Multiply { depends, complex, .. } => {
                    twice(name, depends)?;
                    if let Some(&bit) = depends.iter().chain(complex).find(|bit| !bits.contains(bit)) {
                        return Err(SolveError::Missing { step: name.into(), bit });
                    }
                }
            }
            arrays.push(bits.clone());
        }
        Ok(arrays)
    }
}
