//! The npy examples as a user runs them: files in, files out, one line and exit status 2 when something is wrong.

use std::path::Path;
use std::process::{Command, Output};

use fringes::Complex;
use fringes::io::write::npy::{read_npy, write_npy};
use ndarray::{Array, Array1, Array2, Array3, Array4, Dimension};
use num_complex::Complex64;

fn run(name: &str, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::example(name)).current_dir(folder).args(arguments).output().unwrap()
}

/// Runs an example and reads the array that it writes to `out.npy`.
fn result<T, D>(name: &str, folder: &Path, arguments: &[&str]) -> Array<T, D>
where
    T: fringes::io::write::npy::NpyElement,
    D: Dimension,
{
    let output = run(name, folder, &[arguments, &["--output", "out.npy"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read_npy(&folder.join("out.npy")).unwrap()
}

/// Runs an example that must refuse its input: exit status 2, one line on standard error, nothing written.
fn refusal(name: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = run(name, folder, &[arguments, &["--output", "never.npy"]].concat());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    assert!(output.stdout.is_empty() && !folder.join("never.npy").exists());
    text
}

/// Whole numbers that repeat only after a long time, from -127 to 127.
fn counts() -> impl FnMut() -> i8 {
    let mut state = 1u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (((state >> 8) % 255) as i16 - 127) as i8
    }
}

#[test]
fn correlation_is_the_exact_integer_sum_of_products() {
    let folder = tempfile::tempdir().unwrap();
    let (channels, times, inputs) = (3, 101, 5);
    let x = Array4::from_shape_simple_fn((channels, times, inputs, 2), counts());
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    let v: Array3<i64> = result("correlate_npy", folder.path(), &["--input", "x.npy"]);
    let value = |c, t, i| Complex::new(i64::from(x[(c, t, i, 0)]), i64::from(x[(c, t, i, 1)]));
    assert_eq!(v.dim(), (channels, inputs * (inputs + 1) / 2, 2));
    for channel in 0..channels {
        for a in 0..inputs {
            for b in 0..=a {
                let sum: Complex<i64> =
                    (0..times).map(|time| value(channel, time, a) * value(channel, time, b).conj()).sum();
                let position = a * (a + 1) / 2 + b;
                assert_eq!([v[(channel, position, 0)], v[(channel, position, 1)]], [sum.re, sum.im]);
            }
        }
    }
}

#[test]
fn the_most_negative_value_is_refused_where_it_stands_and_clamped_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut x = Array4::<i8>::zeros((2, 4, 3, 2));
    x[(1, 2, 0, 1)] = -128;
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    let text = refusal("correlate_npy", folder.path(), &["--input", "x.npy"]);
    assert!(text.contains("x.npy") && text.contains("[1, 2, 0]"), "{text}");
    let output = run("correlate_npy", folder.path(), &["--input", "x.npy", "--output", "v.npy", "--clamp"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 of 48 values"));
    let v: Array3<i64> = read_npy(&folder.path().join("v.npy")).unwrap();
    assert_eq!(v.sum(), 127 * 127);
    assert_eq!(v[(1, 0, 0)], 127 * 127);
}

#[test]
fn a_tone_comes_out_in_its_channel_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (channels, taps, tone) = (16, 4, 5);
    let step = 2 * channels;
    let phase = |time: usize| 2.0 * std::f64::consts::PI * tone as f64 * time as f64 / step as f64;
    let x = Array2::from_shape_fn((2, 40 * step), |(input, time)| (100.0 * (phase(time) + input as f64).cos()) as f32);
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    let arguments = ["--input", "x.npy", "--channels", "16", "--taps", "4", "--window", "hamming"];
    let y: Array3<Complex<f32>> = result("channelize_npy", folder.path(), &arguments);
    assert_eq!(y.dim(), (40 - taps + 1, channels, 2));
    let weights = fringes_reference::window::pfb_weights(fringes_reference::window::Window::Hamming, taps, step, 1.0);
    let expected = 100.0 / 2.0 * weights.iter().sum::<f64>();
    // A tone in the middle of a channel is 0 in the others only as far as the weights of each branch sum to the same,
    // so the bound is the transform of these sums at the distance of the channel, beside f32 rounding.
    let branch: Vec<f64> = (0..step).map(|p| (0..taps).map(|t| weights[t * step + p]).sum()).collect();
    let leak = |distance: i64| {
        let terms = branch.iter().enumerate().map(|(p, sum)| {
            Complex64::from_polar(*sum, -2.0 * std::f64::consts::PI * (distance * p as i64) as f64 / step as f64)
        });
        50.0 * terms.sum::<Complex64>().norm()
    };
    let rounding = 40.0 * f64::from(f32::EPSILON) * expected;
    for ((time, channel, input), value) in y.indexed_iter() {
        let offset = channel as i64 - tone as i64;
        let image = channel as i64 + tone as i64;
        let value = Complex64::new(value.re.into(), value.im.into());
        if offset == 0 {
            let tone = Complex64::from_polar(expected, input as f64);
            assert!((value - tone).norm() <= leak(image) + rounding, "{time} {value} {tone}");
        } else {
            assert!(value.norm() <= leak(offset) + leak(image) + rounding, "{time} {channel} {value}");
        }
    }
}

#[test]
fn the_centre_of_a_down_conversion_lands_on_zero_frequency() {
    let folder = tempfile::tempdir().unwrap();
    let (centre, decimation) = (0.2, 4);
    let x = Array2::from_shape_fn((1, 403), |(_, time)| {
        let turn = Complex64::from_polar(1.0, 2.0 * std::f64::consts::PI * centre * time as f64);
        Complex::new(turn.re as f32, turn.im as f32)
    });
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    write_npy(&folder.path().join("h.npy"), &Array1::from_elem(8, 0.125f64)).unwrap();
    let arguments = ["--input", "x.npy", "--filter", "h.npy", "--centre", "0.2", "--decimation", "4"];
    let y: Array2<Complex<f32>> = result("down_convert_npy", folder.path(), &arguments);
    assert_eq!(y.dim(), (1, (403 - 8) / decimation + 1));
    // Each part is a sum of 16 products of a sample, a tap and a mixer, each rounded, of magnitudes that sum to 1.
    let bound = 2f32.sqrt() * (16.0 + 5.0) * f32::EPSILON / 2.0;
    assert!(y.iter().all(|value| (value - 1.0).norm() <= bound), "{y}");
}

#[test]
fn weights_are_applied_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let x = Array4::from_shape_simple_fn((2, 5, 3, 2), counts());
    let w = Array3::from_shape_fn((4, 2, 3), |(beam, channel, input)| {
        Complex::new(beam as f32 - 1.0, (channel * 3 + input) as f32)
    });
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    write_npy(&folder.path().join("w.npy"), &w).unwrap();
    let y: Array3<Complex<f32>> = result("beamform_npy", folder.path(), &["--input", "x.npy", "--weights", "w.npy"]);
    assert_eq!(y.dim(), (2, 5, 4));
    for ((channel, time, beam), value) in y.indexed_iter() {
        let term = |input| {
            let voltage =
                Complex::new(f32::from(x[(channel, time, input, 0)]), f32::from(x[(channel, time, input, 1)]));
            w[(beam, channel, input)] * voltage
        };
        // Small whole numbers: exact in f32.
        assert_eq!(*value, (0..3).map(term).sum::<Complex<f32>>());
    }
}

#[test]
fn bad_input_is_one_line_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_npy(&path.join("x.npy"), &Array4::<i8>::zeros((2, 4, 3, 2))).unwrap();
    write_npy(&path.join("flat.npy"), &Array1::<f32>::zeros(8)).unwrap();
    write_npy(&path.join("samples.npy"), &Array2::<f32>::zeros((2, 100))).unwrap();
    write_npy(&path.join("w.npy"), &Array3::<Complex<f32>>::zeros((1, 2, 4))).unwrap();
    std::fs::write(path.join("text.npy"), "no array").unwrap();
    let cases: &[(&str, &[&str], &str)] = &[
        ("correlate_npy", &["--input", "absent.npy"], "absent.npy"),
        ("correlate_npy", &["--input", "text.npy"], "text.npy"),
        ("correlate_npy", &["--input", "flat.npy"], "expected int8 [channel][time][input][2]"),
        ("correlate_npy", &["--input", "x.npy", "--pols", "2"], "3 inputs"),
        ("correlate_npy", &["--input", "x.npy", "--pols", "0"], "x.npy"),
        ("correlate_npy", &["--input", "x.npy", "--order", "antenna-pairs"], "polarisations"),
        ("correlate_npy", &["--input", "x.npy", "--backend", "gpu"], "gpu"),
        ("correlate_npy", &[], "--input"),
        ("channelize_npy", &["--input", "flat.npy", "--channels", "4"], "expected int16, float32 or complex64"),
        ("channelize_npy", &["--input", "samples.npy", "--channels", "0"], "channels"),
        ("channelize_npy", &["--input", "samples.npy", "--channels", "4", "--taps", "0"], "taps"),
        ("channelize_npy", &["--input", "samples.npy", "--channels", "4", "--w-cutoff", "inf"], "cutoff"),
        (
            "down_convert_npy",
            &["--input", "samples.npy", "--filter", "flat.npy", "--centre", "0.1", "--decimation", "0"],
            "decimation",
        ),
        (
            "down_convert_npy",
            &["--input", "samples.npy", "--filter", "samples.npy", "--centre", "0.1", "--decimation", "2"],
            "expected float32 or float64 [tap]",
        ),
        ("beamform_npy", &["--input", "x.npy", "--weights", "w.npy"], "input"),
        ("beamform_npy", &["--input", "x.npy", "--weights", "x.npy"], "expected complex64 [beam][channel][input]"),
    ];
    for (name, arguments, expected) in cases {
        let text = refusal(name, path, arguments);
        assert!(text.contains(expected), "{name} {arguments:?}: {text}");
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("x.npy"), &Array4::<i8>::zeros((1, 2, 3, 2))).unwrap();
    let whole = std::fs::read(folder.path().join("x.npy")).unwrap();
    for length in 0..whole.len() {
        std::fs::write(folder.path().join("cut.npy"), &whole[..length]).unwrap();
        let text = refusal("correlate_npy", folder.path(), &["--input", "cut.npy"]);
        assert!(text.contains("cut.npy"), "{text}");
    }
}

