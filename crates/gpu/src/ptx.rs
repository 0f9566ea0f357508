//! PTX texts by the compute capability that they are compiled for.

/// What a PTX text is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PtxTarget {
    /// Compute capability 8.0 and every later one.
    Sm80,
    /// Just 9.0, with the instructions that only it has.
    Sm90a,
}

impl PtxTarget {
    /// The name in the PTX.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90a => "sm_90a",
        }
    }

    /// Whether a device of this compute capability runs it.
    #[must_use]
    pub fn runs_on(self, compute_capability: (u32, u32)) -> bool {
        match self {
            Self::Sm80 => compute_capability >= (8, 0),
            Self::Sm90a => compute_capability == (9, 0),
        }
    }
}

impl std::fmt::Display for PtxTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The PTX texts of one set of kernels.
///
/// They are code of the program, as a library that is linked: what they declare of their kernels is taken as true. For a text
/// that comes at run time there is [`Device::load_ptx`](crate::Device::load_ptx).
///
/// ```
/// use fringes_gpu::{PtxSet, PtxTarget};
///
/// const KERNELS: PtxSet = PtxSet::new("... .target sm_80 ...").with_sm_90a("... .target sm_90a ...");
/// assert_eq!(KERNELS.choose((9, 0)).0, PtxTarget::Sm90a);
/// assert_eq!(KERNELS.choose((12, 0)).0, PtxTarget::Sm80);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxSet {
    sm_80: Option<&'static str>,
    sm_90a: Option<&'static str>,
}

impl PtxSet {
    /// The text that runs on every device.
    #[must_use]
    pub const fn new(sm_80: &'static str) -> Self {
        Self { sm_80: Some(sm_80), sm_90a: None }
    }

    /// A text for compute capability 9.0 alone; no other device runs these kernels.
    #[must_use]
    pub const fn only_sm_90a(sm_90a: &'static str) -> Self {
        Self { sm_80: None, sm_90a: Some(sm_90a) }
    }

    /// With a faster text for compute capability 9.0.
    #[must_use]
    pub const fn with_sm_90a(self, sm_90a: &'static str) -> Self {
        Self { sm_90a: Some(sm_90a), ..self }
    }

    /// The text of a target, if there is one.
    #[must_use]
    pub const fn get(&self, target: PtxTarget) -> Option<&'static str> {
        match target {
            PtxTarget::Sm80 => self.sm_80,
            PtxTarget::Sm90a => self.sm_90a,
        }
    }

    /// The best text for a compute capability. Where a set has a text for 9.0 alone it is that one, which no other device loads.
    #[must_use]
    pub fn choose(&self, compute_capability: (u32, u32)) -> (PtxTarget, &'static str) {
        match (self.sm_80, self.sm_90a) {
            (_, Some(text)) if PtxTarget::Sm90a.runs_on(compute_capability) => (PtxTarget::Sm90a, text),
            (Some(text), _) => (PtxTarget::Sm80, text),
            (None, text) => (PtxTarget::Sm90a, text.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_for_9_0_alone_has_nothing_else() {
        let only = PtxSet::only_sm_90a("hopper");
        assert_eq!(only.choose((9, 0)), (PtxTarget::Sm90a, "hopper"));
        assert_eq!(only.choose((8, 0)), (PtxTarget::Sm90a, "hopper"));
        assert_eq!(only.get(PtxTarget::Sm80), None);
    }

    #[test]
    fn only_capability_9_0_gets_the_text_for_sm_90a() {
        let both = PtxSet::new("portable").with_sm_90a("hopper");
        for (capability, expected) in [
            ((8, 0), "portable"),
            ((8, 6), "portable"),
            ((8, 9), "portable"),
            ((9, 0), "hopper"),
            ((10, 0), "portable"),
            ((12, 0), "portable"),
        ] {
            assert_eq!(both.choose(capability).1, expected, "{capability:?}");
        }
        assert_eq!(PtxSet::new("portable").choose((9, 0)), (PtxTarget::Sm80, "portable"));
    }

    #[test]
    fn a_target_can_be_forced() {
        let both = PtxSet::new("portable").with_sm_90a("hopper");
        assert_eq!(both.get(PtxTarget::Sm80), Some("portable"));
        assert_eq!(both.get(PtxTarget::Sm90a), Some("hopper"));
        assert_eq!(PtxSet::new("portable").get(PtxTarget::Sm90a), None);
    }
}
