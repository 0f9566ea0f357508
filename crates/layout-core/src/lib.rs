//! Where each element of an array lies, as a map of index bits: the part of `fringes-layout` that kernels use, `no_std`, without
//! allocation, and usable in `const`.
#![no_std]

#[cfg(test)]
extern crate std;

mod compose;
mod error;
mod inverse;
mod layout;
mod matrix;
mod message;
mod name;
mod product;
mod queries;
mod rename;
mod reshape;
mod restrict;
mod space;
mod swizzle;
mod text;
mod tiling;

pub mod access;
pub mod atoms;

pub use error::LayoutError;
pub use inverse::conversion;
pub use layout::Layout;
pub use matrix::{Echelon, Matrix};
pub use message::Message;
pub use name::Name;
pub use space::{MAX_BITS, Space};
pub use swizzle::{Swizzle, swizzle};
pub use tiling::{Dimension, MAX_DIMENSIONS, Place, Tiling, TilingError};
