//! The narrowband F-engine: a down-converter in front of a complex F-engine, as one stream with one clock.
//!
//! ```text
//! ADC samples -> DownConverterStream -> samples at 1/S of the rate -> FEngine -> channels kept -> frames
//!                                       on the device, where the chunk is
//! ```
//!
//! Everything outside is in ADC samples; the second stage's own clock counts down-converted ones.
//!
//! ```text
//! builder        what is computed                           NarrowbandFEngineBuilder
//! engine         the stream: chunks in, frames out          NarrowbandFEngine
//! intermediate   samples between the stages                 Intermediate
//! need           memory of both stages, and their limits
//! ```

mod builder;
mod engine;
mod intermediate;
mod need;

pub use builder::NarrowbandFEngineBuilder;
pub use engine::NarrowbandFEngine;
pub use intermediate::Intermediate;
