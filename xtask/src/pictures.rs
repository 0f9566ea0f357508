//! docs/pictures: pictures that the programs made, and the page that shows them.
//!
//! `cargo xtask pictures` runs the programs on the CPU and copies what they drew, so that a picture in the docs is
//! what a user gets. With `--check` nothing runs: the page must be up to date, and each picture there, named by it,
//! and small.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder of the pictures.
const FOLDER: &str = "docs/pictures";
/// Most bytes of a picture.
const MOST_BYTES: u64 = 200_000;
/// What mends a stale gallery.
const MEND: &str = "run `cargo xtask pictures`";
/// The chart that `cargo xtask performance` draws.
const CHART: &str = "rates.svg";

/// A run of a program that draws pictures into a folder.
struct Run {
    program: &'static str,
    /// Its arguments; `{out}` is the folder.
    arguments: &'static [&'static str],
    pictures: &'static [Picture],
}

struct Picture {
    /// Its name in the program's folder and in ours.
    from: &'static str,
    to: &'static str,
    caption: &'static str,
}

const fn picture(from: &'static str, to: &'static str, caption: &'static str) -> Picture {
    Picture { from, to, caption }
}

const RECORD: &str = "docs/measurements/checks/2026-11-22-h200-xengine.json";

const RUNS: &[Run] = &[
    Run {
        program: "fx",
        arguments: &["--backend", "cpu", "--out", "{out}"],
        pictures: &[
            picture(
                "overview.png",
                "fx.png",
                "A source drifts through the field of eight antennas: its fringes, and the direction that they give.",
            ),
            picture(
                "waterfalls.png",
                "waterfalls.png",
                "Coherence over frequency and time: amplitude above, phase below.",
            ),
            picture("autocorrelations.png", "autocorrelations.png", "Power of each input over frequency."),
            picture(
                "coherence_matrix.png",
                "coherence_matrix.png",
                "Coherence of every pair of inputs. Unequal polarisations of an unpolarised source show noise alone.",
            ),
            picture(
                "direction.png",
                "direction.png",
                "The field as the array sees it, east to the left, with the recovered directions and the beam.",
            ),
        ],
    },
    Run {
        program: "fx",
        arguments: &["--backend", "cpu", "--duration", "0.1", "--integration", "50ms", "--out", "{out}"],
        pictures: &[picture(
            "spectra.png",
            "spectra.png",
            "Amplitude and phase of the strongest baselines, where a run is too short for an axis of time.",
        )],
    },
    Run {
        program: "narrowband",
        arguments: &["--backend", "cpu", "--out", "{out}"],
        pictures: &[picture(
            "narrowband.png",
            "narrowband.png",
            "A maser line in a wide band, the same line in channels of 100 Hz with its fit, and its phase.",
        )],
    },
    Run {
        program: "beams",
        arguments: &["--backend", "cpu", "--out", "{out}"],
        pictures: &[picture(
            "beams.png",
            "beams.png",
            "Beams on a grid without and with a null, a pulsar in its beam, and the pattern of that beam.",
        )],
    },
    Run {
        program: "fringes-instrument",
        arguments: &["--demo", "--quiet", "--output", "{out}"],
        pictures: &[
            picture(
                "instrument-waterfall.png",
                "instrument-waterfall.png",
                "Power of an input of a simulated instrument over frequency and time; a tone is masked.",
            ),
            picture(
                "instrument-masks.png",
                "instrument-masks.png",
                "Interference that a simulated instrument leaves out: a tone, pulses in a band, an ADC's offset.",
            ),
            picture(
                "instrument-occupancy.png",
                "instrument-occupancy.png",
                "Share of each input's spectra that was there: a packet in a thousand is lost.",
            ),
        ],
    },
    Run {
        program: "xengine",
        arguments: &["--from", RECORD, "--out", "{out}"],
        pictures: &[
            picture(
                "stations.png",
                "xengine-stations.png",
                "Rate of the X-engine against stations, beside what the GPU's units could do.",
            ),
            picture(
                "transfer.png",
                "xengine-transfer.png",
                "Time of the kernel, and of the transfer of its voltages from the host.",
            ),
            picture(
                "integration.png",
                "xengine-integration.png",
                "Rate against the length of integrations: short ones write more visibilities.",
            ),
            picture(
                "integrated.png",
                "xengine-integrated.png",
                "The whole X-engine from the host's memory, beside what its slowest part allows.",
            ),
        ],
    },
    Run {
        program: "layout",
        arguments: &["--transform", "64,64", "--svg", "{out}"],
        pictures: &[
            picture(
                "m16n8k16_a.svg",
                "layout-fragment.svg",
                "Which lane and register of a warp hold which element of a tensor core's operand.",
            ),
            picture(
                "x.svg",
                "layout-input.svg",
                "256 complex inputs of the FFT in the registers of a warp, as the note on CHIME has them.",
            ),
        ],
    },
];

