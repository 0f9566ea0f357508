//! Where operations run, and data that lies on a device.
//!
//! | what | where |
//! |---|---|
//! | which backend runs an operation, and with how much memory | [`Backend`], [`MemoryNeed`] |
//! | the array of a chunk in device memory, in pinned memory | [`DeviceArray`], [`PinnedArray`] |
//! | chunks in pinned memory | [`PinnedSamples`], [`PinnedHeaps`] |
//! | chunks on a device | [`DeviceSamples`], [`DeviceVoltages`], [`DeviceHeaps`], [`DeviceRows`], [`DeviceVisibilities`], [`DeviceBeams`] |
//! | some batches of heaps on a device, without a copy | [`batches_of`] |
//! | to a device and back | [`Uploader`], [`Downloader`], [`ToHost`], [`Staging`], [`Workspace`] |
//! | the corner turn: all antennas of some channels, of several GPUs' antennas | [`turn_channels`], `NcclTurn` (feature `nccl`), [`turn_channels_on_host`] |
//! | the same without a copy: F-engines write where it is read | [`TurnRing`] |
//! | what can go wrong with a device | [`DeviceError`], [`Expect`] |
//!
//! A chunk is a header (axes, clock, presence) and an array; where the array lies is the array's property. Operations
//! take chunks wherever they lie, and what they give lies where their input lay. A [`Backend`] decides for chunks in
//! host memory alone.

mod backend;
mod device_array;
mod downloader;
mod error;
mod expect;
mod pinned_array;
mod staging;
mod transfer;
mod turn;
mod workspace;

pub use backend::{Backend, MemoryNeed};
pub use device_array::DeviceArray;
pub use downloader::Downloader;
pub use error::DeviceError;
pub use expect::Expect;
pub use pinned_array::{PinnedArray, PinnedHeaps, PinnedSamples};
pub use staging::{Fetch, Staging, copy, copy_rows};
pub use transfer::{
    DeviceBeams, DeviceDetectedBeams, DeviceHeaps, DeviceRows, DeviceSamples, DeviceVisibilities, DeviceVoltages,
    ToHost, UploadError, Uploader, batches_of, sample_row_bytes,
};
#[cfg(feature = "nccl")]
pub use turn::NcclTurn;
pub use turn::{RingShape, TurnError, TurnRing, TurnedFrames, TurnedHeader, turn_channels, turn_channels_on_host};
pub use workspace::Workspace;