#[test]
fn the_f_engine_finds_a_tone_and_takes_delays() {
    let folder = tempfile::tempdir().unwrap();
    let (channels, spectra, tone) = (16, 8, 5);
    let step = 2 * channels;
    // The second antenna hears the tone a quarter of its period later, and is advanced by as much.
    let period = step as f64 / tone as f64;
    let phase = |time: f64| 2.0 * std::f64::consts::PI * time / period;
    let x = Array2::from_shape_fn((2, 40 * step), |(input, time)| {
        (1000.0 * phase(time as f64 - input as f64 * period / 4.0).cos()).round() as i16
    });
    write_npy(&folder.path().join("x.npy"), &x).unwrap();
    write_npy(&folder.path().join("d.npy"), &Array1::from(vec![period / 4.0, 0.0])).unwrap();
    // A tone of amplitude 1000 becomes half of it times the sum of the weights, and that 100; each part is rounded.
    let weights = fringes_reference::window::pfb_weights(fringes_reference::window::Window::Hann, 4, step, 1.0);
    let gain = (100.0 / (500.0 * weights.iter().sum::<f64>())).to_string();
    let arguments = ["--input", "x.npy", "--channels", "16", "--taps", "4", "--spectra", "8", "--gain", &gain];
    let frames = |more: &[&str]| -> ndarray::Array<i8, ndarray::Ix6> {
        result("f_engine_npy", folder.path(), &[&arguments, more].concat())
    };
    let value = |data: &ndarray::Array<i8, ndarray::Ix6>, antenna, channel| {
        let at = |part| f64::from(data[(1, antenna, channel, 3, 0, part)]);
        Complex64::new(at(0), at(1))
    };
    let plain = frames(&[]);
    assert_eq!(&plain.shape()[1..], [2, channels, spectra, 1, 2]);
    let [first, second] = [0, 1].map(|antenna| value(&plain, antenna, tone));
    assert!((first.norm() - 100.0).abs() < 2.0, "{first}");
    assert!((second / first - Complex64::new(0.0, -1.0)).norm() < 0.02, "{first} {second}");
    assert!(value(&plain, 0, tone + 4).norm() < 2.0);
    let delayed = frames(&["--delays", "d.npy"]);
    let [first, second] = [0, 1].map(|antenna| value(&delayed, antenna, tone));
    assert!((second / first - 1.0).norm() < 0.02, "{first} {second}");
    let line = refusal("f_engine_npy", folder.path(), &["--input", "d.npy", "--channels", "16"]);
    assert!(line.contains("int16 [input][time]"), "{line}");
    let line = refusal("f_engine_npy", folder.path(), &["--input", "x.npy", "--channels", "16", "--pols", "3"]);
    assert!(line.contains("3 polarisations"), "{line}");
}
