"""Runs the example `fx` on real recordings, and compares its visibilities with numpy.

    python check_fx.py target/debug/examples

The recordings are files of two packages, which pip downloads into a temporary folder (or finds below FRINGES_PACKAGES, a folder
with the downloaded files):

- `tart` 1.4.6: five antennas sampled together, one bit, 65536 samples at 16.368 MS/s around GPS L1. A 512-point FX shows a
  coherence of about 0.75 near 3.68 MHz on the pair (1,4), over a noise of 1/sqrt(128) = 0.09, and no other pair comes near it;
- `baseband` 4.3.0: `sample.vdif`, eight bands of a VLBA recording at 32 MS/s. Bands 2 and 3 are two polarisations of one
  band, coherent at zero lag: about 0.16 over a noise of 1/sqrt(625) = 0.04.

Both are also correlated here, from the bits of the frames on, by numpy in double precision, and every visibility is compared.
The simulated array of `fx` is checked too: the direction of its source follows from `visibilities.npz` by a formula written out
below. Exit status 1 if a check fails or a package cannot be had.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
from astropy import units
from astropy.coordinates import EarthLocation, HADec, SkyCoord
from astropy.io import fits
from astropy.time import Time
from astropy.utils import iers

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"tart": "tart==1.4.6", "baseband": "baseband==4.3.0"}
SAMPLE_VDIF = "baseband/data/sample.vdif"


class Checks:
    """Counts what holds and what does not."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, holds, name, text):
        self.passed += bool(holds)
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {name}: {text}", flush=True)


def package(name, folder):
    """The downloaded file of a package."""
    given = os.environ.get("FRINGES_PACKAGES")
    folder = pathlib.Path(given) if given else folder
    if not given:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGES[name]]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            lines = [line for line in result.stderr.splitlines() if line.strip()]
            sys.exit(f"pip cannot download {PACKAGES[name]} (offline?): {lines[-1] if lines else 'no message'}")
    version = PACKAGES[name].replace("==", "-")
    found = sorted(path for path in folder.iterdir() if path.name.startswith(version))
    if not found:
        sys.exit(f"{PACKAGES[name]} is not in {folder}")
    return found[0]


