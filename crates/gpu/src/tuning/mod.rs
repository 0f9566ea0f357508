//! Autotuning: which variant of a kernel, and which parameters, are fastest on a device at a size.
//!
//! | what | where |
//! |---|---|
//! | a variant with its parameters, a size | [`Choice`], [`Sizes`] |
//! | what was measured once and is committed, a text per kernel family | [`Table`] |
//! | what was measured on this machine, a file per device, driver and kernels' source | [`Cache`] |
//! | measuring candidates by events | [`Candidate`], [`EventTimer`] |
//! | all of it in order: table, cache, measurement | [`Tuner`] |
//! | in how many parts to sum time, without any measurement | [`time_parts`] |
//!
//! A kernel crate's host side commits a table beside its PTX, includes it with `include_str!`, and asks a [`Tuner`]:
//!
//! ```
//! use fringes_gpu::tuning::{Choice, DeviceKey, Origin, Sizes, Table, Tuner};
//!
//! const TABLE: &str = "
//! [NVIDIA H200, 9.0]
//! correlate_i8 channels=64 inputs=128 times=4096 -> sm_90a parts=4 # 0.021 ms
//! ";
//! let device = DeviceKey::new("NVIDIA H200", (9, 0), (13, 0));
//! let tuner = Tuner::new(device, Table::parse(TABLE)?, None);
//! let sizes = Sizes::new(&[("channels", 70), ("inputs", 128), ("times", 4000)]);
//! let candidates = [1, 2, 4].map(|parts| Choice::new("sm_90a").with("parts", parts));
//! let chosen = tuner.known("correlate_i8", &sizes, &candidates);
//! assert_eq!(chosen, Some((candidates[2].clone(), Origin::Table)));
//! # Ok::<(), fringes_gpu::tuning::TableError>(())
//! ```
//!
//! # Files
//! The cache is in the folder that the variable `FRINGES_CACHE` names, or else in `$XDG_CACHE_HOME/fringes` or
//! `~/.cache/fringes`; `FRINGES_CACHE=off` keeps nothing on disk. It can be deleted at any time. A file that cannot be
//! read, or holds anything else, counts as empty: nothing about it is an error.

mod cache;
mod choice;
mod folder;
mod measure;
mod source;
mod split;
mod table;
mod text;
mod tuner;

pub use cache::Cache;
pub use choice::{Choice, DeviceKey, Sizes, size_class};
pub use folder::CACHE_VARIABLE;
pub use measure::{Candidate, EventTimer, Measure};
pub use source::source_hash;
pub use split::time_parts;
pub use table::{Entry, Section, Table};
pub use text::TableError;
pub use tuner::{Origin, Tuner};
