//! Kernels: entries of a module, ready to be launched.

use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;

use cudarc::driver::sys;
use fringes_kernel_declaration::KernelDeclaration;
use sys::CUfunction_attribute as Attribute;

use crate::argument::{Argument, Value};
use crate::context::Handle;
use crate::driver::{self, Doing, Failure};
use crate::launch::check_launch;
use crate::{Device, GpuError, LaunchConfig, Module, Stream};

/// Bytes of dynamic shared memory that need no opting in.
const SHARED_WITHOUT_OPTING_IN: u32 = 48 << 10;

/// A kernel that is loaded on a device. `Kernel` is `Send` and `Sync`, and its clones are cheap.
#[derive(Debug, Clone)]
pub struct Kernel {
    module: Module,
    raw: Handle<sys::CUfunc_st>,
    declaration: Arc<KernelDeclaration>,
    attributes: KernelAttributes,
}

/// What the driver's compiler made of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelAttributes {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub static_shared_bytes: u32,
    /// Local memory of a thread in bytes: stack and spilled registers.
    pub local_bytes: u32,
    /// Most threads that a block can have.
    pub max_threads_per_block: u32,
}

impl Module {
    /// A kernel by its name.
    ///
    /// # Errors
    /// [`GpuError::NoKernel`] where the module declares none of that name, [`GpuError::Entry`] where the PTX entry's
    /// parameters are not the declared ones (checked from driver 12.4 on), and what the driver answers.
    pub fn kernel(&self, name: &str) -> Result<Kernel, GpuError> {
        let mut known = self.loaded.declarations.iter().zip(&self.loaded.parameters);
        let (declaration, &parameters) = known.find(|(known, _)| known.name == name).ok_or_else(|| {
            let declared = self.declarations().map(|known| known.name.clone()).collect();
            GpuError::NoKernel { name: name.into(), declared }
        })?;
        let doing = || format!("opening kernel `{name}`");
        let text = CString::new(name).map_err(|zero| GpuError::PtxText { position: zero.nul_position() })?;
        let _entered = self.device.context.enter()?;
        let mut raw: sys::CUfunction = std::ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends with zero.
        unsafe { driver::cuModuleGetFunction(&raw mut raw, self.loaded.raw.0, text.as_ptr()) }.doing_with(doing)?;
        check_entry(declaration, parameters, raw)?;
        let get = |attribute: Attribute| {
            let mut value: c_int = 0;
            // SAFETY: the pointer is valid for the call, and the function belongs to a loaded module.
            unsafe { driver::cuFuncGetAttribute(&raw mut value, attribute, raw) }.doing_with(doing)?;
            Ok::<u32, GpuError>(u32::try_from(value).unwrap_or(0))
        };
        let set = |attribute: Attribute, value: u32| {
            let value = c_int::try_from(value).unwrap_or(c_int::MAX);
            // SAFETY: the function belongs to a loaded module.
            unsafe { driver::cuFuncSetAttribute(raw, attribute, value) }.doing_with(doing)
        };
        let attributes = KernelAttributes {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        };
        // Opting in to all that the device has: a limit only, which changes nothing for launches that ask for less.
        let limits = &self.device.info().limits;
        let most = limits.shared_bytes_per_block.saturating_sub(attributes.static_shared_bytes);
        if most > SHARED_WITHOUT_OPTING_IN {
            set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most)?;
        }
        if declaration.bounds.cluster.is_some_and(is_large_cluster) && limits.clusters {
            set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        Ok(Kernel { module: self.clone(), raw: Handle(raw), declaration: Arc::clone(declaration), attributes })
    }
}

/// Whether a cluster has more blocks than every device takes, so that it needs opting in.
fn is_large_cluster([x, y, z]: [u32; 3]) -> bool {
    x.saturating_mul(y).saturating_mul(z) > 8
}

/// Checks that the PTX entry, which has `parameters` parameters, has the declared ones.
fn check_entry(declaration: &KernelDeclaration, parameters: usize, raw: sys::CUfunction) -> Result<(), GpuError> {
    for index in 0..parameters.max(declaration.parameters.len()) {
        let expected = declaration.parameters.get(index).map(|parameter| parameter.kind.bytes());
        let (mut offset, mut bytes) = (0usize, 0usize);
        let mut ask = || {
            // SAFETY: the pointers are valid for the call, which refuses an index beyond the last parameter.
            match unsafe { driver::cuFuncGetParamInfo(raw, index, &raw mut offset, &raw mut bytes) } {
                Ok(()) => Some(bytes),
                Err(Failure::Missing(_)) => expected, // An older driver: only their number is known.
                Err(Failure::Code(_)) => None,
            }
        };
        let actual = if index < parameters { ask() } else { None };
        if expected != actual {
            return Err(GpuError::Entry { kernel: declaration.name.clone(), index, expected, actual });
        }
    }
    Ok(())
}

