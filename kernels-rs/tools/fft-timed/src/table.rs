//! The kernels as tests and programs of the host see them.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_kernels_fft_microkernel::note::table;

use crate::note::*;
use crate::sizes::*;

/// Which table of phases a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phases {
    /// The note's, packed.
    Packed,
    /// The note's, not packed.
    Unpacked,
    /// The generated transform's: `fringes_fft::phase_table`.
    Generated,
}

impl Phases {
    /// The table, if it is one of the note's, with a factor for the transform.
    pub fn note(self, scale: f64) -> Option<Vec<u32>> {
        match self {
            Self::Packed => Some(table::packed(scale)),
            Self::Unpacked => Some(table::unpacked(scale)),
            Self::Generated => None,
        }
    }
}

/// A variant of the note's transform, run once.
#[derive(Debug, Clone, Copy)]
pub struct NoteVariant {
    /// Name of the kernel.
    pub name: &'static str,
    /// Its phases.
    pub phases: Phases,
    /// Shared memory of a warp in bytes.
    pub shared_bytes: u32,
    /// Whether it is in the PTX for sm_90a only.
    pub needs_sm_90: bool,
    /// The kernel's declaration.
    pub declaration: &'static str,
    /// The kernel: arrays before, phases, arrays afterwards.
    pub kernel: fn(Global<u32>, Global<u32>, GlobalMut<u32>),
}

/// A kernel that takes cycles.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    /// Name of the kernel.
    pub name: &'static str,
    /// Its phases.
    pub phases: Phases,
    /// Inputs and outputs of the transform.
    pub size: (usize, usize),
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Whether it is in the PTX for sm_90a only.
    pub needs_sm_90: bool,
    /// Selects of a transform, which the emulator does not count.
    pub selects: u32,
    /// The kernel's declaration.
    pub declaration: &'static str,
    /// The kernel: phases, cycles, values, steps.
    pub kernel: fn(Global<u32>, GlobalMut<u64>, GlobalMut<u32>, u32),
}

macro_rules! note {
    ($kernel:ident, $phases:ident, $shared_bytes:literal, $needs_sm_90:literal) => {
        NoteVariant {
            name: stringify!($kernel),
            phases: Phases::$phases,
            shared_bytes: $shared_bytes,
            needs_sm_90: $needs_sm_90,
            declaration: <$kernel as Kernel>::DECLARATION,
            kernel: $kernel,
        }
    };
}

macro_rules! timed {
    ($kernel:ident, $phases:expr, $size:expr, $shared_bytes:literal, $needs_sm_90:literal, $selects:literal) => {
        Timed {
            name: stringify!($kernel),
            phases: $phases,
            size: $size,
            shared_bytes: $shared_bytes,
            needs_sm_90: $needs_sm_90,
            selects: $selects,
            declaration: <$kernel as Kernel>::DECLARATION,
            kernel: $kernel,
        }
    };
}

/// Every variant of the note's transform.
pub const NOTE: &[NoteVariant] = &[
    note!(note_by_transposes_packed, Packed, 0, false),
    note!(note_by_transposes_unpacked, Unpacked, 0, false),
    note!(note_by_shuffles_packed, Packed, 0, false),
    note!(note_by_shuffles_unpacked, Unpacked, 0, false),
    note!(note_by_words_packed, Packed, 2048, false),
    note!(note_by_words_unpacked, Unpacked, 2048, false),
    note!(note_by_matrix_loads_packed, Packed, 2048, false),
    note!(note_by_matrix_loads_unpacked, Unpacked, 2048, false),
    note!(note_by_matrices_packed, Packed, 2048, true),
    note!(note_by_matrices_unpacked, Unpacked, 2048, true),
    note!(note_by_halves_packed, Packed, 2048, true),
    note!(note_by_halves_unpacked, Unpacked, 2048, true),
];

/// Every kernel that takes cycles.
pub const TIMED: &[Timed] = &[
    timed!(time_note_by_transposes_packed, Phases::Packed, (256, 512), 0, false, 48),
    timed!(time_note_by_transposes_unpacked, Phases::Unpacked, (256, 512), 0, false, 48),
    timed!(time_note_by_shuffles_packed, Phases::Packed, (256, 512), 0, false, 48),
    timed!(time_note_by_shuffles_unpacked, Phases::Unpacked, (256, 512), 0, false, 48),
    timed!(time_note_by_words_packed, Phases::Packed, (256, 512), 8192, false, 0),
    timed!(time_note_by_words_unpacked, Phases::Unpacked, (256, 512), 8192, false, 0),
    timed!(time_note_by_matrix_loads_packed, Phases::Packed, (256, 512), 8192, false, 0),
    timed!(time_note_by_matrix_loads_unpacked, Phases::Unpacked, (256, 512), 8192, false, 0),
    timed!(time_note_by_matrices_packed, Phases::Packed, (256, 512), 8192, true, 0),
    timed!(time_note_by_matrices_unpacked, Phases::Unpacked, (256, 512), 8192, true, 0),
    timed!(time_note_by_halves_packed, Phases::Packed, (256, 512), 8192, true, 24),
    timed!(time_note_by_halves_unpacked, Phases::Unpacked, (256, 512), 8192, true, 24),
    timed!(time_fft_64_64, Phases::Generated, (64, 64), 0, false, 0),
    timed!(time_fft_64_128, Phases::Generated, (64, 128), 0, false, 0),
    timed!(time_fft_128_128, Phases::Generated, (128, 128), 0, false, 0),
    timed!(time_fft_128_256, Phases::Generated, (128, 256), 0, false, 0),
    timed!(time_fft_256_256, Phases::Generated, (256, 256), 0, false, 0),
    timed!(time_fft_256_512, Phases::Generated, (256, 512), 0, false, 0),
    timed!(time_fft_512_512, Phases::Generated, (512, 512), 0, false, 0),
    timed!(time_fft_512_1024, Phases::Generated, (512, 1024), 0, false, 0),
    timed!(time_fft_1024_1024, Phases::Generated, (1024, 1024), 0, false, 0),
];
