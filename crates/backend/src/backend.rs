//! Where operations run.

use std::sync::OnceLock;

use fringes_gpu::{Device, GpuError};

use crate::DeviceError;

/// Where operations run, and how much memory one call may take for its workspace.
///
/// | backend | an operation with a GPU kernel | one without |
/// |---|---|---|
/// | [`Backend::cpu`] | CPU | CPU |
/// | [`Backend::auto`] | GPU if there is one, else CPU | CPU |
/// | [`Backend::gpu`] | that GPU | [`DeviceError::NotOnGpu`] |
///
/// A program that is built without the feature `gpu` has no kernels: there [`Backend::auto`] is the CPU, and
/// [`Backend::gpu`] an error ([`DeviceError::Unavailable`]). If just some of its crates are built so, their operations
/// on a GPU are an error ([`fringes_gpu::GpuError::NoPtx`]).
///
/// Which operations have kernels is said in their documentation. What runs is chosen before the work starts; an error
/// of a GPU is returned, never answered with the CPU.
#[derive(Debug, Clone)]
pub struct Backend {
    place: Place,
    memory_limit_bytes: Option<u64>,
}

/// Where an operation runs.
#[derive(Debug, Clone)]
enum Place {
    Cpu,
    Auto(Device),
    Gpu(Device),
}

impl Backend {
    /// The best GPU of this machine ([`Device::best`]) for operations that have kernels, the CPU for all others and
    /// where there is no GPU. Chosen once a process; [`Backend::name`] says what it is.
    ///
    /// A GPU that is there and cannot be used is reported through `tracing` as a warning, and the CPU is chosen.
    /// Without the feature `gpu` it is the CPU, and no driver is asked.
    pub fn auto() -> Self {
        if !cfg!(feature = "gpu") {
            return Self::cpu();
        }
        static BEST: OnceLock<Option<Device>> = OnceLock::new();
        let best = BEST.get_or_init(|| match Device::best() {
            Ok(device) => Some(device),
            Err(error) => {
                if !error.is_absence() {
                    tracing::warn!(%error, "a GPU cannot be used; Backend::auto() chooses the CPU");
                }
                None
            }
        });
        Self { place: best.clone().map_or(Place::Cpu, Place::Auto), memory_limit_bytes: None }
    }

    /// The CPU, with every thread of the rayon pool.
    pub fn cpu() -> Self {
        Self { place: Place::Cpu, memory_limit_bytes: None }
    }

    /// GPU number `index`, in the driver's order.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] without a driver, without such a GPU, and in a program that is built without the
    /// feature `gpu`; [`DeviceError::Gpu`] if it cannot be used.
    pub fn gpu(index: usize) -> Result<Self, DeviceError> {
        let unavailable = |reason: String| DeviceError::Unavailable { requested: format!("gpu {index}"), reason };
        if !cfg!(feature = "gpu") {
            return Err(unavailable("the program is built without kernels; its feature `gpu` has them".into()));
        }
        Device::open(index).map(Self::on).map_err(|error| match error {
            GpuError::NoDriver | GpuError::NoDevice { .. } => unavailable(error.to_string()),
            error => error.into(),
        })
    }

    /// A GPU that is open already.
    pub fn on(device: Device) -> Self {
        Self { place: Place::Gpu(device), memory_limit_bytes: None }
    }

    /// This backend with the CPU for operations that have no kernel, where it is a GPU: as [`Backend::auto`], on this
    /// GPU.
    pub fn or_cpu(&self) -> Self {
        let place = match &self.place {
            Place::Gpu(device) => Place::Auto(device.clone()),
            other => other.clone(),
        };
        Self { place, ..*self }
    }

    /// Limits the workspace of one call, in bytes; operations split their work to stay below it.
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// The limit on one call's workspace in bytes, if one is set.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit_bytes
    }

    /// Name of the backend, e.g. `cpu`, `gpu 0 (NVIDIA H200)`, or `gpu 0 (NVIDIA H200), cpu where it has no kernel`.
    pub fn name(&self) -> String {
        let gpu = |device: &Device| format!("gpu {} ({})", device.info().index, device.info().name);
        match &self.place {
            Place::Cpu => "cpu".into(),
            Place::Auto(device) => format!("{}, cpu where it has no kernel", gpu(device)),
            Place::Gpu(device) => gpu(device),
        }
    }

    /// The GPU of this backend, whether or not an operation has a kernel for it.
    pub fn device(&self) -> Option<&Device> {
        match &self.place {
            Place::Cpu => None,
            Place::Auto(device) | Place::Gpu(device) => Some(device),
        }
    }

    /// The GPU of this backend, for data that lies in the memory of `device`: data on a device is worked on there.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`] if this backend is another GPU, or the CPU.
    pub fn gpu_with(&self, device: &Device) -> Result<&Device, DeviceError> {
        match self.device() {
            None => Err(DeviceError::not_on_the_cpu(device)),
            Some(own) if !own.is_same(device) => Err(DeviceError::wrong_device(own, device)),
            Some(own) => Ok(own),
        }
    }

    /// Where an operation runs: a GPU, or `None` for the CPU. `has_kernel` says whether it has a GPU kernel.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if it has no kernel and this backend is a GPU and nothing else.
    pub fn gpu_for(&self, operation: &str, has_kernel: bool) -> Result<Option<&Device>, DeviceError> {
        match &self.place {
            Place::Gpu(device) | Place::Auto(device) if has_kernel => Ok(Some(device)),
            Place::Gpu(_) => Err(DeviceError::NotOnGpu { operation: operation.into(), backend: self.name() }),
            Place::Cpu | Place::Auto(_) => Ok(None),
        }
    }

    /// Checks a step's workspace against the limit, for an operation that has no GPU kernel.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if this backend is a GPU and nothing else, [`DeviceError::MemoryLimit`] if the step
    /// needs more.
    pub fn check_cpu(&self, operation: &'static str, needed: u64) -> Result<(), DeviceError> {
        self.gpu_for(operation, false)?;
        self.check_memory(operation, needed)
    }

    /// Checks a step's workspace against the limit.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`] if the step needs more.
    pub fn check_memory(&self, operation: &'static str, needed: u64) -> Result<(), DeviceError> {
        match self.memory_limit_bytes {
            Some(limit) if needed > limit => Err(DeviceError::MemoryLimit { operation, needed, limit }),
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