impl Kernel {
    /// The device that it is loaded on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.module.device
    }

    /// What the kernel declares.
    #[must_use]
    pub fn declaration(&self) -> &KernelDeclaration {
        &self.declaration
    }

    /// What the driver's compiler made of it.
    #[must_use]
    pub fn attributes(&self) -> &KernelAttributes {
        &self.attributes
    }

    /// What the PTX text was compiled for, such as `sm_80`.
    #[must_use]
    pub fn target(&self) -> &str {
        self.module.target()
    }

    /// Threads of a block that the kernel declares; what to launch it with.
    #[must_use]
    pub fn threads(&self) -> Option<[u32; 3]> {
        self.declaration.bounds.threads
    }

    /// The driver's function, for other software to use while this kernel, or its device, lives.
    #[must_use]
    pub fn raw(&self) -> sys::CUfunction {
        self.raw.0
    }

    /// Blocks that a multiprocessor can hold at once.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared_bytes: u32) -> Result<u32, GpuError> {
        let _entered = self.device().context.enter()?;
        let mut blocks: c_int = 0;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: the pointer is valid for the call, and the function belongs to a loaded module.
        unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.raw.0,
                threads,
                shared_bytes as usize,
            )
        }
        .doing_with(|| format!("asking for the occupancy of kernel `{}`", self.declaration.name))?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Queues the kernel on a stream. Returns at once.
    ///
    /// Number, kinds and element types of the arguments, block, grid, shared memory and cluster are checked first.
    ///
    /// ```no_run
    /// # use fringes_gpu::{args, Buffer, Kernel, LaunchConfig, Stream, GpuError};
    /// # fn f(kernel: &Kernel, stream: &Stream, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), GpuError> {
    /// let config = LaunchConfig::for_elements(y.len(), 256)?;
    /// // SAFETY: `saxpy` stays inside of its views, and nothing else uses them.
    /// unsafe { kernel.launch(stream, &config, args![2.0f32, x, y]) }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`GpuError::ArgumentCount`], [`GpuError::Argument`], [`GpuError::Geometry`] and [`GpuError::WrongDevice`] before
    /// anything is queued; what the driver answers. A failure of the kernel itself comes with a later call.
    ///
    /// # Safety
    /// - The kernel's own `# Safety` section holds for these arguments and this geometry;
    /// - nothing on another stream, no other process and no other device writes what the kernel reads, or reads what it
    ///   writes, until the kernel is done, unless the kernel is made for it;
    /// - memory that a tensor map names lives until the kernel is done.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        config: &LaunchConfig,
        arguments: &[Argument<'_>],
    ) -> Result<(), GpuError> {
        let context = &self.device().context;
        context.expect_same(&stream.device().context, "the stream")?;
        for argument in arguments {
            if let Some(other) = argument.context {
                context.expect_same(other, "an argument")?;
            }
        }
        let kinds: Vec<_> = arguments.iter().map(|argument| argument.kind).collect();
        check_launch(&self.declaration, &self.attributes, &self.device().info().limits, config, &kinds)?;
        let mut parameters: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match &argument.value {
                Value::Words(words) => std::ptr::from_ref(words).cast_mut().cast(),
                Value::TensorMap(map) => std::ptr::from_ref(map).cast_mut().cast(),
            })
            .collect();
        let mut attributes = Vec::with_capacity(2);
        if let Some([x, y, z]) = config.cluster {
            attributes.push(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue {
                    clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z },
                },
            });
        }
        if config.cooperative {
            attributes.push(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { cooperative: 1 },
            });
        }
        let raw = sys::CUlaunchConfig {
            gridDimX: config.grid[0],
            gridDimY: config.grid[1],
            gridDimZ: config.grid[2],
            blockDimX: config.block[0],
            blockDimY: config.block[1],
            blockDimZ: config.block[2],
            sharedMemBytes: config.shared_bytes,
            hStream: stream.raw(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        let doing = || format!("launching kernel `{}`", self.declaration.name);
        let _entered = context.enter()?;
        if config.cluster.is_some_and(is_large_cluster) {
            let allowed = Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the function belongs to a loaded module.
            unsafe { driver::cuFuncSetAttribute(self.raw.0, allowed, 1) }.doing_with(doing)?;
        }
        // SAFETY: `parameters` has a pointer to a value of the declared size for each parameter of the entry; the
        // driver copies the values before it returns. The caller answers for what the kernel does.
        unsafe { driver::cuLaunchKernelEx(&raw, self.raw.0, parameters.as_mut_ptr(), std::ptr::null_mut()) }
            .doing_with(doing)
    }
}
