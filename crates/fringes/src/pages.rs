//! The pages of the book, `docs/`, whose Rust is compiled and run as doctests. `cargo xtask book --check` fails if a
//! page with Rust is not named here.

/// Names pages, each with a type that has it as its documentation.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(#[doc = include_str!($path)] struct $name;)*
    };
}

pages! {
    Readme: "../../../README.md",
    Tutorial: "../../../docs/tutorial.md",
    Data: "../../../docs/data.md",
    Channelize: "../../../docs/operations/channelize.md",
    FEngine: "../../../docs/operations/f-engine.md",
    DownConvert: "../../../docs/operations/down-convert.md",
    Narrowband: "../../../docs/operations/narrowband.md",
    Quantise: "../../../docs/operations/quantise.md",
    Delay: "../../../docs/operations/delay.md",
    Correlate: "../../../docs/operations/correlate.md",
    Interference: "../../../docs/interference.md",
    Beamform: "../../../docs/operations/beamform.md",
    Fft: "../../../docs/operations/fft.md",
    MissingData: "../../../docs/missing-data.md",
    DeviceData: "../../../docs/device-data.md",
    SeveralGpus: "../../../docs/several-gpus.md",
    Scale: "../../../docs/scale.md",
    Instrument: "../../../docs/instrument.md",
    Backends: "../../../docs/backends.md",
    Errors: "../../../docs/errors.md",
    ComingFrom: "../../../docs/coming-from.md",
    Simulator: "../../../docs/simulator.md",
}

/// The pages that read and write recordings and streams.
#[cfg(feature = "io")]
mod with_files {
    pages! {
        Recordings: "../../../docs/recordings.md",
        Spead: "../../../docs/spead.md",
    }
}
