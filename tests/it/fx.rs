//! The example `fx` as a user runs it: a simulated array whose source is found again, and one line with exit status 2
//! for what is wrong. The simulator's own parts are tested here too.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ndarray::{Array1, Array2, Array3};
use ndarray_npy::NpzReader;
use num_complex::Complex32;
use serde_json::Value;

#[allow(dead_code)]
#[path = "../../examples/fx/simulate/geometry.rs"]
mod geometry;
#[allow(dead_code)]
#[path = "../../examples/fx/plots/indexed.rs"]
mod indexed;
#[allow(dead_code)]
#[path = "../../examples/fx/simulate/signal.rs"]
mod signal;
#[allow(dead_code)]
#[path = "../../examples/fx/plots/style.rs"]
mod style;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::example("fx")).current_dir(folder).args(arguments).output().unwrap()
}

/// Runs with `--json` and parses the one object on standard output.
fn summary(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, &[arguments, &["--json", "--out", "out"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Runs with arguments that must be refused, and returns the one line.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    text
}

#[test]
fn a_simulated_source_is_found_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let summary = summary(folder.path(), &["--backend", "cpu", "--duration", "0.1", "--channels", "128"]);
    assert_eq!(summary["antennas"], 8);
    assert_eq!(summary["pols"], 2);
    assert_eq!(summary["channels"], 128);
    assert_eq!(summary["backend"], "cpu");
    assert_eq!(summary["sample_rate_hz"], 8e6);
    assert_eq!(summary["clamped"], 0);
    // 0.1 s are 4 integrations of 781 spectra (25 ms), and the source is in all of them.
    assert_eq!(summary["integrations"], 4);
    assert_eq!(summary["recovered_directions_deg"].as_array().unwrap().len(), 4);
    // The beam is 0.08 degrees wide and the source 15 times above the noise of all baselines and channels: a hundredth
    // of the beam is ten times the error that leaves. A wrong sign anywhere puts the source half a degree off.
    let error = summary["source_direction_error_deg"].as_f64().unwrap();
    assert!(error < 0.001, "{error}");
    // The source's coherence is 0.25 for a receiver of average noise, which differs by 12% in amplitude, and is in two
    // thirds of the band. The highest of 82 channels is some deviations of 1/sqrt(4 * 781) above that.
    let highest = summary["max_coherence"].as_f64().unwrap();
    assert!((0.25..0.40).contains(&highest), "{highest}");
    let frequency = summary["max_coherence_freq_hz"].as_f64().unwrap();
    assert!((frequency - 1.42e9).abs() < 0.7 * 2e6, "{frequency}");
    let strongest = summary["strongest_baseline"].as_array().unwrap();
    let [a, b] = [strongest[0].as_u64().unwrap(), strongest[1].as_u64().unwrap()];
    assert!(a < b && a % 2 == b % 2, "the polarisations of an unpolarised source are not coherent: {a} {b}");
    // Equal polarisations see the source, unequal ones see noise: 0.886 of the root mean square 1/sqrt(spectra).
    for baseline in summary["baselines"].as_array().unwrap() {
        let inputs = baseline["inputs"].as_array().unwrap();
        let noise = 0.886 * baseline["noise_level"].as_f64().unwrap();
        let mean = baseline["mean_coherence"].as_f64().unwrap();
        if inputs[0].as_u64().unwrap() % 2 == inputs[1].as_u64().unwrap() % 2 {
            assert!(mean > 3.0 * noise, "{baseline}");
        } else {
            // The mean of 4 * 126 amplitudes with a relative deviation of 0.52 is good to 2.3%; five times that.
            assert!((mean / noise - 1.0).abs() < 0.12, "{baseline}");
        }
    }
    for file in summary["files_written"].as_array().unwrap() {
        let bytes = fs::read(folder.path().join(file.as_str().unwrap())).unwrap();
        if file.as_str().unwrap().ends_with("png") {
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{file}");
        }
    }
    visibilities_have_their_axes(&folder.path().join("out/visibilities.npz"));
}

fn visibilities_have_their_axes(path: &Path) {
    let mut file = NpzReader::new(fs::File::open(path).unwrap()).unwrap();
    let vis: Array3<Complex32> = file.by_name("vis").unwrap();
    let pairs: Array2<i64> = file.by_name("baseline_inputs").unwrap();
    let freq_hz: Array1<f64> = file.by_name("freq_hz").unwrap();
    let time_s: Array1<f64> = file.by_name("time_s").unwrap();
    let weight: Array2<f32> = file.by_name("weight").unwrap();
    assert_eq!(vis.dim(), (4, 128, 136));
    assert_eq!(pairs.dim(), (136, 2));
    assert_eq!(weight.dim(), (4, 136));
    for (baseline, pair) in pairs.outer_iter().enumerate() {
        assert_eq!(baseline as i64, pair[0] * (pair[0] + 1) / 2 + pair[1]);
    }
    // 128 channels of 31.25 kHz from 1.418 GHz on; integrations of 781 spectra of 32 us.
    assert_eq!((freq_hz.len(), freq_hz[0], freq_hz[127]), (128, 1.418e9, 1.418e9 + 127.0 * 31_250.0));
    // The middle of the second integration, half of the 8 x 256 samples of a window later than that of its stamps.
    let middle = (781.0 + 390.0) * 256.0 / 8e6 + 1024.0 / 8e6;
    assert!((time_s[1] - middle).abs() < 1e-12, "{} {middle}", time_s[1]);
    assert!(weight.row(1).iter().all(|&spectra| spectra == 781.0));
    // Autocorrelations are real and the antennas' power: 60 levels, 15% and 12% either way, all channels together.
    for input in 0..16 {
        let auto = vis.slice(ndarray::s![1, .., input * (input + 1) / 2 + input]);
        assert!(auto.iter().all(|value| value.im == 0.0 && value.re > 0.0));
    }
}

#[test]
fn floats_and_bits_see_the_same_coherence() {
    let folder = tempfile::tempdir().unwrap();
    let common = ["--duration", "0.02", "--channels", "32", "--integration", "all"];
    let of = |quantise: &str| {
        let summary = summary(folder.path(), &[&common[..], &["--quantise", quantise]].concat());
        assert_eq!(summary["integrations"], 1);
        let pair = |baseline: &&Value| baseline["inputs"][0] == 2 && baseline["inputs"][1] == 10;
        let baselines = summary["baselines"].as_array().unwrap().clone();
        baselines.iter().find(pair).unwrap()["mean_coherence"].as_f64().unwrap()
    };
    let exact = of("none");
    // Rounding adds noise of 1/12 to parts with a mean square of 24^2 and 2.9^2: 0.014% and 1%; clipping at 7 adds
    // less.
    assert!((of("8") / exact - 1.0).abs() < 0.002);
    assert!((of("4") / exact - 1.0).abs() < 0.03);
}

#[test]
fn an_array_file_and_a_source_take_the_place_of_the_default_ones() {
    let folder = tempfile::tempdir().unwrap();
    let table = "# enu 52.9 6.9 10\nA 0 0 0\nB 40 -13 1\nC -31 55 0\nD 62 47 -1\nE -58 -29 2\nF 11 -80 0\n";
    fs::write(folder.path().join("array.txt"), table).unwrap();
    let common = ["--array", "array.txt", "--duration", "0.05", "--channels", "64"];
    for source in ["ha:20,dec:60", "05:34:31.9,+22:00:52", "azel:200,40"] {
        let summary = summary(folder.path(), &[&common[..], &["--source", source]].concat());
        assert_eq!(summary["antennas"], 6);
        assert_eq!(summary["input_names"][3], "By");
        let error = summary["source_direction_error_deg"].as_f64().unwrap();
        assert!(error < 0.002, "{source}: {error}");
    }
}

#[test]
fn bad_input_gives_one_line_that_names_it_and_exit_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("empty.vdif"), b"").unwrap();
    fs::write(path("text.vdif"), "This is no recording.\n".repeat(100)).unwrap();
    fs::write(path("two.txt"), "# enu -30 21 1000\na 0 0 0\nb 10 0 0\n").unwrap();
    fs::write(path("zero.txt"), "# enu\na 0 0 nan\nb 10 0 0\n").unwrap();
    fs::write(path("file"), "in the way").unwrap();
    for (arguments, says) in [
        (vec!["--input", "missing.vdif"], "missing.vdif"),
        (vec!["--input", "empty.vdif"], "empty.vdif"),
        (vec!["--input", "text.vdif"], "text.vdif"),
        (vec!["--input", "."], "directory"),
        (vec!["--channels", "0"], "--channels"),
        (vec!["--channels", "many"], "--channels"),
        (vec!["--channels", "99999999999"], "--channels"),
        (vec!["--channels", "4000000"], "memory"),
        (vec!["--taps", "0"], "--taps"),
        (vec!["--integration", "nan"], "--integration"),
        (vec!["--integration", "0spectra"], "--integration"),
        (vec!["--sample-rate", "NaN"], "--sample-rate"),
        (vec!["--duration", "-1"], "--duration"),
        (vec!["--duration", "1e-5"], "too few"),
        (vec!["--backend", "gpu"], "gpu"),
        (vec!["--source", "here"], "--source"),
        (vec!["--array", "missing.txt"], "missing.txt"),
        (vec!["--array", "text.vdif"], "text.vdif"),
        (vec!["--array", "zero.txt"], "zero.txt"),
        (vec!["--map", "0:0"], "--input"),
        (vec!["--out", "file", "--duration", "0.01"], "--out file"),
        (vec!["--unknown"], "--unknown"),
    ] {
        let line = refusal(folder.path(), &arguments);
        assert!(line.contains(says), "{arguments:?}: {line}");
    }
}

