//! Every kernel in the emulator, with all of its detectors, against sums in f64.

#[macro_use]
#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::{CASE, CHANNEL, Case, Entry, Format, OF_BEAMS, SEED, SPECTRUM, check, check_traps};
use fringes_device::Kernel;
use fringes_kernels_beamformer_core::tied_array::Output;
use fringes_kernels_beamformer_wgmma as kernels;

macro_rules! entries {
    ($($name:ident $format:ident $columns:literal $output:ident;)*) => {
        vec![$( Entry {
            format: Format::$format,
            columns: $columns,
            output: Output::$output,
            declaration: <kernels::$name as Kernel>::DECLARATION,
            call: |a| {
                let Case { channels, inputs, beams, times, first, end, fold, dither, .. } = a.case;
                let [channels, inputs, beams, times, first, end, fold] =
                    [channels, inputs, beams, times, first, end, fold].map(|size| size as u32);
                kernels::$name(
                    a.map.into(), a.table.into(), a.scales.into(), a.beams.into(), a.saturated.into(),
                    SEED ^ OF_BEAMS, SPECTRUM, channels, inputs, beams, times, first, end, a.digits, fold, CHANNEL,
                    u32::from(dither),
                );
            },
        }, )*]
    };
}

fn entries() -> Vec<Entry> {
    entries! {
        tied_array_i4_16_f32 I4 16 Float32;
        tied_array_i4_64_f32 I4 64 Float32;
        tied_array_i4_128_f32 I4 128 Float32;
        tied_array_i4_16_f16 I4 16 Float16;
        tied_array_i4_64_f16 I4 64 Float16;
        tied_array_i4_128_f16 I4 128 Float16;
        tied_array_i4_16_i8 I4 16 Int8;
        tied_array_i4_64_i8 I4 64 Int8;
        tied_array_i4_128_i8 I4 128 Int8;
        tied_array_i4_16_power I4 16 Power;
        tied_array_i4_64_power I4 64 Power;
        tied_array_i4_128_power I4 128 Power;
        tied_array_i4_16_coherency I4 16 Coherency;
        tied_array_i4_64_coherency I4 64 Coherency;
        tied_array_i4_128_coherency I4 128 Coherency;
        tied_array_i8_16_f32 I8 16 Float32;
        tied_array_i8_64_f32 I8 64 Float32;
        tied_array_i8_128_f32 I8 128 Float32;
        tied_array_i8_16_f16 I8 16 Float16;
        tied_array_i8_64_f16 I8 64 Float16;
        tied_array_i8_128_f16 I8 128 Float16;
        tied_array_i8_16_i8 I8 16 Int8;
        tied_array_i8_64_i8 I8 64 Int8;
        tied_array_i8_128_i8 I8 128 Int8;
        tied_array_i8_16_power I8 16 Power;
        tied_array_i8_64_power I8 64 Power;
        tied_array_i8_128_power I8 128 Power;
        tied_array_i8_16_coherency I8 16 Coherency;
        tied_array_i8_64_coherency I8 64 Coherency;
        tied_array_i8_128_coherency I8 128 Coherency;
        tied_array_i8_f16_16_f32 I8ByF16 16 Float32;
        tied_array_i8_f16_64_f32 I8ByF16 64 Float32;
        tied_array_i8_f16_128_f32 I8ByF16 128 Float32;
        tied_array_i8_f16_16_f16 I8ByF16 16 Float16;
        tied_array_i8_f16_64_f16 I8ByF16 64 Float16;
        tied_array_i8_f16_128_f16 I8ByF16 128 Float16;
        tied_array_i8_f16_16_i8 I8ByF16 16 Int8;
        tied_array_i8_f16_64_i8 I8ByF16 64 Int8;
        tied_array_i8_f16_128_i8 I8ByF16 128 Int8;
        tied_array_i8_f16_16_power I8ByF16 16 Power;
        tied_array_i8_f16_64_power I8ByF16 64 Power;
        tied_array_i8_f16_128_power I8ByF16 128 Power;
        tied_array_i8_f16_16_coherency I8ByF16 16 Coherency;
        tied_array_i8_f16_64_coherency I8ByF16 64 Coherency;
        tied_array_i8_f16_128_coherency I8ByF16 128 Coherency;
        tied_array_f16_16_f32 F16 16 Float32;
        tied_array_f16_64_f32 F16 64 Float32;
        tied_array_f16_128_f32 F16 128 Float32;
        tied_array_f16_16_f16 F16 16 Float16;
        tied_array_f16_64_f16 F16 64 Float16;
        tied_array_f16_128_f16 F16 128 Float16;
        tied_array_f16_16_i8 F16 16 Int8;
        tied_array_f16_64_i8 F16 64 Int8;
        tied_array_f16_128_i8 F16 128 Int8;
        tied_array_f16_16_power F16 16 Power;
        tied_array_f16_64_power F16 64 Power;
        tied_array_f16_128_power F16 128 Power;
        tied_array_f16_16_coherency F16 16 Coherency;
        tied_array_f16_64_coherency F16 64 Coherency;
        tied_array_f16_128_coherency F16 128 Coherency;
    }
}

tests!();
