"""The four operations against numpy and scipy, side by side in one run.

    cargo build --release -p fringes-tools
    python benches/compare.py --bench target/release/fringes-tools --json out.json

Both sides work on the same sizes, on the same processors, in turn: one repetition of ours, one of each way of doing it
with numpy or scipy, and so on; the medians are compared. Before every timed call goes one that is not timed, on both
sides. Timed on our side is the whole public call, from 8-bit or float input in memory to a new output. Timed with numpy and
scipy is the arithmetic alone, on input that already has the type and layout that suits it best: complex64 voltages where
ours are 8-bit, a mixer that is already computed. `ratio` is the time of the fastest way with numpy and scipy over ours:
above 1, ours is faster. It is given for the medians, as quartiles of the ratios of single repetitions, and for the
least times: a scheduler that puts two threads on one processor doubles a run's time, which on small virtual machines
spoils medians of either side.
"""

import argparse
import collections
import json
import os
import platform
import statistics
import subprocess
import sys
import time

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--bench", default="target/release/fringes-tools", help="the tools, built")
PARSER.add_argument("--threads", type=int, default=2, help="processors that both sides may use")
PARSER.add_argument("--repetitions", type=int, default=11)
PARSER.add_argument("--only", help="one of correlate, channelize, down-convert, beamform")
PARSER.add_argument("--json", help="file to write the rows to")
ARGUMENTS = PARSER.parse_args()

# Before numpy is loaded: its BLAS reads these once.
# A mask of all processors is left alone: setting it was seen to put both of our threads on one of two processors.
if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > ARGUMENTS.threads:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: ARGUMENTS.threads])
for variable in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]:
    os.environ[variable] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
import scipy  # noqa: E402
import scipy.fft  # noqa: E402
import scipy.signal  # noqa: E402

Case = collections.namedtuple("Case", "name sizes ways work unit informal options about", defaults=[{}, {}, ""])
RANDOM = np.random.default_rng(1)


def complex_normal(*shape):
    parts = RANDOM.standard_normal((*shape, 2), dtype=np.float32)
    return parts.view(np.complex64)[..., 0]


def correlate():
    channels, times, inputs = 64, 4096, 128
    x = complex_normal(channels, inputs, times)  # each channel's matrix as BLAS wants it
    ways = {"complex64 x @ x.conj().T per channel": lambda: [x[c] @ x[c].conj().T for c in range(channels)]}
    sizes = dict(channels=channels, times=times, inputs=inputs)
    work = channels * times * inputs * (inputs + 1) / 2
    yield Case("correlate", sizes, ways, work / 1e9, "G complex MAC/s of the triangle")


def channelize():
    channels, taps, spectra, inputs = 4096, 16, 1024, 2
    step = 2 * channels
    x = RANDOM.standard_normal((inputs, (spectra + taps - 1) * step), dtype=np.float32)
    weights = (np.hanning(taps * step) * np.sinc((np.arange(taps * step) + 0.5) / step - taps / 2)).astype(np.float32)
    weights = weights.reshape(taps, step)
    frames = x.reshape(inputs, -1, step)

    def weighted(spectra_at_once):
        """The filter's sums, a block of spectra at a time so that a block may stay in the cache."""
        for first in range(0, spectra, spectra_at_once):
            sums = weights[0] * frames[:, first : first + spectra_at_once]
            product = np.empty_like(sums)
            for tap in range(1, taps):
                np.multiply(weights[tap], frames[:, first + tap : first + tap + spectra_at_once], out=product)
                sums += product
            yield sums

    windows = np.lib.stride_tricks.sliding_window_view(frames, taps, axis=1)  # [input][spectrum][step][tap]
    ways = {
        "sums over taps, numpy.fft.rfft": lambda: [np.fft.rfft(sums) for sums in weighted(spectra)],
        "sums over taps, scipy.fft.rfft workers=2": lambda: [scipy.fft.rfft(sums, workers=2) for sums in weighted(spectra)],
        "blocked sums over taps, numpy.fft.rfft": lambda: [np.fft.rfft(sums) for sums in weighted(8)],
        "blocked sums over taps, scipy.fft.rfft workers=2": lambda: [scipy.fft.rfft(sums, workers=2) for sums in weighted(8)],
        "einsum, scipy.fft.rfft workers=2": lambda: scipy.fft.rfft(np.einsum("isft,tf->isf", windows, weights), workers=2),
    }
    sizes = dict(channels=channels, times=spectra, taps=taps, inputs=inputs)
    yield Case("channelize", sizes, ways, x.size / 1e6, "M samples/s")