#[test]
fn a_recording_needs_an_array_of_as_many_antennas() {
    let folder = tempfile::tempdir().unwrap();
    write_dada(&folder.path().join("one.dada"), 4096);
    fs::write(folder.path().join("two.txt"), "# enu -30 21 1000\na 0 0 0\nb 10 0 0\n").unwrap();
    let line = refusal(folder.path(), &["--input", "one.dada", "--array", "two.txt"]);
    assert!(line.contains("expected 1 antennas") && line.contains("found 2"), "{line}");
    let line = refusal(folder.path(), &["--input", "one.dada", "--source", "10,10"]);
    assert!(line.contains("--array"), "{line}");
}

#[test]
fn a_recording_that_is_cut_short_is_refused_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.dada");
    write_dada(&path, 4096);
    let summary = summary(folder.path(), &["--input", "one.dada", "--channels", "16", "--taps", "2"]);
    assert_eq!((&summary["antennas"], &summary["pols"], &summary["samples"]), (&1.into(), &2.into(), &4096.into()));
    assert!(summary["source_direction_error_deg"].is_null());
    // Half a sample is missing at the end.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let line = refusal(folder.path(), &["--input", "one.dada", "--channels", "16", "--taps", "2"]);
    assert!(line.contains("one.dada"), "{line}");
}

