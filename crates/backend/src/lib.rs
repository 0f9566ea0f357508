//! Where operations run, and data that lies on a device.
//!
//! | what | where |
//! |---|---|
//! | which backend runs an operation, and with how much memory | [`Backend`], [`MemoryNeed`] |
//! | what can go wrong with a device | [`DeviceError`], [`Expect`] |

mod backend;
mod error;
mod expect;

pub use backend::{Backend, MemoryNeed};
pub use error::DeviceError;
pub use expect::Expect;
