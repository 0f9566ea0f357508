//! Modules: PTX texts, compiled by the driver for a device.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys;
use fringes_kernel_declaration::KernelDeclaration;

use crate::context::Handle;
use crate::driver::{self, Failure};
use crate::{Device, GpuError, PtxSet, PtxTarget};

/// A PTX text that is loaded on a device, with the kernels that it declares.
///
/// The driver compiles a text once and keeps the result on disk; this crate keeps it loaded as long as the device's context, so
/// that loading the same text again costs nothing. `Module` is `Send` and `Sync`, and its clones are cheap.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) device: Device,
    pub(crate) loaded: Arc<LoadedModule>,
}

/// What a context keeps of a module.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) raw: Handle<sys::CUmod_st>,
    pub(crate) target: String,
    pub(crate) declarations: Vec<Arc<KernelDeclaration>>,
    /// Parameters that the entry of each declaration has.
    pub(crate) parameters: Vec<usize>,
}

impl Device {
    /// Loads the text of a set that is best for this device.
    ///
    /// # Errors
    /// [`GpuError::Compile`] with the compiler's log, [`GpuError::Declaration`], and what the driver answers.
    pub fn load(&self, set: &PtxSet) -> Result<Module, GpuError> {
        self.load_text(set.choose(self.info().compute_capability).1)
    }

    /// Loads the text of a set for just this target.
    ///
    /// # Errors
    /// As [`Device::load`]; [`GpuError::Value`] where the set has no such text or the device does not run it.
    pub fn load_target(&self, set: &PtxSet, target: PtxTarget) -> Result<Module, GpuError> {
        let capability = self.info().compute_capability;
        let text = set.get(target).ok_or_else(|| GpuError::Value {
            what: "target of kernels",
            expected: "one that they are compiled for".into(),
            actual: target.name().into(),
        })?;
        if !target.runs_on(capability) {
            return Err(GpuError::Value {
                what: "target of kernels",
                expected: format!("one that compute capability {}.{} runs", capability.0, capability.1),
                actual: target.name().into(),
            });
        }
        self.load_text(text)
    }

    /// Loads a PTX text that is no part of the program: one that was read or made at run time.
    ///
    /// # Errors
    /// As [`Device::load`].
    ///
    /// # Safety
    /// What the text declares of its kernels is true: their parameters, and that those declared `safe` stay inside their views.
    pub unsafe fn load_ptx(&self, ptx: &str) -> Result<Module, GpuError> {
        self.load_text(ptx)
    }

    fn load_text(&self, ptx: &str) -> Result<Module, GpuError> {
        // Held while compiling, so that two threads do not compile the same text.
        let mut modules = self.context.modules();
        if let Some(loaded) = modules.get(ptx) {
            return Ok(Module { device: self.clone(), loaded: Arc::clone(loaded) });
        }
        let declarations: Vec<_> = KernelDeclaration::all(ptx)?.into_iter().map(Arc::new).collect();
        let parameters = declarations.iter().map(|kernel| parameters_of(ptx, &kernel.name)).collect();
        let target = target_of(ptx);
        let span = tracing::info_span!("compile", gpu = self.info().index, target = %target);
        let raw = span.in_scope(|| compile(self, ptx, &target))?;
        let loaded = Arc::new(LoadedModule { raw: Handle(raw), target, declarations, parameters });
        modules.insert(ptx.to_owned(), Arc::clone(&loaded));
        Ok(Module { device: self.clone(), loaded })
    }
}

impl Module {
    /// The device that it is loaded on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What the text was compiled for, such as `sm_80`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.loaded.target
    }

    /// The kernels that the text declares.
    pub fn declarations(&self) -> impl Iterator<Item = &KernelDeclaration> {
        self.loaded.declarations.iter().map(AsRef::as_ref)
    }
}

/// How many parameters an entry of a PTX text has; none where there is no such entry.
fn parameters_of(ptx: &str, name: &str) -> usize {
    let mut entries = ptx.split(".entry ").skip(1);
    let entry = entries.find_map(|entry| entry.strip_prefix(name)?.trim_start().strip_prefix('('));
    entry.and_then(|list| list.split(')').next()).map_or(0, |list| list.matches(".param").count())
}

/// The `.target` of a PTX text.
fn target_of(ptx: &str) -> String {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".target "));
    line.and_then(|rest| rest.split([',', ' ', '/']).next()).unwrap_or("an unnamed target").trim().to_owned()
}

/// Has the driver compile and load a text.
fn compile(device: &Device, ptx: &str, target: &str) -> Result<sys::CUmodule, GpuError> {
    const LOG_BYTES: usize = 16 << 10;
    let text = CString::new(ptx).map_err(|zero| GpuError::PtxText { position: zero.nul_position() })?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // An option's value travels as a pointer, or as a number in the place of one.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut module: sys::CUmodule = std::ptr::null_mut();
    let _entered = device.context.enter()?;
    // SAFETY: the text ends with zero, there are two options with a value each, and the log has the bytes that it is said to have.
    let answer = unsafe {
        driver::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match answer {
        Ok(()) => Ok(module),
        Err(Failure::Code(code)) => {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            Err(GpuError::Compile {
                device: device.info().name.clone(),
                target: target.into(),
                code,
                name: driver::describe(code).0,
                log: String::from_utf8_lossy(&log[..end]).trim().to_owned(),
            })
        }
        Err(failure) => Err(failure.error("loading kernels".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::target_of;

    #[test]
    fn a_texts_target_is_found() {
        assert_eq!(target_of(".version 7.8\n.target sm_80\n.address_size 64"), "sm_80");
        assert_eq!(target_of(".version 8.3\n  .target sm_90a, debug // x"), "sm_90a");
        assert_eq!(target_of("nothing"), "an unnamed target");
    }
}
