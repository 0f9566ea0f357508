//! A sink that keeps what it gets.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Product, Sink, Takes};
use crate::BoxError;

/// What a [`MemorySink`] has; it can be read while the instrument runs, and afterwards.
#[derive(Debug, Clone, Default)]
pub struct Collected(Arc<Mutex<Vec<Product>>>);

impl Collected {
    /// Takes all that has come.
    pub fn take(&self) -> Vec<Product> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keeps every product in memory, without a limit: for tests and short runs.
#[derive(Debug, Default)]
pub struct MemorySink {
    products: Collected,
}

impl MemorySink {
    /// A sink, and the list that it fills.
    pub fn new() -> (Self, Collected) {
        let sink = Self::default();
        let products = sink.products.clone();
        (sink, products)
    }
}

impl Sink for MemorySink {
    fn name(&self) -> &str {
        "memory"
    }

    fn takes(&self) -> Takes {
        Takes::Everything
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        self.products.0.lock().unwrap_or_else(PoisonError::into_inner).push(product.clone());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
