//! The entries of the crate, by what they are made for.

use fringes_device::{Global, GlobalMut, Kernel, TensorMap};
use fringes_kernels_correlator_wgmma as kernels;

/// Samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    I4,
    I8,
    F16,
}

/// Tiles: up to 64 inputs, 128 x 128, up to 160 inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tiles {
    Small,
    Square,
    Whole,
}

type Correlate<S> =
    fn(TensorMap, TensorMap, Global<u32>, GlobalMut<[S; 2]>, u32, u32, u32, u32, u32, u32, u32, u32, u32, u32);

/// The function, by the type of its sums.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    I32(Correlate<i32>),
    F32(Correlate<f32>),
    F64(Correlate<f64>),
}

/// An entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) tiles: Tiles,
    /// Polarisations whose samples alternate in a row of a copy.
    pub(crate) pols: usize,
    pub(crate) format: Format,
    pub(crate) declaration: &'static str,
    pub(crate) function: Function,
}

impl Format {
    /// Bytes of a sample.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I4 => 1,
            Self::I8 => 2,
            Self::F16 => 4,
        }
    }
}

impl Tiles {
    /// Inputs on either side.
    pub(crate) fn inputs(self) -> usize {
        match self {
            Self::Small => 64,
            Self::Square => 128,
            Self::Whole => 160,
        }
    }
}

impl Entry {
    /// Whether sums are added to.
    pub(crate) fn adds(&self) -> bool {
        self.name.ends_with("_add")
    }

    /// Bytes of a row of a copy.
    pub(crate) fn inner(&self) -> usize {
        if self.pols == 1 && self.format == Format::I4 { 64 } else { 128 }
    }

    /// Bytes of a row in a step.
    pub(crate) fn step_bytes(&self) -> usize {
        if self.pols == 2 && self.format != Format::I4 { 256 } else { self.inner() }
    }
}

macro_rules! entries {
    ($($tiles:ident $pols:literal $format:ident $sums:ident $name:ident;)*) => {
        /// All entries.
        pub(crate) fn entries() -> Vec<Entry> {
            vec![$(Entry {
                name: stringify!($name),
                tiles: Tiles::$tiles,
                pols: $pols,
                format: Format::$format,
                declaration: <kernels::$name as Kernel>::DECLARATION,
                function: Function::$sums(kernels::$name),
            },)*]
        }
    };
}

entries! {
    Small 1 I4 I32 correlate_small_i4;
    Small 1 I4 I32 correlate_small_i4_add;
    Small 1 I8 I32 correlate_small_i8;
    Small 1 I8 I32 correlate_small_i8_add;
    Small 1 F16 F32 correlate_small_f16;
    Small 1 F16 F64 correlate_small_f16_add;
    Small 2 I4 I32 correlate_small_heaps_i4;
    Small 2 I4 I32 correlate_small_heaps_i4_add;
    Small 2 I8 I32 correlate_small_heaps_i8;
    Small 2 I8 I32 correlate_small_heaps_i8_add;
    Small 2 F16 F32 correlate_small_heaps_f16;
    Small 2 F16 F64 correlate_small_heaps_f16_add;
    Square 1 I4 I32 correlate_i4;
    Square 1 I4 I32 correlate_i4_add;
    Square 1 I8 I32 correlate_i8;
    Square 1 I8 I32 correlate_i8_add;
    Square 1 F16 F32 correlate_f16;
    Square 1 F16 F64 correlate_f16_add;
    Square 2 I4 I32 correlate_heaps_i4;
    Square 2 I4 I32 correlate_heaps_i4_add;
    Square 2 I8 I32 correlate_heaps_i8;
    Square 2 I8 I32 correlate_heaps_i8_add;
    Square 2 F16 F32 correlate_heaps_f16;
    Square 2 F16 F64 correlate_heaps_f16_add;
    Whole 1 I4 I32 correlate_whole_i4;
    Whole 1 I4 I32 correlate_whole_i4_add;
    Whole 1 I8 I32 correlate_whole_i8;
    Whole 1 I8 I32 correlate_whole_i8_add;
    Whole 1 F16 F32 correlate_whole_f16;
    Whole 1 F16 F64 correlate_whole_f16_add;
    Whole 2 I4 I32 correlate_whole_heaps_i4;
    Whole 2 I4 I32 correlate_whole_heaps_i4_add;
    Whole 2 I8 I32 correlate_whole_heaps_i8;
    Whole 2 I8 I32 correlate_whole_heaps_i8_add;
    Whole 2 F16 F32 correlate_whole_heaps_f16;
    Whole 2 F16 F64 correlate_whole_heaps_f16_add;
}
