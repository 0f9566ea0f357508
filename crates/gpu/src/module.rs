//! Modules: PTX texts, compiled by the driver for a device.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys;
use fringes_kernel_declaration::KernelDeclaration;

use crate::context::Handle;
use crate::driver::{self, Failure};
use crate::ptx::TextPlace;
use crate::{Device, GpuError, PtxSet, PtxTarget, PtxText};

/// A PTX text that is loaded on a device, with the kernels that it declares.
///
/// The driver compiles a text once and keeps the result on disk; this crate keeps it loaded as long as the device's
/// context, so that loading the same text again costs nothing. `Module` is `Send` and `Sync`, and its clones are cheap.
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

/// What a context knows a loaded module by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TextKey {
    /// A text of the program, by its place there: nothing of the text is hashed, compared or kept.
    Program(TextPlace),
    /// A text that came at run time, by itself: its memory may have held another one.
    Loaded(Box<str>),
}

impl Device {
    /// Loads the text of a set that is best for this device. What is loaded already is found without reading the text.
    ///
    /// # Errors
    /// [`GpuError::NoPtx`] for a set without any text, [`GpuError::Compile`] with the compiler's log,
    /// [`GpuError::Declaration`], and what the driver answers.
    pub fn load(&self, set: &PtxSet) -> Result<Module, GpuError> {
        set.check()?;
        self.load_stored(set.choose(self.info().compute_capability).1)
    }

    /// Loads the text of a set for just this target.
    ///
    /// # Errors
    /// As [`Device::load`]; [`GpuError::Value`] where the set has no such text or the device does not run it.
    pub fn load_target(&self, set: &PtxSet, target: PtxTarget) -> Result<Module, GpuError> {
        set.check()?;
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
        self.load_stored(text)
    }

    /// Loads a PTX text that is no part of the program: one that was read or made at run time.
    ///
    /// # Errors
    /// As [`Device::load`].
    ///
    /// # Safety
    /// What the text declares of its kernels is true: their parameters, and that those declared `safe` stay inside
    /// their views.
    pub unsafe fn load_ptx(&self, ptx: &str) -> Result<Module, GpuError> {
        self.load_once(TextKey::Loaded(ptx.into()), || Ok(Cow::Borrowed(ptx)))
    }

    fn load_stored(&self, text: PtxText) -> Result<Module, GpuError> {
        self.load_once(TextKey::Program(text.place()), || text.read())
    }

    /// The module of a key, which is compiled from the text that `read` gives unless it is there.
    fn load_once<'a>(
        &self,
        key: TextKey,
        read: impl FnOnce() -> Result<Cow<'a, str>, GpuError>,
    ) -> Result<Module, GpuError> {
        // Held while compiling, so that two threads do not compile the same text.
        let loaded = found_or_made(&mut self.context.modules(), key, || {
            let ptx = read()?;
            let declarations: Vec<_> = KernelDeclaration::all(&ptx)?.into_iter().map(Arc::new).collect();
            let parameters = declarations.iter().map(|kernel| parameters_of(&ptx, &kernel.name)).collect();
            let target = target_of(&ptx);
            let span = tracing::info_span!("compile", gpu = self.info().index, target = %target);
            let raw = span.in_scope(|| compile(self, ptx, &target))?;
            Ok(LoadedModule { raw: Handle(raw), target, declarations, parameters })
        })?;
        Ok(Module { device: self.clone(), loaded })
    }
}

/// The value of a key, made if it is not there. What cannot be made leaves nothing.
fn found_or_made<T>(
    known: &mut HashMap<TextKey, Arc<T>>,
    key: TextKey,
    make: impl FnOnce() -> Result<T, GpuError>,
) -> Result<Arc<T>, GpuError> {
    if let Some(found) = known.get(&key) {
        return Ok(Arc::clone(found));
    }
    let made = Arc::new(make()?);
    known.insert(key, Arc::clone(&made));
    Ok(made)
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
fn compile(device: &Device, ptx: Cow<'_, str>, target: &str) -> Result<sys::CUmodule, GpuError> {
    const LOG_BYTES: usize = 16 << 10;
    let text = CString::new(ptx.into_owned()).map_err(|zero| GpuError::PtxText { position: zero.nul_position() })?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // An option's value travels as a pointer, or as a number in the place of one.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut module: sys::CUmodule = std::ptr::null_mut();
    let _entered = device.context.enter()?;
    // SAFETY: the text ends with zero, there are two options with a value each, and the log has the bytes that it is
    // said to have.
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
    use super::*;

    #[test]
    fn a_text_of_the_program_is_read_once_and_what_fails_is_tried_again() {
        static TEXT: &str = ".target sm_80";
        let mut known: HashMap<TextKey, Arc<u32>> = HashMap::new();
        let key = || TextKey::Program(PtxText::plain(TEXT).place());
        let error = GpuError::PtxText { position: 3 };
        assert_eq!(found_or_made(&mut known, key(), || Err(error.clone())), Err(error));
        assert!(known.is_empty());
        assert_eq!(found_or_made(&mut known, key(), || Ok(7)).as_deref(), Ok(&7));
        let again = found_or_made(&mut known, key(), || unreachable!("it is there"));
        assert_eq!(again.as_deref(), Ok(&7));
        // The same words from elsewhere are another text, and the same words at run time are one.
        let moved = TextKey::Program(PtxText::plain(String::from(TEXT).leak()).place());
        assert_eq!(found_or_made(&mut known, moved, || Ok(8)).as_deref(), Ok(&8));
        for made in [9, 10] {
            let read = TextKey::Loaded(String::from(TEXT).into());
            assert_eq!(found_or_made(&mut known, read, || Ok(made)).as_deref(), Ok(&9));
        }
        assert_eq!(known.len(), 3);
    }

    #[test]
    fn a_texts_target_is_found() {
        assert_eq!(target_of(".version 7.8\n.target sm_80\n.address_size 64"), "sm_80");
        assert_eq!(target_of(".version 8.3\n  .target sm_90a, debug // x"), "sm_90a");
        assert_eq!(target_of("nothing"), "an unnamed target");
    }
}
