//! The program: its files, its ends, its messages.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A configuration of two antennas; `extra` comes behind it.
fn config(seconds: &str, extra: &str) -> String {
    format!(
        r#"
[source]
kind = "simulation"
{seconds}
chunk_samples = 8192
[source.simulation]
antennas = 3
pols = 1
sample_rate_hz = 1e6
seed = 3
[source.simulation.array]
epoch = "2026-03-20T16:30:00"
antennas = """
# enu -30.7128 21.4438 1053.0
a 0 0 0
b 900 100 0
c -300 2000 5
"""
[[source.simulation.sources]]
flux = [1.0, 1.0]
arrival = {{ sky = "05:34:31.95,+22:00:52.2" }}
[array]
table = """
# enu -30.7128 21.4438 1053.0
a 0 0 0
b 900 100 0
c -300 2000 5
"""
phase_centre = "05:34:31.95,+22:00:52.2"
[f_engine]
channels = 64
taps = 4
[[cadence]]
seconds = 0.05
{extra}
"#
    )
}

fn run(folder: &Path, config: &str, more: &[&str]) -> Output {
    let path = folder.join("instrument.toml");
    std::fs::write(&path, config).unwrap();
    Command::new(env!("CARGO_BIN_EXE_fringes-instrument"))
        .arg("--config")
        .arg(&path)
        .arg("--output")
        .arg(folder)
        .args(more)
        .output()
        .unwrap()
}

/// Gains of inputs that change, and channels that are left out, of an instrument of three inputs and 64 channels.
const CHANGES: &str = "[[change]]\nseconds = 0.2\ngains = [0.5, 0.75, 1.25]\n\
                       [[change]]\nsample = 400_000\nmasked_channels = [3, [20, 30]]\n";

const NPZ: &str = "[[sink]]\nkind = \"npz\"\nfolder = \"dumps\"\n";

/// Names of the dumps.
fn dumps(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("dumps")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The visibilities of a dump `[integration][channel][baseline]`, as the file has them.
fn visibilities(path: &Path) -> ndarray::Array3<num_complex::Complex<f32>> {
    let file = std::fs::File::open(path).unwrap();
    ndarray_npy::NpzReader::new(file).unwrap().by_name("vis").unwrap()
}

#[test]
fn a_source_at_the_phase_centre_has_no_phase_and_the_files_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let extra = format!(
        "{NPZ}[[sink]]\nkind = \"uvh5\"\npath = \"a.uvh5\"\n[[sink]]\nkind = \"uvfits\"\npath = \"a.uvfits\"\n\
         [[sink]]\nkind = \"filterbank\"\nfolder = \"beams\"\n[beams]\noffsets = [[0.0, 0.0], [0.1, 0.0]]\n"
    );
    let config = format!("pictures = \"pictures\"\n{}", config("seconds = 0.5", &extra));
    let output = run(folder.path(), &config, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("3 inputs at 1.000 MS/s, 64 channels"), "{text}");
    let names = dumps(folder.path());
    assert!(names.len() >= 9, "{names:?}");
    for file in ["a.uvh5", "a.uvfits", "beams/beam-0.fil", "beams/beam-1.fil"] {
        assert!(folder.path().join(file).metadata().unwrap().len() > 2000, "{file}");
    }
    for name in ["waterfall", "spectra", "occupancy", "closure"] {
        assert!(folder.path().join(format!("pictures/instrument-{name}.png")).exists());
    }
    let mut sum = ndarray::Array2::<num_complex::Complex<f64>>::zeros((6, 64));
    for name in &names {
        let dump = visibilities(&folder.path().join("dumps").join(name));
        for ((_, channel, baseline), value) in dump.indexed_iter() {
            sum[(baseline, channel)] += num_complex::Complex::new(f64::from(value.re), f64::from(value.im));
        }
    }
    // Half of the power is the source's: coherence 1/2, and in 3900 spectra a phase error of 1.6 degrees a channel.
    for (baseline, [a, b]) in [(1, [0, 2]), (3, [0, 5]), (4, [2, 5])] {
        for channel in [4, 16, 32, 48] {
            let coherence = sum[(baseline, channel)] / (sum[(a, channel)].re * sum[(b, channel)].re).sqrt();
            assert!((coherence.norm() - 0.5).abs() < 0.05, "{baseline} {channel}: {coherence}");
            assert!(coherence.arg().to_degrees().abs() < 8.0, "{baseline} {channel}: {coherence}");
        }
    }
}

