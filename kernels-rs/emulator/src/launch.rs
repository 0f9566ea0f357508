//! A launch of a kernel.

use std::panic::Location;

use fringes_kernel_declaration::{KernelDeclaration, LaunchBounds};

use crate::machine::{Current, Machine};
use crate::{FaultKind, GlobalMemory, Report, schedule};

/// Most threads of a block.
const MOST_THREADS: u64 = 1024;
/// Most blocks of a cluster.
const MOST_BLOCKS: u64 = 16;
/// Most dynamic shared memory of a block on any device, in bytes.
const MOST_SHARED_BYTES: u32 = 227 * 1024;

/// What a launch gives to the machine.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) stack_bytes: usize,
    pub(crate) seed: Option<u64>,
    /// What the kernel declares.
    pub(crate) bounds: LaunchBounds,
    /// Where the launch is.
    pub(crate) at: &'static Location<'static>,
}

/// A grid of blocks of threads that run one kernel.
#[derive(Debug, Clone)]
pub struct Launch {
    declaration: &'static str,
    shape: Shape,
}

impl Launch {
    /// A launch of the kernel with this declaration (the text that `kernel!` makes, `saxpy::DECLARATION`).
    #[track_caller]
    pub fn new(declaration: &'static str, grid: [u32; 3], block: [u32; 3]) -> Self {
        let kernel = declaration.split('(').next().unwrap_or_default().into();
        let at = Location::caller();
        let bounds = KernelDeclaration::parse(declaration).map(|declaration| declaration.bounds).unwrap_or_default();
        let cluster = bounds.cluster.unwrap_or([1; 3]);
        Self {
            declaration,
            shape: Shape {
                kernel,
                grid,
                block,
                cluster,
                shared_bytes: 0,
                stack_bytes: 1 << 20,
                seed: None,
                bounds,
                at,
            },
        }
    }

    /// Sets the blocks of a cluster, which run at the same time; without it they are those that the kernel declares, or
    /// one.
    pub fn cluster(mut self, blocks: [u32; 3]) -> Self {
        self.shape.cluster = blocks;
        self
    }

    /// Sets the dynamic shared memory of each block.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.shape.shared_bytes = bytes;
        self
    }

    /// Runs blocks, threads and woken threads in an order drawn from `seed` instead of by index: a kernel whose result
    /// depends on the order shows it under some seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.shape.seed = Some(seed);
        self
    }

    /// Sets the size of each thread's stack, 1 MiB if not set. Only pages that a thread touches take memory; a thread
    /// that needs more ends the process.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.shape.stack_bytes = bytes;
        self
    }

    /// Runs `kernel` once per thread, block after block.
    ///
    /// A launch that breaks the kernel's declaration, or that no device takes, is a fault, and nothing runs. After a
    /// panic, and when no thread of a block can go on, the launch ends; after other faults it goes on.
    ///
    /// # Panics
    /// If called from within a kernel, or when there is no memory for the threads' stacks.
    pub fn run(&self, memory: &mut GlobalMemory, kernel: impl Fn()) -> Report {
        let mut machine = Machine::new(self.shape.clone(), std::mem::take(memory));
        for message in self.broken_rules() {
            machine.fault(FaultKind::Launch, self.shape.at, message);
        }
        if machine.report.fault_total == 0 {
            let current = Current::new(machine);
            schedule::run(&self.shape, &kernel);
            machine = current.finish();
        }
        *memory = std::mem::take(&mut machine.memory);
        machine.finish()
    }

    /// What is wrong with the launch as such.
    fn broken_rules(&self) -> Vec<String> {
        let Shape { grid, block, cluster, shared_bytes, .. } = self.shape;
        let mut broken = Vec::new();
        let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
        if threads == 0 || threads > MOST_THREADS || block[2] > 64 {
            broken.push(format!("block of {block:?} threads; expected 1 to {MOST_THREADS}, and z up to 64"));
        }
        if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 0xffff || grid[2] > 0xffff {
            broken.push(format!("grid of {grid:?} blocks; expected at least 1, and y and z up to 65535"));
        }
        if shared_bytes > MOST_SHARED_BYTES {
            broken.push(format!(
                "{shared_bytes} bytes of shared memory; no device has more than {MOST_SHARED_BYTES} a block"
            ));
        }
        let bounds = match KernelDeclaration::parse(self.declaration) {
            Ok(declaration) => declaration.bounds,
            Err(error) => {
                broken.push(error.to_string());
                return broken;
            }
        };
        if let Some(expected) = bounds.threads.filter(|&expected| expected != block) {
            broken.push(format!("block of {block:?} threads; the kernel is declared for {expected:?}"));
        }
        if let Some(least) = bounds.shared_bytes.filter(|&least| shared_bytes < least) {
            broken.push(format!("{shared_bytes} bytes of shared memory; the kernel is declared for at least {least}"));
        }
        if let Some(expected) = bounds.cluster.filter(|&expected| expected != cluster) {
            broken.push(format!("clusters of {cluster:?} blocks; the kernel is declared for {expected:?}"));
        }
        let blocks = cluster.iter().map(|&n| u64::from(n)).product::<u64>();
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            broken.push(format!("clusters of {cluster:?} blocks; expected 1 to {MOST_BLOCKS}"));
        } else if grid.iter().zip(cluster).any(|(grid, cluster)| grid % cluster != 0) {
            broken.push(format!("grid of {grid:?} blocks; expected multiples of the clusters of {cluster:?}"));
        } else if blocks > 1 && threads % 32 != 0 {
            broken.push(format!("clusters of blocks of {threads} threads; only those of whole warps are modelled"));
        }
        broken
    }
}