def member(archive, name, target):
    """Copies the file whose path ends in `name` out of a wheel or a source archive."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as files:
            inside = next(path for path in files.namelist() if path.endswith(name))
            target.write_bytes(files.read(inside))
    else:
        with tarfile.open(archive) as files:
            inside = next(path for path in files.getnames() if path.endswith(name))
            target.write_bytes(files.extractfile(inside).read())
    return target


def fx(examples, out, *arguments):
    """Runs the example and returns its summary and its arrays."""
    program = examples / ("fx.exe" if os.name == "nt" else "fx")
    command = [str(program), "--json", "--out", str(out), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr.strip()}")
    with np.load(out / "visibilities.npz") as arrays:
        return json.loads(result.stdout), {name: arrays[name] for name in arrays.files}


def vdif_samples(path, bits, levels):
    """Samples [thread][time] of a VDIF file of real single-channel threads with 32-byte headers, legible frames only."""
    data = np.fromfile(path, dtype="<u4")
    length = int(data[2] & 0xFFFFFF) * 2  # in words of four bytes
    frames = data[: data.size // length * length].reshape(-1, length)
    frames = frames[(frames[:, 0] >> 31) == 0]
    threads = (frames[:, 3] >> 16) & 0x3FF
    order = np.lexsort((frames[:, 1] & 0xFFFFFF, frames[:, 0] & 0x3FFFFFFF, threads))
    words = frames[order, 8:]
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    codes = (words[:, :, None] >> shifts) & ((1 << bits) - 1)
    return levels[codes].reshape(np.unique(threads).size, -1)


def plain_fx(samples, channels):
    """Visibilities [channel][baseline] of real samples [input][time]: Fourier transforms of 2 `channels` samples, a mean over
    all of them. One tap without a window has 2 `channels` equal weights, whose squares sum to 1."""
    inputs, times = samples.shape
    step = 2 * channels
    blocks = samples[:, : times // step * step].reshape(inputs, -1, step) / np.sqrt(step)
    spectra = np.fft.rfft(blocks, axis=-1)[..., :channels]
    pairs = [(a, b) for a in range(inputs) for b in range(a + 1)]
    return np.stack([(spectra[a] * spectra[b].conj()).mean(axis=0) for a, b in pairs], axis=-1)


def check_arrays(checks, name, summary, arrays, spectra):
    """Shapes, types and axes of `visibilities.npz`."""
    inputs = summary["antennas"] * summary["pols"]
    pairs = [(a, b) for a in range(inputs) for b in range(a + 1)]
    shape = (summary["integrations"], summary["channels"], len(pairs))
    expected = {
        "vis": (np.complex64, shape),
        "baseline_inputs": (np.int64, (len(pairs), 2)),
        "freq_hz": (np.float64, shape[1:2]),
        "time_s": (np.float64, shape[:1]),
        "weight": (np.float32, (shape[0], shape[2])),
    }
    found = {key: (array.dtype.type, array.shape) for key, array in arrays.items()}
    checks.check(found == expected, f"{name} arrays", {key: value[1] for key, value in found.items()})
    checks.check((arrays["baseline_inputs"] == pairs).all(), f"{name} baselines", f"{len(pairs)} in the packed lower triangle")
    checks.check((arrays["weight"] == spectra).all(), f"{name} weights", f"{arrays['weight'].min()} to {arrays['weight'].max()}")
    autos = arrays["vis"][..., [a == b for a, b in pairs]]
    checks.check((autos.imag == 0).all() and (autos.real >= 0).all(), f"{name} autocorrelations", "real, not negative")


def compare(checks, name, arrays, expected):
    """Every visibility against numpy's, in units of the geometric mean of the autocorrelations of its inputs."""
    pairs = arrays["baseline_inputs"]
    autos = {a: expected[:, index].real for index, (a, b) in enumerate(pairs) if a == b}
    scale = np.stack([np.sqrt(autos[a] * autos[b]) for a, b in pairs], axis=-1)
    worst = np.max(np.abs(arrays["vis"][0] - expected) / scale)
    # A transform of 512 float32 samples rounds at nine stages: with signs at random, its error is below 9 * 2^-24 of the root
    # mean square over channels, which is up to 6 times that of the quietest channel here. A product has two such factors.
    bound = 100 * 2.0**-24
    checks.check(worst < bound, name, f"{arrays['vis'][0].size} visibilities within {worst:.1e} of the power (bound {bound:.1e})")


def between(summary, a, b):
    return next(baseline for baseline in summary["baselines"] if baseline["inputs"] == [a, b])