def down_convert():
    taps, decimation, times, inputs = 128, 8, 1 << 18, 2
    samples = (times - 1) * decimation + taps
    x = RANDOM.standard_normal((inputs, samples), dtype=np.float32)
    taps_f32 = RANDOM.standard_normal(taps, dtype=np.float32)
    mixer = np.exp(-2j * np.pi * ((0.21 * np.arange(samples)) % 1.0)).astype(np.complex64)
    mixed_taps = (taps_f32 * mixer[:taps]).astype(np.complex64)
    phases = np.ascontiguousarray(mixer[: times * decimation : decimation])
    windows = np.lib.stride_tricks.sliding_window_view(x, taps, axis=1)[:, ::decimation]  # [input][output][tap]
    parts = np.stack([mixed_taps.real, mixed_taps.imag], axis=1)  # [tap][2]

    def by_matmul():
        return (windows @ parts).view(np.complex64)[..., 0] * phases

    ways = {
        "mixer, scipy.signal.upfirdn": lambda: scipy.signal.upfirdn(taps_f32[::-1], x * mixer, 1, decimation, axis=-1),
    }
    informal = {"strided windows @ mixed filter (not upfirdn)": by_matmul}
    sizes = dict(taps=taps, decimation=decimation, times=times, inputs=inputs)
    yield Case("down-convert", sizes, ways, x.size / 1e6, "M samples/s", informal)


def beamform():
    """Tied-array beams of several sizes, by weights of f32, and of 16 and 8 bits at the first two."""
    for number, (channels, times, inputs, beams) in enumerate(
        [(64, 4096, 128, 64), (64, 4096, 64, 128), (64, 4096, 64, 16), (8, 4096, 512, 256)]
    ):
        by_input = complex_normal(channels, inputs, times)
        by_time = np.ascontiguousarray(by_input.transpose(0, 2, 1))
        weights = complex_normal(beams, channels, inputs)
        rows = np.ascontiguousarray(weights.transpose(1, 0, 2))  # [channel][beam][input]
        columns = np.ascontiguousarray(weights.transpose(1, 2, 0))  # [channel][input][beam]
        ways = {
            "complex64 weights @ x per channel": lambda: [rows[c] @ by_input[c] for c in range(channels)],
            "complex64 x @ weights per channel": lambda: [by_time[c] @ columns[c] for c in range(channels)],
        }
        sizes = dict(channels=channels, times=times, inputs=inputs, beams=beams)
        work = channels * times * inputs * beams
        held = {"f32": "", "int16": ", 16-bit weights", "int8": ", 8-bit weights"}
        for kind in held if number < 2 else ["f32"]:
            yield Case("beamform", sizes, ways, work / 1e9, "G complex MAC/s", {}, {"weights": kind}, held[kind])


