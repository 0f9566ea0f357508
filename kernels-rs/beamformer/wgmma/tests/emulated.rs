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
            call: |a| entries!(@call $output kernels::$name, a),
        }, )*]
    };
    (@call Power $kernel:path, $a:ident) => { entries!(@with $kernel, $a, $a.gains.into(), $a.incoherent.into()) };
    (@call $any:ident $kernel:path, $a:ident) => { entries!(@with $kernel, $a,) };
    (@with $kernel:path, $a:ident, $($more:expr),*) => {{
        let Case { channels, inputs, beams, times, first, end, fold, dither, strip, .. } = $a.case;
        let [channels, inputs, beams, times, first, end, fold] =
            [channels, inputs, beams, times, first, end, fold].map(|size| size as u32);
        $kernel(
            $a.map.into(), $a.table.into(), $a.scales.into(), $a.beams.into(), $a.saturated.into(),
            SEED ^ OF_BEAMS, SPECTRUM, channels, inputs, beams, times, first, end, $a.digits, fold, CHANNEL,
            u32::from(dither), strip, $($more),*
        );
    }};
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

/// Kernels that hold samples, with as many chunks of inputs as they take.
fn held_entries() -> Vec<(Entry, usize)> {
    let one = entries! {
        tied_array_i4_128_f16_held_1 I4 128 Float16;
        tied_array_i4_128_i8_held_1 I4 128 Int8;
        tied_array_i4_128_power_held_1 I4 128 Power;
        tied_array_i8_128_f16_held_1 I8 128 Float16;
        tied_array_i8_128_i8_held_1 I8 128 Int8;
        tied_array_i8_128_power_held_1 I8 128 Power;
    };
    let two = entries! {
        tied_array_i4_128_f16_held_2 I4 128 Float16;
        tied_array_i4_128_i8_held_2 I4 128 Int8;
        tied_array_i4_128_power_held_2 I4 128 Power;
        tied_array_i8_128_f16_held_2 I8 128 Float16;
        tied_array_i8_128_i8_held_2 I8 128 Int8;
        tied_array_i8_128_power_held_2 I8 128 Power;
    };
    let of = |chunks| move |entry| (entry, chunks);
    one.into_iter().map(of(1)).chain(two.into_iter().map(of(2))).collect()
}

#[test]
fn held_samples_make_the_beams_of_the_reference() {
    for (entry, chunks) in held_entries() {
        let (inputs, powers) = (64 * chunks, entry.output == Output::Power);
        let fold = if powers { 16 } else { 1 };
        let case = Case { fold, channels: 1, ..CASE };
        // Whole tiles and parts of them, strips of all tiles of columns and of fewer, and several strips a block.
        for (inputs, beams, strip, grid) in [(inputs, 256, 2, 2), (inputs - 5, 259, 3, 1), (inputs - 63, 130, 1, 3)] {
            check(&entry, Case { inputs, beams, strip, grid, times: 300, end: 300, ..case });
        }
        let some = Case { inputs, beams: 140, first: 130, end: 170, times: 200, ..case };
        check(&entry, some);
        check(&entry, Case { inputs, beams: 72, int16: true, dither: !powers, times: 130, end: 130, ..case });
        match entry.output {
            Output::Int8 => check(&entry, Case { inputs, beams: 136, dither: true, times: 128, end: 128, ..case }),
            Output::Power => {
                check(&entry, Case { incoherent: true, beams: 130, ..some });
                check(&entry, Case { incoherent: true, fold: 2, strip: 1, ..some });
            }
            _ => {}
        }
    }
}

#[test]
fn other_numbers_of_inputs_than_are_held_trap() {
    for (entry, chunks) in held_entries() {
        let case = Case { grid: 1, times: 65, end: 65, inputs: 64 * chunks, beams: 5, ..CASE };
        for told in [
            Case { inputs: 64 * chunks + 1, ..case },
            Case { inputs: 64 * chunks - 64, ..case },
            Case { strip: 0, ..case },
            Case { strip: (1 << 24) + 1, ..case },
            Case { end: 66, ..case },
        ] {
            check_traps(&entry, case, told);
        }
    }
}

#[test]
fn weights_stay_for_a_strip_of_any_length_or_come_with_samples() {
    for entry in of(&[Output::Int8]).filter(|entry| matches!(entry.format, Format::I8 | Format::I8ByF16)) {
        // Chunks that stay, in turns and not, and as many as do not.
        let chunk = if entry.format == Format::I8 { 64 } else { 32 };
        let chunks: &[usize] = if entry.columns == 128 { &[2, 4, 9, 10] } else { &[1, 3] };
        for &chunks in chunks {
            for (strip, grid) in [(1, 2), (2, 2), (5, 1)] {
                // Ten do not fit beside samples.
                let fits = entry.columns != 128 || chunks < 10 || strip == 1;
                if fits && ((chunks <= 4 && entry.format == Format::I8) || strip == 2 || chunks == 10) {
                    let inputs = chunk * chunks - 5;
                    let beams = entry.columns as usize + 3;
                    check(&entry, Case { inputs, beams, times: 300, end: 300, channels: 1, grid, strip, ..CASE });
                }
            }
        }
    }
}

#[test]
fn strips_that_cannot_be_trap() {
    let case = Case { grid: 1, times: 65, end: 65, inputs: 5, ..CASE };
    for entry in of(&[Output::Float32]).filter(|entry| entry.columns == 16) {
        for strip in [0, (1 << 24) + 1] {
            check_traps(&entry, case, Case { strip, ..case });
        }
        // More weights than there is room for.
        let case = Case { inputs: 1409, strip: 1, ..case };
        check_traps(&entry, case, Case { strip: 2, ..case });
    }
}

#[test]
fn an_incoherent_beam_is_made_beside_powers() {
    for entry in of(&[Output::Power]) {
        for fold in [16, 4, 1] {
            if fold == 16 || entry.columns == 64 {
                let beams = if fold == 16 { entry.columns as usize + 2 } else { 7 };
                check(&entry, Case { incoherent: true, fold, beams, channels: 1, ..CASE });
            }
        }
        if entry.columns == 16 {
            // Some of the times of sums; fewer gains than inputs, and fewer sums than times.
            check(&entry, Case { incoherent: true, fold: 2, first: 130, end: 140, ..CASE });
            let case = Case { incoherent: true, grid: 1, times: 65, end: 65, inputs: 5, ..CASE };
            check_traps(&entry, case, Case { inputs: 65, ..case });
            check_traps(&entry, Case { fold: 2, ..case }, case);
        }
    }
}
