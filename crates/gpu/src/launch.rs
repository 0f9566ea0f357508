//! Launches: their geometry, and the check of geometry and arguments against what a kernel declares.

use fringes_kernel_declaration::{Access, KernelDeclaration, ParameterKind};

use crate::{GpuError, KernelAttributes, LaunchLimits};

/// Geometry of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid, x y z.
    pub grid: [u32; 3],
    /// Threads of a block, x y z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster, x y z; none for what the kernel declares, or no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether all blocks must run at once, so that they can wait for each other.
    pub cooperative: bool,
}

impl Default for LaunchConfig {
    /// One block of one thread.
    fn default() -> Self {
        Self { grid: [1; 3], block: [1; 3], shared_bytes: 0, cluster: None, cooperative: false }
    }
}

impl LaunchConfig {
    /// A grid of blocks, x y z each, without dynamic shared memory.
    #[must_use]
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, ..Self::default() }
    }

    /// As many blocks of so many threads, in x, as give each of `elements` a thread; one block for none.
    ///
    /// # Errors
    /// [`GpuError::Value`] for no threads, and where the blocks are more than 2^31 - 1.
    pub fn for_elements(elements: usize, threads: u32) -> Result<Self, GpuError> {
        let value = |expected: &str, actual: String| {
            Err(GpuError::Value { what: "threads of a launch", expected: expected.into(), actual })
        };
        if threads == 0 {
            return value("at least one thread a block", "none".into());
        }
        let blocks = elements.div_ceil(threads as usize).max(1);
        match i32::try_from(blocks) {
            Ok(blocks) => Ok(Self::new([blocks.unsigned_abs(), 1, 1], [threads, 1, 1])),
            Err(_) => value("at most 2147483647 blocks", format!("{blocks} blocks of {threads} threads")),
        }
    }

    /// With dynamic shared memory.
    #[must_use]
    pub fn with_shared_bytes(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }

    /// With clusters of blocks.
    #[must_use]
    pub fn with_cluster(self, cluster: [u32; 3]) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// With all blocks running at once.
    #[must_use]
    pub fn with_cooperation(self) -> Self {
        Self { cooperative: true, ..self }
    }
}

/// Checks a launch against what the kernel declares, what it was compiled to and what the device allows.
///
/// [`Kernel::launch`](crate::Kernel::launch) does this itself; alone it needs no GPU. A view that is to be written may
/// be given where the kernel only reads.
///
/// # Errors
/// [`GpuError::ArgumentCount`], [`GpuError::Argument`] and [`GpuError::Geometry`], with what was expected and what
/// came.
pub fn check_launch(
    declaration: &KernelDeclaration,
    attributes: &KernelAttributes,
    limits: &LaunchLimits,
    config: &LaunchConfig,
    arguments: &[ParameterKind],
) -> Result<(), GpuError> {
    check_arguments(declaration, arguments)?;
    check_geometry(declaration, attributes, limits, config)
}

fn check_arguments(declaration: &KernelDeclaration, arguments: &[ParameterKind]) -> Result<(), GpuError> {
    let kernel = || declaration.name.clone();
    let expected = declaration.parameters.len();
    if arguments.len() != expected {
        return Err(GpuError::ArgumentCount { kernel: kernel(), expected, actual: arguments.len() });
    }
    for (index, (parameter, argument)) in declaration.parameters.iter().zip(arguments).enumerate() {
        let fits = match (parameter.kind, *argument) {
            (
                ParameterKind::Buffer { element: expected, access: Access::Read },
                ParameterKind::Buffer { element: actual, access: Access::Read | Access::ReadWrite },
            ) => expected == actual,
            (expected, actual) => expected == actual,
        };
        if !fits {
            return Err(GpuError::Argument {
                kernel: kernel(),
                index,
                parameter: parameter.name.clone(),
                expected: parameter.kind.to_string(),
                actual: argument.to_string(),
            });
        }
    }
    Ok(())
}

fn check_geometry(
    declaration: &KernelDeclaration,
    attributes: &KernelAttributes,
    limits: &LaunchLimits,
    config: &LaunchConfig,
) -> Result<(), GpuError> {
    let wrong = |what: &'static str, expected: String, actual: String| {
        Err(GpuError::Geometry { kernel: declaration.name.clone(), what, expected, actual })
    };
    let bounds = &declaration.bounds;
    let LaunchConfig { grid, block, shared_bytes, cluster, cooperative } = *config;
    if let Some(threads) = bounds.threads
        && threads != block
    {
        return wrong("threads of a block", format!("{threads:?}"), format!("{block:?}"));
    }
    if !inside(block, limits.block) {
        return wrong("threads of a block", format!("1 to {:?}", limits.block), format!("{block:?}"));
    }
    let most_threads = limits.threads_per_block.min(attributes.max_threads_per_block);
    if product(block) > u64::from(most_threads) {
        return wrong("threads of a block", format!("at most {most_threads}"), product(block).to_string());
    }
    if !inside(grid, limits.grid) {
        return wrong("blocks of the grid", format!("1 to {:?}", limits.grid), format!("{grid:?}"));
    }
    let most_bytes = limits.shared_bytes_per_block.saturating_sub(attributes.static_shared_bytes);
    let least_bytes = bounds.shared_bytes.unwrap_or(0);
    if !(least_bytes..=most_bytes).contains(&shared_bytes) {
        return wrong(
            "dynamic shared memory",
            format!("{least_bytes} to {most_bytes} bytes"),
            format!("{shared_bytes} bytes"),
        );
    }
    if cooperative && !limits.cooperative {
        return wrong("cooperation", "a device that can launch so".into(), "one that cannot".into());
    }
    let cluster = match (bounds.cluster, cluster) {
        (Some(declared), Some(asked)) if declared != asked => {
            return wrong("blocks of a cluster", format!("{declared:?}"), format!("{asked:?}"));
        }
        (declared, asked) => asked.or(declared),
    };
    let Some(cluster) = cluster else { return Ok(()) };
    if !limits.clusters {
        return wrong("clusters", "compute capability 9.0 or higher".into(), format!("clusters of {cluster:?}"));
    }
    const MOST_BLOCKS: u64 = 16;
    if !(1..=MOST_BLOCKS).contains(&product(cluster)) {
        return wrong("blocks of a cluster", format!("1 to {MOST_BLOCKS}"), format!("{cluster:?}"));
    }
    if grid.iter().zip(cluster).any(|(blocks, size)| !blocks.is_multiple_of(size)) {
        return wrong("blocks of the grid", format!("multiples of the cluster {cluster:?}"), format!("{grid:?}"));
    }
    Ok(())
}

/// Whether each of three sizes is at least 1 and at most its limit.
fn inside(sizes: [u32; 3], limits: [u32; 3]) -> bool {
    sizes.iter().zip(limits).all(|(size, limit)| (1..=limit).contains(size))
}

fn product([x, y, z]: [u32; 3]) -> u64 {
    u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z))
}
