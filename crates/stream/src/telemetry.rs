//! Names of what an instrument counts and measures, through the facade of the crate [`metrics`].
//!
//! A program that installs a recorder (an exporter for Prometheus, say) gets them; without one they cost nothing. Times
//! are in seconds. `stage` is `source`, `f-engine`, `correlator`, `beamformer` or `sink <name>`.
//!
//! | name | kind | labels | counts |
//! |---|---|---|---|
//! | `fringes_samples_total` | counter | | samples of all inputs that came |
//! | `fringes_chunks_total` | counter | `fate` | chunks `used`, `late`, `skipped` |
//! | `fringes_clock_jumps_total` | counter | | jumps of the clock that began the stream anew |
//! | `fringes_clipped_samples_total` | counter | | samples at the ends of the digitiser's range |
//! | `fringes_saturated_total` | counter | | channelised values beyond the quantiser's range |
//! | `fringes_frames_total` | counter | | frames of the F-engine |
//! | `fringes_dumps_total` | counter | `cadence` | dumps of the correlator |
//! | `fringes_invalid_spectra_ratio` | gauge | `cadence` | share of the last dump that was missing, over all baselines |
//! | `fringes_masked_total` | counter | `fate` | channels and blocks that were `masked` or `kept` |
//! | `fringes_products_total` | counter | `sink`, `fate` | products `written`, `dropped`, `undelivered` |
//! | `fringes_bytes_total` | counter | `sink` | bytes of the products written |
//! | `fringes_queue_depth` | gauge | `queue` | chunks or products that wait |
//! | `fringes_turn_bytes_total` | counter | `way` | bytes of the corner turn `sent` to and `received` from other ranks |
//! | `fringes_stage_microseconds_total` | counter | `stage` | microseconds that a stage has worked |
//! | `fringes_device_microseconds_total` | counter | `work` | microseconds that a GPU has worked: `copies` to it, `f-engine`, `correlator` |
//! | `fringes_dump_latency_seconds` | histogram | `sink` | from the chunk that completes a dump to its being written |

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Samples of all inputs that came.
pub const SAMPLES: &str = "fringes_samples_total";
/// Chunks, by what became of them.
pub const CHUNKS: &str = "fringes_chunks_total";
/// Jumps of the clock.
pub const CLOCK_JUMPS: &str = "fringes_clock_jumps_total";
/// Samples at the ends of the digitiser's range.
pub const CLIPPED: &str = "fringes_clipped_samples_total";
/// Channelised values beyond the quantiser's range.
pub const SATURATED: &str = "fringes_saturated_total";
/// Frames of the F-engine.
pub const FRAMES: &str = "fringes_frames_total";
/// Dumps of the correlator.
pub const DUMPS: &str = "fringes_dumps_total";
/// Share of the last dump that was missing.
pub const INVALID: &str = "fringes_invalid_spectra_ratio";
/// Channels and blocks of spectra, masked or kept.
pub const MASKED: &str = "fringes_masked_total";
/// Products, by what became of them.
pub const PRODUCTS: &str = "fringes_products_total";
/// Bytes of the products written.
pub const BYTES: &str = "fringes_bytes_total";
/// What waits in a queue.
pub const QUEUE_DEPTH: &str = "fringes_queue_depth";
/// Bytes of the corner turn, to and from other ranks.
pub const TURN_BYTES: &str = "fringes_turn_bytes_total";
/// Microseconds that a stage has worked.
pub const STAGE_TIME: &str = "fringes_stage_microseconds_total";
/// Microseconds that a GPU has worked.
pub const DEVICE_TIME: &str = "fringes_device_microseconds_total";
/// From the chunk that completes a dump to its being written.
pub const LATENCY: &str = "fringes_dump_latency_seconds";

/// Tells the recorder what the names mean. A program calls it once, after it has installed one.
pub fn describe() {
    describe_counter!(SAMPLES, "samples of all inputs that came");
    describe_counter!(CHUNKS, "chunks used, late or skipped");
    describe_counter!(CLOCK_JUMPS, "jumps of the clock that began the stream anew");
    describe_counter!(CLIPPED, "samples at the ends of the digitiser's range");
    describe_counter!(SATURATED, "channelised values beyond the quantiser's range");
    describe_counter!(FRAMES, "frames of the F-engine");
    describe_counter!(DUMPS, "dumps of the correlator");
    describe_gauge!(INVALID, "share of the last dump that was missing, over all baselines");
    describe_counter!(MASKED, "channels and blocks of spectra, masked or kept");
    describe_counter!(PRODUCTS, "products written, dropped or undelivered");
    describe_counter!(BYTES, Unit::Bytes, "bytes of the products written");
    describe_gauge!(QUEUE_DEPTH, "chunks or products that wait");
    describe_counter!(TURN_BYTES, Unit::Bytes, "bytes of the corner turn, to and from other ranks");
    describe_counter!(STAGE_TIME, Unit::Microseconds, "time that a stage has worked");
    describe_counter!(DEVICE_TIME, Unit::Microseconds, "time that a GPU has worked");
    describe_histogram!(LATENCY, Unit::Seconds, "from the chunk that completes a dump to its being written");
}