/// A PSRDADA file with two polarisations of 8-bit complex samples at 1 MS/s.
fn write_dada(path: &Path, times: usize) {
    let size = times * 4;
    let header = format!(
        "HDR_VERSION 1.0\nHDR_SIZE 4096\nDADA_VERSION 1.0\nINSTRUMENT dspsr\nTELESCOPE test\nSOURCE none\nFREQ 100.0\nBW 1.0\n\
         TSAMP 1.0\nNBIT 8\nNDIM 2\nNPOL 2\nNCHAN 1\nRESOLUTION 4\nUTC_START 2020-01-01-00:00:00\nOBS_OFFSET 0\nFILE_SIZE {size}\n"
    );
    let mut bytes = header.into_bytes();
    bytes.resize(4096, 0);
    let mut state = 1u32;
    bytes.extend((0..size).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 25) as i8 - 64) as u8
    }));
    fs::write(path, bytes).unwrap();
}

/// A frame of a thread with 400 8-bit real samples: 2500 frames a second at 1 MS/s.
fn vdif_frame(thread: u32, second: u32, number: u32, valid: bool) -> Vec<u8> {
    let words = [
        second | if valid { 0 } else { 1 << 31 },
        number | (40 << 24),
        ((32 + 400) / 8) | (1 << 29),
        (thread << 16) | (7 << 26),
        0,
        0,
        0,
        0,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let mut state = 1 + thread + 2 * number;
    bytes.extend((0..400).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 25) as u8
    }));
    bytes
}

#[test]
fn frames_that_are_left_out_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let frames = |numbers: &[(u32, u32, bool)]| -> Vec<u8> {
        numbers.iter().flat_map(|&(thread, number, valid)| vdif_frame(thread, 100, number, valid)).collect()
    };
    let mut whole: Vec<(u32, u32, bool)> = (0..200).flat_map(|number| [(0, number, true), (1, number, true)]).collect();
    fs::write(folder.path().join("whole.vdif"), frames(&whole)).unwrap();
    // One is flagged invalid, one comes twice, one much too late.
    whole[20].2 = false;
    whole.insert(41, whole[40]);
    let late = whole.remove(60);
    whole.insert(380, late);
    fs::write(folder.path().join("worse.vdif"), frames(&whole)).unwrap();
    let rest = ["--sample-rate", "1e6", "--channels", "16", "--taps", "2"];
    let clean = summary(folder.path(), &[&["--input", "whole.vdif"], &rest[..]].concat());
    assert_eq!(clean["frames"]["read"], 400);
    let left_out = |summary: &Value| {
        ["invalid", "duplicate", "late", "unknown", "stray"].map(|kind| summary["frames"][kind].as_u64().unwrap())
    };
    assert_eq!(left_out(&clean), [0; 5]);
    let worse = summary(folder.path(), &[&["--input", "worse.vdif"], &rest[..]].concat());
    assert_eq!(left_out(&worse), [1, 1, 1, 0, 0], "{}", worse["frames"]);
    let output = run(folder.path(), &[&["--input", "worse.vdif", "--out", "out"], &rest[..]].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("401 read, 3 left out: 1 invalid, 1 late, 1 duplicate"), "{table}");
}

