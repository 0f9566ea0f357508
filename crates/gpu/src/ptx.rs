//! PTX texts by the compute capability that they are compiled for.

use std::borrow::Cow;

use fringes_kernel_declaration::inflate;

use crate::GpuError;

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

/// A PTX text of the program: as it is, or compressed.
///
/// Two of the same place in the program are the same text, so a loaded text is found by its place and is not read
/// again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PtxText(Stored);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    Plain(&'static str),
    Deflated(&'static [u8]),
}

/// The place of a text in the program. A text that is borrowed for ever neither moves nor changes, so what is loaded
/// from a place is what would be loaded from it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TextPlace {
    address: usize,
    bytes: usize,
    deflated: bool,
}

impl PtxText {
    /// A text as it is.
    #[must_use]
    pub const fn plain(text: &'static str) -> Self {
        Self(Stored::Plain(text))
    }

    /// A text that [`deflate`](crate::declaration::deflate) compressed.
    #[must_use]
    pub const fn deflated(bytes: &'static [u8]) -> Self {
        Self(Stored::Deflated(bytes))
    }

    /// The text. A compressed one is inflated, in every call anew.
    ///
    /// # Errors
    /// [`GpuError::PtxInflate`] for bytes that [`PtxText::deflated`] got and that are no compressed text.
    pub fn read(self) -> Result<Cow<'static, str>, GpuError> {
        match self.0 {
            Stored::Plain(text) => Ok(Cow::Borrowed(text)),
            Stored::Deflated(bytes) => Ok(Cow::Owned(inflate(bytes)?)),
        }
    }

    /// Bytes that it takes in the program.
    #[must_use]
    pub const fn stored_bytes(self) -> usize {
        match self.0 {
            Stored::Plain(text) => text.len(),
            Stored::Deflated(bytes) => bytes.len(),
        }
    }

    pub(crate) fn place(self) -> TextPlace {
        let (address, deflated) = match self.0 {
            Stored::Plain(text) => (text.as_ptr().addr(), false),
            Stored::Deflated(bytes) => (bytes.as_ptr().addr(), true),
        };
        TextPlace { address, bytes: self.stored_bytes(), deflated }
    }
}

/// Not the text: its form and length.
impl std::fmt::Debug for PtxText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = if matches!(self.0, Stored::Plain(_)) { "plain" } else { "deflated" };
        write!(f, "PtxText({form}, {} bytes)", self.stored_bytes())
    }
}

/// The PTX texts of one set of kernels.
///
/// They are code of the program, as a library that is linked: what they declare of their kernels is taken as true. For
/// a text that comes at run time there is [`Device::load_ptx`](crate::Device::load_ptx).
///
/// Make a set a `static`. What is loaded is known by its place in the program: a `const` may get a place wherever it is
/// used, and is loaded for each.
///
/// ```
/// use fringes_gpu::{PtxSet, PtxTarget};
///
/// static KERNELS: PtxSet = PtxSet::new("... .target sm_80 ...").with_sm_90a("... .target sm_90a ...");
/// assert_eq!(KERNELS.choose((9, 0)).0, PtxTarget::Sm90a);
/// assert_eq!(KERNELS.choose((12, 0)).0, PtxTarget::Sm80);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxSet {
    sm_80: Option<PtxText>,
    sm_90a: Option<PtxText>,
}

impl PtxSet {
    /// The text that runs on every device.
    #[must_use]
    pub const fn new(sm_80: &'static str) -> Self {
        Self::of(Some(PtxText::plain(sm_80)), None)
    }

    /// Any texts: one that runs on every device, one for compute capability 9.0 alone.
    #[must_use]
    pub const fn of(sm_80: Option<PtxText>, sm_90a: Option<PtxText>) -> Self {
        Self { sm_80, sm_90a }
    }

    /// A text for compute capability 9.0 alone; no other device runs these kernels.
    #[must_use]
    pub const fn only_sm_90a(sm_90a: &'static str) -> Self {
        Self::of(None, Some(PtxText::plain(sm_90a)))
    }

    /// With a faster text for compute capability 9.0.
    #[must_use]
    pub const fn with_sm_90a(self, sm_90a: &'static str) -> Self {
        Self { sm_90a: Some(PtxText::plain(sm_90a)), ..self }
    }