def check_tart(checks, examples, folder):
    converter = [sys.executable, str(HERE / "tart_to_vdif.py"), str(package("tart", folder)), str(folder)]
    recording = json.loads(subprocess.run(converter, check=True, capture_output=True, text=True).stdout)["vdif"]
    plain = ["--input", recording, "--channels", 256, "--taps", 1, "--window", "rect", "--integration", "all"]
    summary, arrays = fx(examples, folder / "tart", *plain)
    check_arrays(checks, "tart", summary, arrays, 128)
    checks.check(summary["sample_rate_hz"] == 16.368e6, "tart rate", f"{summary['sample_rate_hz']} Hz")
    checks.check(summary["strongest_baseline"] == [1, 4], "tart strongest pair", summary["strongest_baseline"])
    coherence, frequency = summary["max_coherence"], summary["max_coherence_freq_hz"]
    checks.check(abs(coherence - 0.75) < 0.02, "tart coherence", f"{coherence:.3f} (expected 0.75)")
    # A channel is 0.032 MHz wide.
    checks.check(abs(frequency - 3.68e6) < 0.032e6, "tart frequency", f"{frequency / 1e6:.3f} MHz (expected 3.68)")
    noise = summary["noise_level"]
    checks.check(abs(noise - 128**-0.5) < 1e-9, "tart noise", f"{noise:.4f}")
    others = max(pair["max_coherence"] for pair in summary["baselines"] if pair["inputs"] != [1, 4])
    checks.check(others < 0.65, "tart other pairs", f"at most {others:.3f}")
    checks.check(summary["source_direction_error_deg"] is None, "tart direction", "no source is known")
    # The noise itself: the median amplitude of noise is sqrt(ln 2) times its root mean square.
    pair = arrays["baseline_inputs"].tolist().index([4, 1])
    auto = [arrays["baseline_inputs"].tolist().index([a, a]) for a in (4, 1)]
    vis = arrays["vis"][0]
    median = np.median(np.abs(vis[:, pair]) / np.sqrt(vis[:, auto[0]].real * vis[:, auto[1]].real))
    checks.check(abs(median / (np.log(2) ** 0.5 * noise) - 1) < 0.25, "tart noise seen", f"median {median:.3f}")

    _, arrays = fx(examples, folder / "tart_float", *plain, "--quantise", "none")
    samples = vdif_samples(recording, 1, np.array([-1.0, 1.0]))
    expected = plain_fx(samples, 256)
    compare(checks, "tart against numpy", arrays, expected)
    # Antennas in another order are other data: the map must show it.
    summary, arrays = fx(examples, folder / "tart_swapped", *plain, "--map", "0:0,4:1,2:2,3:3,1:4", "--quantise", "none")
    compare(checks, "tart with antennas 1 and 4 exchanged", arrays, plain_fx(samples[[0, 4, 2, 3, 1]], 256))
    summary, _ = fx(examples, folder / "tart_three", *plain, "--map", "0:0,2:1,3:2")
    checks.check(summary["max_coherence"] < 0.65, "tart without antennas 1 and 4", f"at most {summary['max_coherence']:.3f}")


def check_vlba(checks, examples, folder):
    recording = member(package("baseband", folder), SAMPLE_VDIF, folder / "sample.vdif")
    plain = ["--input", recording, "--channels", 32, "--taps", 1, "--window", "rect", "--integration", "all"]
    summary, arrays = fx(examples, folder / "vlba", *plain)
    check_arrays(checks, "vlba", summary, arrays, 625)
    checks.check(summary["antennas"] == 8, "vlba inputs", summary["antennas"])
    checks.check(summary["strongest_baseline"] == [2, 3], "vlba strongest pair", summary["strongest_baseline"])
    pair = between(summary, 2, 3)
    checks.check(abs(pair["zero_lag_coherence"] - 0.16) < 0.01, "vlba zero lag", f"{pair['zero_lag_coherence']:.3f} (expected 0.16)")
    checks.check(abs(pair["mean_coherence"] - 0.16) < 0.02, "vlba mean", f"{pair['mean_coherence']:.3f} (expected 0.16)")
    checks.check(abs(pair["noise_level"] - 0.04) < 1e-9, "vlba noise", f"{pair['noise_level']:.4f}")
    apart = between(summary, 2, 5)["mean_coherence"]
    checks.check(apart < 0.05, "vlba bands 2 and 5", f"{apart:.3f}: noise")
    _, arrays = fx(examples, folder / "vlba_float", *plain, "--quantise", "none")
    # The optimal levels of two bits, as the format's users have them.
    levels = np.array([-3.3359, -1.0, 1.0, 3.3359])
    compare(checks, "vlba against numpy", arrays, plain_fx(vdif_samples(recording, 2, levels), 32))