#[test]
fn a_baseline_has_one_name_in_the_table_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--backend", "cpu", "--duration", "0.1", "--channels", "32"];
    let summary = summary(folder.path(), &arguments);
    let [b, a] = [0, 1].map(|place| summary["strongest_baseline"][place].as_u64().unwrap() as usize);
    let names = summary["input_names"].as_array().unwrap();
    let [a, b] = [a, b].map(|input| names[input].as_str().unwrap());
    let label = format!("{a} \u{d7} {b}*");
    assert_eq!(summary["strongest_baseline_label"], label.as_str());
    let table = String::from_utf8(run(folder.path(), &arguments).stdout).unwrap();
    assert!(table.contains(&label), "{table}");
}

#[test]
fn numbers_of_an_axis_are_round_and_its_ends_have_theirs() {
    let names = |ends, most| -> Vec<String> { style::ticks(ends, most).into_iter().map(|(_, name)| name).collect() };
    assert_eq!(names([1417.992, 1421.992], 4), ["1418", "1419", "1420", "1421", "1422"]);
    assert_eq!(names([0.0003, 1.0008], 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(names([-180.0, 180.0], 6), ["-180", "-90", "0", "90", "180"]);
    assert_eq!(names([1.0, -1.0], 5), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
}

#[test]
fn no_two_lines_of_a_legend_look_alike() {
    let strokes: std::collections::HashSet<_> =
        (0..12).map(|index| (format!("{:?}", style::line_colour(index)), style::line_dash(index))).collect();
    assert_eq!(strokes.len(), 12);
}

#[test]
fn a_dashed_line_leaves_out_what_its_pattern_says() {
    // Dashes of 9 pixels with 5 between them, whatever points the line goes through.
    let along = |points: &[f64]| style::Dash::Dashed.pieces(&points.iter().map(|&x| (x, 7.0)).collect::<Vec<_>>());
    let pieces = along(&[0.0, 30.0]);
    let ends: Vec<_> = pieces.iter().map(|piece| (piece[0].0, piece[piece.len() - 1].0)).collect();
    assert_eq!(ends, [(0, 9), (14, 23), (28, 30)]);
    let pieces = along(&[0.0, 3.0, 11.0, 12.0, 30.0]);
    let ends: Vec<_> = pieces.iter().map(|piece| (piece[0].0, piece[piece.len() - 1].0)).collect();
    assert_eq!(ends, [(0, 9), (14, 23), (28, 30)]);
    assert_eq!(style::Dash::Solid.pieces(&[(0.0, 0.0), (5.0, 5.0)]), [[(0, 0), (5, 5)]]);
}

#[test]
fn a_palette_keeps_frequent_colours_and_is_near_the_others() {
    let few = [[255, 255, 255], [0, 0, 0], [255, 255, 255]];
    let (palette, indices) = indexed::palette(&few);
    assert_eq!(palette.len(), 2);
    assert_eq!(indices.iter().map(|&index| palette[usize::from(index)]).collect::<Vec<_>>(), few);
    // 64 * 64 colours of a plane, and much white: 255 boxes of 16 or 32 steps a side, of which 28 are the most apart.
    let plane = (0..64u8).flat_map(|x| (0..64u8).map(move |y| [4 * x, 4 * y, 100]));
    let pixels: Vec<[u8; 3]> = plane.chain(std::iter::repeat_n([255, 255, 255], 5000)).collect();
    let (palette, indices) = indexed::palette(&pixels);
    assert!(palette.len() <= 256);
    for (pixel, index) in pixels.iter().zip(indices) {
        let colour = palette[usize::from(index)];
        let off = (0..3).map(|axis| pixel[axis].abs_diff(colour[axis])).max().unwrap();
        assert!(off <= if pixel[2] == 255 { 0 } else { 28 }, "{pixel:?} became {colour:?}");
    }
}
