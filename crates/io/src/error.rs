//! What can be wrong with a file.

use std::path::PathBuf;

/// A file that cannot be read or written, with where and what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Data that does not fit its declared shape or format.
    #[error(transparent)]
    Types(#[from] fringes_types::TypesError),
}