def check_simulation(checks, examples, folder):
    """Finds the source from the phases of all baselines, knowing only positions and the phase centre."""
    hour_angle, dec, latitude = np.radians([-20.0, -38.0, -30.7128])
    table = "# enu -30.7128 21.4438 1053\n"
    positions = np.array([[0, 0, 0], [31, -12, 0.5], [-22, 41, -0.5], [55, 28, 1], [-44, -29, 0], [9, -61, -1], [-37, 66, 0.5]])
    table += "".join(f"t{index} {e} {n} {u}\n" for index, (e, n, u) in enumerate(positions))
    (folder / "array.txt").write_text(table)
    arguments = ["--array", folder / "array.txt", "--source", "ha:-20,dec:-38", "--duration", 0.1, "--channels", 64]
    summary, arrays = fx(examples, folder / "simulated", *arguments)
    error = summary["source_direction_error_deg"]
    checks.check(error < 0.002, "simulated direction", f"off by {error:.5f} degrees")

    # East, north and up of the phase centre and of the directions of growing right ascension and declination.
    (sh, ch), (sd, cd), (sp, cp) = ((np.sin(x), np.cos(x)) for x in (hour_angle, dec, latitude))
    axes = np.array(
        [[ch, -sh * sp, sh * cp], [sd * sh, cd * cp + sd * ch * sp, cd * sp - sd * ch * cp], [-cd * sh, sd * cp - cd * ch * sp, sd * sp + cd * ch * cp]]
    )
    u, v, w = axes @ positions.T / 299_792_458.0
    vis, pairs = arrays["vis"][0], arrays["baseline_inputs"]
    same = np.array([a % 2 == b % 2 and a != b for a, b in pairs])
    autos = {a: vis[:, index].real for index, (a, b) in enumerate(pairs) if a == b}
    coherence = np.stack([vis[:, i] / np.sqrt(autos[a] * autos[b]) for i, (a, b) in enumerate(pairs) if same[i]], axis=-1)
    a, b = (pairs[same] // 2).T
    frequency = arrays["freq_hz"][:, None]

    def power(l, m):
        delay = (u[a] - u[b]) * l + (v[a] - v[b]) * m + (w[a] - w[b]) * (np.sqrt(1 - l * l - m * m) - 1)
        return (coherence * np.exp(-2j * np.pi * frequency * delay)).real.sum()

    found = np.radians(summary["recovered_directions_deg"][0])
    step = np.radians(0.002)
    here = power(*found)
    around = [power(found[0] + x * step, found[1] + y * step) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    checks.check(here > max(around), "simulated phases", f"{here / coherence.size:.3f} at the recovered direction, less around it")
    wide = np.radians(np.arange(-0.9, 0.91, 0.02))
    elsewhere = max(power(l, m) for l in wide for m in wide if np.hypot(l - found[0], m - found[1]) > np.radians(0.1))
    checks.check(here > 1.2 * elsewhere, "simulated field", f"{here / elsewhere:.2f} times the next highest")


    # The phase centre of the UVFITS file is where astropy sees hour angle -20 degrees and declination -38 degrees in the
    # middle of the run. The example knows no UT1 - UTC, which turns the sky by 0.0002 degrees then.
    iers.conf.auto_download = False
    with fits.open(folder / "simulated" / "visibilities.uvfits") as file:
        header = file[0].header
        star = SkyCoord(header["CRVAL5"] * units.deg, header["CRVAL6"] * units.deg, frame="icrs")
    time = Time("2025-01-01T00:00:00", scale="utc") + arrays["time_s"][len(arrays["time_s"]) // 2] * units.s
    site = EarthLocation(lat=-30.7128 * units.deg, lon=21.4438 * units.deg, height=1053 * units.m)
    seen = star.transform_to(HADec(obstime=time, location=site))
    off = seen.separation(SkyCoord(-20 * units.deg, -38 * units.deg, frame=seen.frame)).deg
    checks.check(off < 0.001, "simulated phase centre", f"{off:.5f} degrees from where astropy has it")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1].strip())
    examples, checks = pathlib.Path(sys.argv[1]).resolve(), Checks()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_simulation, check_tart, check_vlba):
            check(checks, examples, pathlib.Path(folder))
    print(f"{checks.passed} checks passed, {checks.failed} failed")
    sys.exit(checks.failed != 0)


if __name__ == "__main__":
    main()