/// Runs the programs and copies their pictures, or with `check` looks at what is there.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let folder = root.join(FOLDER);
    if !check {
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for (number, run) in RUNS.iter().enumerate() {
            draw(root, run, number)?;
        }
        let path = folder.join("README.md");
        std::fs::write(&path, page()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    faults(&folder).map_or(Ok(()), |fault| Err(format!("{FOLDER}/{fault}; {MEND}")))
}

/// Runs a program and copies its pictures.
fn draw(root: &Path, run: &Run, number: usize) -> Result<(), String> {
    let out = root.join("target/pictures").join(number.to_string());
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["run", "--quiet"]).args(start(run.program));
    command.args(run.arguments.iter().map(|argument| match *argument {
        "{out}" => out.clone().into_os_string(),
        argument => argument.into(),
    }));
    // Pictures are what a machine without a GPU draws.
    command.env("CUDA_VISIBLE_DEVICES", "").stdout(std::process::Stdio::null());
    let status = command.status().map_err(|error| format!("{}: {error}", run.program))?;
    if !status.success() {
        return Err(format!("{} failed: {status}", run.program));
    }
    for Picture { from, to, .. } in run.pictures {
        let (from, to) = (out.join(from), root.join(FOLDER).join(to));
        std::fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(())
}

/// Programs that are examples; the others are subcommands of the tools.
const EXAMPLES: [&str; 3] = ["fx", "narrowband", "beams"];

/// How cargo starts a program.
fn start(program: &'static str) -> Vec<&'static str> {
    if EXAMPLES.contains(&program) {
        vec!["--example", program, "--"]
    } else if program == "fringes-instrument" {
        vec!["--bin", program, "--"]
    } else {
        vec!["-p", "fringes-tools", "--", program]
    }
}

/// The command that makes a run's pictures, as a user writes it.
fn command(run: &Run) -> String {
    let start = format!("cargo run --release {}", start(run.program).join(" "));
    let arguments = run.arguments.iter().map(|argument| argument.replace("{out}", "pictures"));
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    let line = format!("{start} {arguments}");
    if line.len() > 120 { format!("{start} \\\n    {arguments}") } else { line }
}

/// The page with all pictures.
fn page() -> String {
    let mut page = String::from(
        "# Pictures that the programs made\n\n\
         Made by `cargo xtask pictures`; do not edit. Colours can be told apart without red and green.\n",
    );
    for run in RUNS {
        page.push_str(&format!("\n## {}\n\n```sh\n{}\n```\n", run.program, command(run)));
        for Picture { to, caption, .. } in run.pictures {
            let name = to.split('.').next().unwrap_or(to).replace(['-', '_'], " ");
            page.push_str(&format!("\n{caption}\n\n![{name}]({to})\n"));
        }
    }
    page.push_str(&format!(
        "\n## Rates\n\n`cargo xtask performance` draws this from [the records](../measurements).\n\n![Rates]({CHART})\n"
    ));
    page
}

/// The first thing that is wrong with the folder.
fn faults(folder: &Path) -> Option<String> {
    if std::fs::read_to_string(folder.join("README.md")).ok() != Some(page()) {
        return Some("README.md is stale".into());
    }
    let names = RUNS.iter().flat_map(|run| run.pictures).map(|picture| picture.to);
    let names: Vec<&str> = names.chain([CHART, "README.md"]).collect();
    let entries = std::fs::read_dir(folder).ok()?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    found.sort();
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if let Some(other) = found.iter().map(|path| name(path)).find(|found| !names.contains(&found.as_str())) {
        return Some(format!("{other} is drawn by no program"));
    }
    names.into_iter().find_map(|name| match std::fs::metadata(folder.join(name)) {
        Err(_) => Some(format!("{name} is missing")),
        Ok(file) if file.len() > MOST_BYTES => {
            Some(format!("{name} has {} bytes, {MOST_BYTES} are allowed", file.len()))
        }
        Ok(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gallery_has_every_picture_and_no_other_and_all_are_small() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(run(root, true), Ok(()));
    }

    #[test]
    fn a_missing_a_large_and_a_strange_picture_are_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        let fault = || run(root.path(), true).unwrap_err();
        assert_eq!(fault(), "docs/pictures/README.md is stale; run `cargo xtask pictures`");
        std::fs::write(folder.join("README.md"), page()).unwrap();
        assert!(fault().contains("is missing"));
        let names = RUNS.iter().flat_map(|run| run.pictures).map(|picture| picture.to);
        names.chain([CHART]).for_each(|name| std::fs::write(folder.join(name), "x").unwrap());
        run(root.path(), true).unwrap();
        std::fs::write(folder.join("fx.png"), vec![0; 200_001]).unwrap();
        assert!(fault().contains("fx.png has 200001 bytes"));
        std::fs::write(folder.join("old.png"), "x").unwrap();
        assert!(fault().contains("old.png is drawn by no program"));
    }

    #[test]
    fn lines_of_the_page_are_not_wide() {
        assert_eq!(page().lines().find(|line| line.chars().count() > 120), None);
    }
}
