//! A sink that notes when dumps came.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fringes::stream::BoxError;
use fringes::stream::sink::{Product, Sink, Takes};

use super::process::processor_seconds;

/// When a dump came, and what processor time the process had had.
pub(crate) type Stamp = (Instant, Option<f64>);

/// Notes dumps and drops them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stamps(Arc<Mutex<Vec<Stamp>>>);

impl Stamps {
    /// What has come.
    pub(crate) fn take(&self) -> Vec<Stamp> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sink for Stamps {
    fn name(&self) -> &str {
        "stamps"
    }

    fn takes(&self) -> Takes {
        Takes::Everything
    }

    fn write(&mut self, _: &Product) -> Result<(), BoxError> {
        let stamp = (Instant::now(), processor_seconds());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stamp);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
