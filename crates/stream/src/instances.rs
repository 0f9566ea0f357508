//! Instruments of all formats, compiled here once for builds without much optimisation: programs and tests use these
//! and compile none of their own, which takes a minute each. Optimised builds inline across crates and have no use for
//! it.

use fringes_types::{Complex, Complex4, f16};

use crate::StreamError;
use crate::fx::{Fx, Running, StreamSample};
use crate::source::Source;

type Start<V> = fn(Fx<V>, Box<dyn Source>) -> Result<Running<V>, StreamError>;

fn start<V: StreamSample>(fx: Fx<V>, source: Box<dyn Source>) -> Result<Running<V>, StreamError> {
    fx.start(source)
}

/// Names an instrument of each format.
#[allow(clippy::type_complexity, reason = "four times the same")]
pub static STARTS: (Start<Complex4>, Start<Complex<i8>>, Start<Complex<f16>>, Start<Complex<f32>>) =
    (start, start, start, start);
