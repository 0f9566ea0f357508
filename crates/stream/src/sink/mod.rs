//! Where dumps and beams go.

mod filterbank;
mod memory;
mod npz;
mod spead;
mod uvfits;
mod uvh5;

use std::sync::Arc;

use fringes_types::{Accumulator, Complex, DetectedBeams, Inputs, Visibilities};

pub use filterbank::FilterbankSink;
pub use memory::{Collected, MemorySink};
pub use npz::NpzSink;
pub use spead::SpeadSink;
pub use uvfits::UvfitsSink;
pub use uvh5::Uvh5Sink;

use crate::BoxError;

/// Sums of a dump, as they were made.
#[derive(Debug, Clone, PartialEq)]
pub enum Sums {
    /// Of 4-bit and 8-bit voltages: exact.
    Integers(Visibilities<Complex<i64>>),
    /// Of f16 and f32 voltages.
    Floats(Visibilities<Complex<f64>>),
}

/// What both kinds have.
macro_rules! sums {
    ($self:expr, $of:ident => $do:expr) => {
        match $self {
            $crate::sink::Sums::Integers($of) => $do,
            $crate::sink::Sums::Floats($of) => $do,
        }
    };
}
pub(crate) use sums;

impl Sums {
    /// Stamp of the first spectrum.
    pub fn first_sample(&self) -> u64 {
        sums!(self, sums => sums.clock().first_sample)
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        sums!(self, sums => sums.inputs())
    }

    /// Samples that the dump covers.
    pub fn samples(&self) -> u64 {
        sums!(self, sums => sums.times() * sums.clock().samples_between_spectra)
    }

    /// Spectra that the dump covers.
    pub fn times(&self) -> u64 {
        sums!(self, sums => sums.times())
    }

    /// Spectra of each baseline that were there.
    pub fn valid_samples(&self) -> ndarray::ArrayView1<'_, u64> {
        sums!(self, sums => sums.valid_samples())
    }

    /// Spectra of a channel and baseline that were there and not masked.
    pub fn valid(&self, channel: usize, baseline: usize) -> u64 {
        sums!(self, sums => sums.valid(channel, baseline))
    }

    /// The sums `[channel][baseline]` in f64; of integers beyond 2^53 the nearest.
    pub fn to_c64(&self) -> ndarray::Array2<Complex<f64>> {
        sums!(self, sums => sums.data().mapv(|sum| sum.to_c64()))
    }
}

/// A dump of the correlator.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    /// Which of the instrument's cadences it is of.
    pub cadence: usize,
    /// Which bin, of a cadence with bins.
    pub bin: Option<usize>,
    /// The sums, in the order of the packed lower triangle.
    pub sums: Sums,
}

/// What an instrument gives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Product {
    /// A dump of the correlator.
    Dump(Arc<Dump>),
    /// Detected beams: the sums that a chunk completed.
    Beams(Arc<DetectedBeams<f32>>),
}

impl Product {
    /// Bytes of its array.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Dump(dump) => sums!(&dump.sums, sums => sums.data().len() as u64 * 16),
            Self::Beams(beams) => beams.data().len() as u64 * 4,
        }
    }
}

/// Takes the products of an instrument. It runs on a thread of its own, behind a bounded queue.
pub trait Sink: Send {
    /// Its name, for messages and counters.
    fn name(&self) -> &str;

    /// What it takes; other products are not queued for it. It is asked once, when the instrument starts.
    fn takes(&self) -> Takes;

    /// Takes a product.
    ///
    /// # Errors
    /// Those of the sink; it gets nothing more after one.
    fn write(&mut self, product: &Product) -> Result<(), BoxError>;

    /// Ends: completes and closes what it has written. It is called after an error of another part as well, and after
    /// an error of its own.
    ///
    /// # Errors
    /// Those of the sink.
    fn finish(&mut self) -> Result<(), BoxError>;
}

impl Sink for Box<dyn Sink> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn takes(&self) -> Takes {
        (**self).takes()
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        (**self).write(product)
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        (**self).finish()
    }
}

/// Products that a sink takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// All.
    Everything,
    /// Dumps of one cadence.
    Dumps {
        /// Its number.
        cadence: usize,
    },
    /// Detected beams.
    Beams,
}

impl Takes {
    /// Whether it is among them.
    pub fn includes(self, product: &Product) -> bool {
        match (self, product) {
            (Self::Everything, _) | (Self::Beams, Product::Beams(_)) => true,
            (Self::Dumps { cadence }, Product::Dump(dump)) => dump.cadence == cadence,
            _ => false,
        }
    }
}

/// What becomes of products that a sink is too slow for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The instrument waits. A source that cannot wait, a network, then loses packets.
    #[default]
    Block,
    /// The newest product is dropped, and counted.
    DropNewest,
}
