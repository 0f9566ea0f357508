//! What can go wrong between ranks.

/// Errors of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Counts or bytes do not fit.
    #[error("{what}: expected {expected}, found {actual}")]
    Blocks {
        /// Which.
        what: &'static str,
        /// What they should be.
        expected: usize,
        /// What they are.
        actual: usize,
    },
    /// A rank has ended.
    #[error("rank {rank} is lost")]
    Lost {
        /// The rank.
        rank: usize,
    },
    /// Ranks do not answer.
    #[error("no answer from {} for {seconds} s", ranks_of(.ranks))]
    Silent {
        /// The ranks; none where it cannot be told which.
        ranks: Vec<usize>,
        /// How long they were waited for.
        seconds: u64,
    },
    /// A block of another length than both ends agreed on.
    #[error("expected a block of {expected} bytes from rank {rank}, found {actual}")]
    Length {
        /// The sender.
        rank: usize,
        /// Bytes.
        expected: usize,
        /// Bytes.
        actual: usize,
    },
    /// More bytes than the engine counts.
    #[error("expected at most {most} bytes in an exchange, found {actual}")]
    TooLarge {
        /// Bytes.
        most: usize,
        /// Bytes.
        actual: usize,
    },
    /// A lane that has been opened.
    #[error("lane {lane} has been opened by rank {rank}")]
    Opened {
        /// The lane.
        lane: usize,
        /// The rank.
        rank: usize,
    },
    /// What the engine itself says.
    #[error("{0}")]
    Engine(String),
}

impl From<fringes_gpu::GpuError> for ExchangeError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Engine(error.to_string())
    }
}

/// Ranks in words.
fn ranks_of(ranks: &[usize]) -> String {
    match ranks {
        [] => "a rank".into(),
        [one] => format!("rank {one}"),
        more => format!("ranks {}", more.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
