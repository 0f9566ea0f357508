//! What can go wrong in a running instrument.

use fringes_beamformer::BeamformerError;
use fringes_channelizer::ChannelizerError;
use fringes_correlator::CorrelatorError;
use fringes_types::TypesError;

/// An error of a source or a sink of any kind.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A part of an instrument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Where voltages come from.
    Source,
    /// The F-engine.
    FEngine,
    /// The corner turn.
    CornerTurn,
    /// The correlator.
    Correlator,
    /// The beamformer.
    Beamformer,
    /// A sink, by its name.
    Sink(String),
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Source => f.write_str("source"),
            Self::FEngine => f.write_str("F-engine"),
            Self::CornerTurn => f.write_str("corner turn"),
            Self::Correlator => f.write_str("correlator"),
            Self::Beamformer => f.write_str("beamformer"),
            Self::Sink(name) => write!(f, "sink {name}"),
        }
    }
}

/// Errors of instruments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A part failed while the instrument ran. What was complete has been delivered.
    #[error("{stage}: {source}")]
    Stage {
        /// The part.
        stage: Stage,
        /// Its error.
        source: BoxError,
    },
    /// Another rank failed. What was complete has been delivered.
    #[error("rank {rank}: {message}")]
    Rank {
        /// The rank.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// A thread of a part ended by a panic.
    #[error("{stage}: its thread panicked")]
    Panicked {
        /// The part.
        stage: Stage,
    },
    /// Chunk after chunk lies before the samples that came: the clock was set back.
    #[error("expected samples from {expected} on, found {chunks} chunks in a row before it, the last at {actual}")]
    ClockBackward {
        /// The first sample that had not come.
        expected: u64,
        /// First sample of the last chunk.
        actual: u64,
        /// Chunks.
        chunks: u64,
    },
    /// A source gives what the instrument does not take.
    #[error("expected {expected} from the source, found {actual}")]
    Input {
        /// What the instrument takes.
        expected: String,
        /// What came.
        actual: String,
    },
    /// An instrument that cannot be built.
    #[error("{what}: expected {expected}, found {actual}")]
    Plan {
        /// The setting.
        what: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// A change that comes too late, or cannot be made.
    #[error("{what} at sample {sample}: {reason}")]
    Change {
        /// What was to change.
        what: &'static str,
        /// When.
        sample: u64,
        /// Why not.
        reason: String,
    },
    /// A range of voltages that the ring does not hold.
    #[error("expected samples of {held_first}..{held_end}, which the ring holds, found {first}..{end}")]
    NotInRing {
        /// First sample that is held.
        held_first: u64,
        /// Sample after the last one.
        held_end: u64,
        /// First sample asked for.
        first: u64,
        /// Sample after the last one asked for.
        end: u64,
    },
    /// A shape or an axis.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// Of the F-engine.
    #[error(transparent)]
    Channelizer(#[from] ChannelizerError),
    /// Of the correlator.
    #[error(transparent)]
    Correlator(#[from] CorrelatorError),
    /// Of the beamformer.
    #[error(transparent)]
    Beamformer(#[from] BeamformerError),
    /// Of what finds interference.
    #[error(transparent)]
    Interference(#[from] fringes_interference::InterferenceError),
    /// Between ranks.
    #[error(transparent)]
    Exchange(#[from] crate::exchange::ExchangeError),
    /// Of a file.
    #[error(transparent)]
    Io(#[from] fringes_io::IoError),
}

impl StreamError {
    /// An error of a part.
    pub(crate) fn at(stage: Stage, source: impl Into<BoxError>) -> Self {
        Self::Stage { stage, source: source.into() }
    }

    /// An error that a part met with frames: a change that cannot be made is one of the caller's.
    pub(crate) fn of_frames(self, stage: Stage) -> Self {
        match self {
            change @ Self::Change { .. } => change,
            other => Self::at(stage, other),
        }
    }
}
