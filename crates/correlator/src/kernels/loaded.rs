//! Kernels that were loaded before, by what they are for: the one-call function loads them once a process.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fringes_gpu::{Device, PtxTarget};
use fringes_types::{Inputs, SampleFormat};

/// What kernels are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Correlate(SampleFormat, Inputs, PtxTarget),
    Pack,
    Reduce,
}

type Entry = (Device, Key, Arc<dyn Any + Send + Sync>);

/// In the order of their last use.
static LOADED: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Kinds of kernels that are kept.
const KEPT: usize = 64;

/// What was made for a key on a device before, or what `make` makes.
pub(super) fn once<T: Any + Send + Sync, E>(
    device: &Device,
    key: Key,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    if let Some(found) = take(&mut loaded(), device, key) {
        return Ok(found);
    }
    // Outside of the lock: loading may take as long as compiling does.
    let made = Arc::new(make()?);
    let mut loaded = loaded();
    if loaded.len() >= KEPT {
        loaded.remove(0);
    }
    loaded.push((device.clone(), key, made.clone()));
    Ok(made)
}

fn loaded() -> MutexGuard<'static, Vec<Entry>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is there for a key, which becomes the last one.
fn take<T: Any + Send + Sync>(loaded: &mut Vec<Entry>, device: &Device, key: Key) -> Option<Arc<T>> {
    let place = loaded.iter().position(|(of, known, _)| *known == key && of.is_same(device))?;
    let entry = loaded.remove(place);
    let found = entry.2.clone().downcast().ok();
    loaded.push(entry);
    found
}
