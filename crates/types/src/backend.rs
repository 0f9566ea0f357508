//! Where operations run.

use crate::TypesError;

/// Where operations run, and how much memory one call may take for its workspace.
///
/// Today there is the CPU; [`Backend::gpu`] is reserved for the GPU kernels and says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    memory_limit_bytes: Option<u64>,
}

impl Backend {
    /// The best backend of this machine. Chosen once; [`Backend::name`] says what it is.
    pub fn auto() -> Self {
        Self::cpu()
    }

    /// The CPU, with every thread of the rayon pool.
    pub fn cpu() -> Self {
        Self { memory_limit_bytes: None }
    }

    /// GPU number `index`.
    ///
    /// # Errors
    /// [`TypesError::BackendUnavailable`]: this version has no GPU kernels yet.
    pub fn gpu(index: usize) -> Result<Self, TypesError> {
        Err(TypesError::BackendUnavailable {
            requested: format!("gpu {index}"),
            reason: "this version of Fringes has no GPU kernels; use the cpu or auto backend".into(),
        })
    }

    /// Limits the workspace of one call, in bytes; operations split their work by time to stay below it.
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// The limit on one call's workspace in bytes, if one is set.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit_bytes
    }

    /// Name of the backend, e.g. `cpu`.
    pub fn name(&self) -> String {
        "cpu".into()
    }

    /// Checks a step's workspace against the limit.
    ///
    /// # Errors
    /// [`TypesError::MemoryLimit`] if the step needs more.
    pub fn check_memory(&self, operation: &'static str, needed: u64) -> Result<(), TypesError> {
        match self.memory_limit_bytes {
            Some(limit) if needed > limit => Err(TypesError::MemoryLimit { operation, needed, limit }),
            _ => Ok(()),
        }
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::auto()
    }
}

/// What an operation needs, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryNeed {
    /// Size of the input.
    pub input_bytes: u64,
    /// Size of the output.
    pub output_bytes: u64,
    /// Temporary memory beside input and output, when the work is not split.
    pub workspace_bytes: u64,
    /// Temporary memory of the smallest step that the work can be split into.
    pub smallest_step_bytes: u64,
}

impl MemoryNeed {
    /// Input, output and workspace together, saturating.
    pub fn total_bytes(&self) -> u64 {
        self.input_bytes.saturating_add(self.output_bytes).saturating_add(self.workspace_bytes)
    }
}