    /// The text of a target, if there is one.
    #[must_use]
    pub const fn get(&self, target: PtxTarget) -> Option<PtxText> {
        match target {
            PtxTarget::Sm80 => self.sm_80,
            PtxTarget::Sm90a => self.sm_90a,
        }
    }

    /// Whether it has no text at all: that of a crate that was built without its kernels.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sm_80.is_none() && self.sm_90a.is_none()
    }

    /// That there is a text.
    pub(crate) fn check(&self) -> Result<(), GpuError> {
        if self.is_empty() { Err(GpuError::NoPtx) } else { Ok(()) }
    }

    /// The best text for a compute capability. Where a set has a text for 9.0 alone it is that one, which no other
    /// device loads. A set that [is empty](Self::is_empty) gives an empty text, which no device loads.
    #[must_use]
    pub fn choose(&self, compute_capability: (u32, u32)) -> (PtxTarget, PtxText) {
        match (self.sm_80, self.sm_90a) {
            (_, Some(text)) if PtxTarget::Sm90a.runs_on(compute_capability) => (PtxTarget::Sm90a, text),
            (Some(text), _) => (PtxTarget::Sm80, text),
            (None, text) => (PtxTarget::Sm90a, text.unwrap_or(PtxText::plain(""))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const PORTABLE: PtxText = PtxText::plain("portable");
    const HOPPER: PtxText = PtxText::plain("hopper");

    #[test]
    fn a_set_for_9_0_alone_has_nothing_else() {
        let only = PtxSet::only_sm_90a("hopper");
        assert_eq!(only.choose((9, 0)), (PtxTarget::Sm90a, HOPPER));
        assert_eq!(only.choose((8, 0)), (PtxTarget::Sm90a, HOPPER));
        assert_eq!(only.get(PtxTarget::Sm80), None);
    }

    #[test]
    fn a_set_without_any_text_is_not_loaded() {
        let empty = PtxSet::of(None, None);
        assert!(empty.is_empty());
        assert_eq!(empty.check(), Err(GpuError::NoPtx));
        assert!(GpuError::NoPtx.to_string().contains("feature `gpu`"));
        for set in [PtxSet::new("portable"), PtxSet::only_sm_90a("hopper")] {
            assert!(!set.is_empty());
            assert_eq!(set.check(), Ok(()));
        }
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
            assert_eq!(both.choose(capability).1.read().unwrap(), expected, "{capability:?}");
        }
        assert_eq!(PtxSet::new("portable").choose((9, 0)), (PtxTarget::Sm80, PORTABLE));
    }

    #[test]
    fn a_target_can_be_forced() {
        let both = PtxSet::new("portable").with_sm_90a("hopper");
        assert_eq!(both.get(PtxTarget::Sm80), Some(PORTABLE));
        assert_eq!(both.get(PtxTarget::Sm90a), Some(HOPPER));
        assert_eq!(PtxSet::new("portable").get(PtxTarget::Sm90a), None);
    }

    #[test]
    fn a_compressed_text_reads_as_the_text_and_damage_is_an_error() {
        let text = ".version 7.8\n.target sm_80\n".repeat(40);
        let bytes: &'static [u8] = fringes_kernel_declaration::deflate(&text).leak();
        let set = PtxSet::of(Some(PtxText::deflated(bytes)), None);
        let (target, stored) = set.choose((9, 0));
        assert_eq!((target, stored.read().unwrap().as_ref()), (PtxTarget::Sm80, text.as_str()));
        assert!(stored.stored_bytes() < text.len() / 4, "{stored:?}");
        let error = PtxText::deflated(&bytes[1..]).read().unwrap_err();
        assert!(matches!(error, GpuError::PtxInflate(_)), "{error}");
    }

    #[test]
    fn a_text_is_known_by_its_place_however_it_is_named() {
        static TEXT: &str = "portable and more";
        let first = PtxSet::new(TEXT);
        let again = PtxSet::new(TEXT).with_sm_90a("hopper");
        assert_eq!(first.choose((8, 0)).1.place(), again.choose((8, 0)).1.place());
        let part = PtxText::plain(&TEXT[..8]);
        assert_ne!(part.place(), PtxText::plain(TEXT).place(), "the same beginning, another end");
        let moved = PtxText::plain(String::from(TEXT).leak());
        assert_ne!(moved.place(), PtxText::plain(TEXT).place());
        assert_ne!(PtxText::deflated(TEXT.as_bytes()).place(), PtxText::plain(TEXT).place());
    }
}
