//! What a case is.

use fringes_device::{Global, GlobalMut, TensorMap};

use crate::Random;

/// One kernel, and how it is run and judged.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the kernel.
    pub name: &'static str,
    /// Intrinsics that it shows.
    pub intrinsics: &'static [&'static str],
    /// The kernel's declaration.
    pub declaration: &'static str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Makes the input of one round.
    pub input: fn(&mut Random) -> Vec<u32>,
    /// Words of output; every one is written.
    pub output_words: usize,
    /// Whether the output is zeros before the kernel runs; else it is not initialised.
    pub zeroed: bool,
    /// Blocks of a cluster, along x; none for a launch without clusters.
    pub cluster: Option<u32>,
    /// Words of input and output that belong together, for a case whose every item is computed alone.
    pub item: Option<(usize, usize)>,
    /// When an output is right.
    pub compare: Compare,
    /// What the output should be, computed in another way than by the emulator, if that is easily said.
    pub oracle: Option<Oracle>,
    /// Lowest compute capability.
    pub compute_capability: (u32, u32),
    /// The kernel.
    pub entry: Entry,
}

/// What an output should be, from the input.
pub type Oracle = fn(&[u32]) -> Vec<u32>;

/// A kernel's function, by what it takes.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// Input and output.
    Plain(unsafe fn(Global<u32>, GlobalMut<u32>)),
    /// Tensor maps of input and output, then both.
    Tensor(unsafe fn(TensorMap, TensorMap, Global<u32>, GlobalMut<u32>), Tensor),
}

/// How input and output are seen as tensors; both have the same shape and begin at word 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// Words of each dimension, the fastest first.
    pub dimensions: &'static [u64],
    /// Words of a block in each dimension.
    pub block: &'static [u32],
    /// Span of the permutation in shared memory in bytes: 0 (none), 32, 64 or 128.
    pub swizzle: u32,
}

/// When an output is right.
#[derive(Debug, Clone, Copy)]
pub enum Compare {
    /// Bit for bit.
    Exact,
    /// Within a bound that follows from the instruction.
    Within {
        /// The bound in words, for reports.
        formula: &'static str,
        /// `holds(input, index of the output word, expected, got)`. With [`Case::item`] the input is that of the item,
        /// and the index counts within the item.
        holds: fn(&[u32], usize, u32, u32) -> bool,
    },
}

impl Case {
    /// A case with one block and no shared memory, compared bit for bit with the emulator; 256 random words in, none
    /// out.
    pub fn new(
        name: &'static str,
        intrinsics: &'static [&'static str],
        declaration: &'static str,
        block: [u32; 3],
        entry: Entry,
    ) -> Self {
        Self {
            name,
            intrinsics,
            declaration,
            grid: [1; 3],
            block,
            shared_bytes: 0,
            input: |random| random.words(256),
            output_words: 0,
            zeroed: false,
            cluster: None,
            item: None,
            compare: Compare::Exact,
            oracle: None,
            compute_capability: (8, 0),
            entry,
        }
    }

    /// Sets how the input is made.
    pub fn input(mut self, input: fn(&mut Random) -> Vec<u32>) -> Self {
        self.input = input;
        self
    }

    /// Sets the words of output.
    pub fn output(mut self, words: usize) -> Self {
        self.output_words = words;
        self
    }

    /// Has blocks launched in clusters of so many along x.
    pub fn in_clusters(mut self, blocks: u32) -> Self {
        self.cluster = Some(blocks);
        self
    }

    /// Has the output set to zeros before the kernel runs.
    pub fn zeroed(mut self) -> Self {
        self.zeroed = true;
        self
    }

    /// Sets the blocks.
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Sets the dynamic shared memory.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Sets the words in and out of an item.
    pub fn item(mut self, input: usize, output: usize) -> Self {
        self.item = Some((input, output));
        self
    }

    /// Sets a bound in place of equality.
    pub fn within(mut self, formula: &'static str, holds: fn(&[u32], usize, u32, u32) -> bool) -> Self {
        self.compare = Compare::Within { formula, holds };
        self
    }

    /// Sets what the output should be as a function of the input: the emulator's output is held to it as well.
    pub fn expect(mut self, oracle: Oracle) -> Self {
        self.oracle = Some(oracle);
        self
    }

    /// Sets the lowest compute capability.
    pub fn capability(mut self, major: u32, minor: u32) -> Self {
        self.compute_capability = (major, minor);
        self
    }

    /// The input of a round: the same for the same case and round, everywhere.
    pub fn input_of(&self, round: u64) -> Vec<u32> {
        (self.input)(&mut Random::new(self.name, round))
    }
}

/// One to three extents, the missing ones 1.
pub fn three(extents: &[u32]) -> [u32; 3] {
    core::array::from_fn(|axis| extents.get(axis).copied().unwrap_or(1))
}