class Ours:
    """The tool bench-cpu, waiting for a line to run its operation once."""

    def __init__(self, case, options):
        options = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [ARGUMENTS.bench, "bench-cpu", case, *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{ARGUMENTS.bench} ended with exit status {self.process.wait()}")
        return json.loads(line)

    def __call__(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return self.answer()["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(way):
    way()  # warms up caches, clocks and memory, as bench-cpu does
    start = time.perf_counter()
    result = way()
    seconds = time.perf_counter() - start
    del result
    return seconds


def compare(case):
    everything = {**case.ways, **case.informal}
    for way in everything.values():
        way()
    ours = Ours(case.name, {**case.sizes, **case.options})
    seconds = {"fringes": [], **{way: [] for way in everything}}
    for _ in range(ARGUMENTS.repetitions):
        # A pause, because threads of the side that went before spin for a while when they have no work.
        time.sleep(0.15)
        seconds["fringes"].append(ours())
        for way, function in everything.items():
            time.sleep(0.15)
            seconds[way].append(timed(function))
    ours.close()
    medians = {way: statistics.median(values) for way, values in seconds.items()}
    fastest = min(case.ways, key=medians.get)
    ratio = medians[fastest] / medians["fringes"]
    # Of each repetition: what one after another had of the machine is most alike.
    pairs = [theirs / mine for theirs, mine in zip(seconds[fastest], seconds["fringes"])]
    least = min(min(seconds[way]) for way in case.ways) / min(seconds["fringes"])
    print(f"\n{case.name}: {' '.join(f'{name}={value}' for name, value in case.sizes.items())}{case.about}")
    for way, median in medians.items():
        spread = f"{min(seconds[way]) * 1e3:.1f} to {max(seconds[way]) * 1e3:.1f}"
        print(f"  {median * 1e3:9.1f} ms ({spread:>18})  {median / medians['fringes']:6.2f}  {way}")
    print(f"  ratio {ratio:.2f} of medians, {least:.2f} of the least, against: {fastest}", flush=True)
    return {
        "kernel": case.name.replace("-", "_"),
        "variant": f"{ours.about['backend']}, {ours.about['threads']} threads{case.about}",
        "params": case.sizes,
        "time_ms": round(medians["fringes"] * 1e3, 3),
        "value": round(case.work / medians["fringes"], 4),
        "unit": case.unit,
        "floor": round(case.work / medians[fastest], 4),
        "bound_by": f"peer: {fastest}",
        "check": "numpy and scipy in f64, tests/python/check_operations.py",
        "ratio": round(ratio, 3),
        "ratios_of_pairs": [round(share, 3) for share in statistics.quantiles(pairs, n=4)],
        "ratio_of_least": round(least, 3),
        "least_ms": {way: round(min(values) * 1e3, 3) for way, values in seconds.items()},
        "peers_ms": {way: round(median * 1e3, 3) for way, median in medians.items() if way != "fringes"},
    }


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def commit():
    try:
        text = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return text.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    cases = [correlate, channelize, down_convert, beamform]
    if ARGUMENTS.only:
        cases = [case for case in cases if case.__name__.replace("_", "-") == ARGUMENTS.only]
    machine = f"{processor()}, {ARGUMENTS.threads} threads"
    print(f"{machine}, numpy {np.__version__}, scipy {scipy.__version__}")
    print("  median of repetitions, (least to greatest), time over ours, what")
    rows = [compare(case) for cases_of in cases for case in cases_of()]
    print(f"\n{'operation':30} {'ours':>10} {'theirs':>10} {'ratio':>6} {'of the least':>14}")
    for row in rows:
        theirs = row["time_ms"] * row["ratio"]
        sizes = "x".join(str(size) for size in row["params"].values())
        print(f"{row['kernel']:14} {sizes:15} {row['time_ms']:7.1f} ms {theirs:7.1f} ms {row['ratio']:6.2f} {row['ratio_of_least']:14.2f}")
    if ARGUMENTS.json:
        record = {
            "date": time.strftime("%Y-%m-%d"),
            "machine": machine,
            "commit": commit(),
            "note": f"Facade calls beside numpy {np.__version__} and scipy {scipy.__version__}, in turn in one run of "
            f"benches/compare.py, medians of {ARGUMENTS.repetitions}; `floor` is the fastest of their ways.",
            "rows": rows,
        }
        with open(ARGUMENTS.json, "w") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