#[test]
fn beams_are_masked_as_dumps_are_unless_something_else_is_said() {
    let beam = |of_beams: &str, change: &str| {
        let folder = tempfile::tempdir().unwrap();
        let extra = format!("[[sink]]\nkind = \"filterbank\"\nfolder = \"beams\"\n[beams]\n{of_beams}{change}");
        let output = run(folder.path(), &config("seconds = 0.2", &extra), &["--quiet"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(folder.path().join("beams/beam-0.fil")).unwrap()
    };
    let change = "[[change]]\nsample = 50_000\nmasked_channels = [3, [20, 30]]\n";
    let (plain, masked, kept) = (beam("", ""), beam("", change), beam("masked = false\n", change));
    assert_eq!((plain.len(), &plain), (masked.len(), &kept));
    // Half of the sums have zeros in 11 of 64 channels.
    let differ = plain.iter().zip(&masked).filter(|(plain, masked)| plain != masked).count();
    assert!(differ > plain.len() / 20, "{differ} of {}", plain.len());
}

#[test]
fn a_run_is_resumed_behind_its_last_dump() {
    let whole = tempfile::tempdir().unwrap();
    assert!(run(whole.path(), &config("seconds = 0.6", NPZ), &["--quiet"]).status.success());
    let parts = tempfile::tempdir().unwrap();
    assert!(run(parts.path(), &config("seconds = 0.3", NPZ), &["--quiet"]).status.success());
    // The last dump of the first part is not whole.
    let last = dumps(parts.path()).pop().unwrap();
    std::fs::remove_file(parts.path().join("dumps").join(last)).unwrap();
    let output = run(parts.path(), &config("seconds = 0.6", NPZ), &["--resume"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // It does not begin at the start: 0.3 s are left, and a chunk before them.
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("0.3") && line.contains("s of data in")), "{text}");
    assert_eq!(dumps(parts.path()), dumps(whole.path()));
    for name in dumps(whole.path()) {
        let [a, b] = [&whole, &parts].map(|folder| visibilities(&folder.path().join("dumps").join(&name)));
        assert_eq!(a, b, "{name}");
    }
}

/// Dumps of some ranks, their channels one after the other, by name.
fn joined(folder: &Path, ranks: &[usize]) -> Vec<(String, ndarray::Array3<num_complex::Complex<f32>>)> {
    let names = dumps(&folder.join(format!("rank-{}", ranks[0])));
    let of = |name: &String| {
        let parts: Vec<_> = ranks
            .iter()
            .map(|rank| visibilities(&folder.join(format!("rank-{rank}")).join("dumps").join(name)))
            .collect();
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        ndarray::concatenate(ndarray::Axis(1), &views).unwrap()
    };
    names.iter().map(|name| (name.clone(), of(name))).collect()
}

#[test]
fn ranks_give_the_dumps_of_one_and_are_resumed_together() {
    let whole = tempfile::tempdir().unwrap();
    let losses = "[source.simulation.loss]\npacket_samples = 512\nprobability = 0.02\n";
    let with = |seconds: &str, more: &str| {
        let text = config(seconds, &format!("{NPZ}{CHANGES}{more}"));
        text.replace("[[source.simulation.sources]]", &format!("{losses}[[source.simulation.sources]]"))
            .replace("taps = 4", "taps = 4\ndither = 3")
    };
    assert!(run(whole.path(), &with("seconds = 0.6", ""), &["--quiet"]).status.success());
    let expected: Vec<_> = dumps(whole.path())
        .into_iter()
        .map(|name| (name.clone(), visibilities(&whole.path().join("dumps").join(name))))
        .collect();
    assert!(expected.len() > 10);
    // What changes does so.
    let power = |dump: usize, channel: usize| expected[dump].1[(0, channel, 0)].norm();
    assert!(power(0, 25) > 0.0 && power(expected.len() - 2, 25) == 0.0 && power(expected.len() - 2, 30) > 0.0);
    assert!(power(6, 40) < 0.5 * power(0, 40));
    // Three ranks for three antennas; four, of which one has no antennas, and two no channels.
    let some = "[ranks]\ncorrelators = [1, 3]\nframes_per_block = 3\nblocks_under_way = 1\n";
    for (count, more, correlators) in [("3", "", vec![0, 1, 2]), ("4", some, vec![1, 3])] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &with("seconds = 0.3", more), &["--ranks", count]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("rank 0 of {count}: 1 inputs")) && text.contains("corner turn: "), "{text}");
        // The last dump is not whole; one of the ranks has lost another one.
        let mut names = dumps(&folder.path().join(format!("rank-{}", correlators[0])));
        let last = names.pop().unwrap();
        for rank in &correlators {
            std::fs::remove_file(folder.path().join(format!("rank-{rank}/dumps/{last}"))).unwrap();
        }
        std::fs::remove_file(folder.path().join(format!("rank-{}/dumps/{}", correlators[1], names.pop().unwrap())))
            .unwrap();
        let output = run(folder.path(), &with("seconds = 0.6", more), &["--ranks", count, "--resume"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(joined(folder.path(), &correlators), expected);
    }
}

#[test]
fn ranks_that_take_turns_give_the_files_of_one_and_are_resumed() {
    let whole = tempfile::tempdir().unwrap();
    let losses = "[source.simulation.loss]\npacket_samples = 512\nprobability = 0.02\n";
    let with = |seconds: &str, more: &str| {
        let second = "[[cadence]]\nseconds = 0.098304\n"; // twice the first, which is 48 frames of 1024 samples
        let text = config(seconds, &format!("{second}{NPZ}{CHANGES}{more}"));
        text.replace("[[source.simulation.sources]]", &format!("{losses}[[source.simulation.sources]]"))
            .replace("taps = 4", "taps = 4\ndither = 3")
    };
    assert!(run(whole.path(), &with("seconds = 0.6", ""), &["--quiet"]).status.success());
    let all = |folder: &Path| -> Vec<_> {
        let of = |name: String| (name.clone(), visibilities(&folder.join("dumps").join(name)));
        dumps(folder).into_iter().map(of).collect()
    };
    let expected = all(whole.path());
    assert!(expected.len() > 10);
    for (count, spans) in [("2", 1), ("3", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let more = format!("[ranks]\nby = \"time\"\ndumps_per_span = {spans}\n");
        let output = run(folder.path(), &with("seconds = 0.3", &more), &["--ranks", count]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("{count} ranks take turns of")) && text.contains("rank 1:"), "{text}");
        // The last dump is not whole.
        let last = dumps(folder.path()).pop().unwrap();
        std::fs::remove_file(folder.path().join("dumps").join(last)).unwrap();
        let output = run(folder.path(), &with("seconds = 0.6", &more), &["--ranks", count, "--resume"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(all(folder.path()) == expected, "{count} ranks, {spans}");
    }
}

#[test]
fn warnings_that_nobody_reads_end_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let losses = "[source.simulation.loss]\npacket_samples = 512\nprobability = 0.05\n";
    let text = config("seconds = 0.3", NPZ)
        .replace("[[source.simulation.sources]]", &format!("{losses}[[source.simulation.sources]]"));
    // A packet that is lost is a jump of the clock, which is warned of.
    let path = folder.path().join("instrument.toml");
    std::fs::write(&path, format!("longest_gap_s = 1e-4\n{text}")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fringes-instrument"))
        .arg("--config")
        .arg(&path)
        .arg("--output")
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    let ended = child.wait().unwrap();
    assert!(ended.success(), "{ended}");
    assert!(!dumps(folder.path()).is_empty());
}

#[test]
fn ranks_that_cannot_be_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let of = |more: &str, arguments: &[&str]| {
        let output = run(folder.path(), &config("seconds = 0.1", &format!("{NPZ}{more}")), arguments);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(of("", &["--ranks", "0"]).contains("ranks: expected at least 1"));
    assert!(
        of("[ranks]\ncorrelators = [2]\n", &["--ranks", "2"]).contains("expected different ranks of 0..2, found [2]")
    );
    assert!(
        of("[ranks]\nframes_per_block = 0\n", &["--ranks", "2"]).contains("frames of a block: expected at least 1")
    );
    assert!(of("[ranks]\nbackends = [\"cpu\", \"gpu 99\"]\n", &[]).contains("99"));
    assert!(of("[ranks]\nlanes = 2\n", &[]).contains("unknown field"));
    let nccl = "[ranks]\nby = \"time\"\nexchange = \"nccl\"\n";
    assert!(of(nccl, &["--ranks", "2"]).contains("expected default with by = \"time\", found nccl"));
    let nccl = "[ranks]\nexchange = \"nccl\"\n";
    assert!(of(nccl, &["--ranks", "2"]).contains("expected a GPU for each rank with nccl, found cpu"));
    let time = "[ranks]\nby = \"time\"\n";
    let third = format!("[[cadence]]\nseconds = 0.033\n{time}");
    assert!(of(&third, &["--ranks", "2"]).contains("ranks: dumps_per_span: expected spans of whole dumps"));
    assert!(of("[ranks]\nby = \"time\"\ndumps_per_span = 0\n", &["--ranks", "2"]).contains("samples of a span"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_finishes_the_dump_and_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("instrument.toml");
    std::fs::write(&path, config("", NPZ)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fringes-instrument"))
        .args(["--quiet", "--config"])
        .arg(&path)
        .arg("--output")
        .arg(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while !folder.path().join("dumps").exists() || dumps(folder.path()).len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
        assert!(started.elapsed() < Duration::from_secs(120), "no dumps came");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    for name in dumps(folder.path()).iter().filter(|name| name.starts_with("dump-")) {
        let file = std::fs::File::open(folder.path().join("dumps").join(name)).unwrap();
        let weight: ndarray::Array2<f32> = ndarray_npy::NpzReader::new(file).unwrap().by_name("weight").unwrap();
        let most = weight.iter().copied().fold(0.0, f32::max);
        assert!(weight.iter().all(|&weight| weight == most), "{name} is not whole");
    }
}

#[test]
fn what_is_wrong_is_told_in_one_line_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("", "missing field `source`"),
        ("backend = \"moon\"\n", "expected auto, cpu or gpu with a number, found `moon`"),
        ("colour = 1\n", "unknown field `colour`"),
    ] {
        let text = if text.is_empty() { String::new() } else { format!("{text}{}", config("seconds = 0.1", NPZ)) };
        let output = run(folder.path(), &text, &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
    for (extra, expected) in [
        (
            "[[sink]]\nkind = \"uvh5\"\npath = \"a.uvh5\"\ncadence = 4\n",
            "sink uvh5: expected a cadence of 0..1, found 4",
        ),
        ("[[cadence]]\nseconds = 0.1\nantennas = [7]\n", "expected different antennas of 0..3, found [7]"),
        ("[[cadence]]\nseconds = -1.0\n", "cadence: "),
        ("[[change]]\ngains = [1.0]\n", "change 0: expected one of seconds and sample"),
        ("[[change]]\nseconds = 1.0\ngains = [1.0, 2.0]\n", "change 0: expected 1 or 3 gains, found 2"),
        ("[[change]]\nsample = 1\ngains = [nan]\n", "change 0: gains: "),
        ("[[change]]\nsample = 1\nmasked_channels = [[60, 65]]\n", "expected channels of 0..64, found 60..65"),
        ("[[change]]\nsample = 1\nbeam_offsets = [[0.0, 0.0]]\n", "beam_offsets: expected 0 as in [beams], found 1"),
    ] {
        let output = run(folder.path(), &config("seconds = 0.1", extra), &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
}
