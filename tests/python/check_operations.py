"""Compares the four operations with numpy and scipy, through the npy examples.

    python check_operations.py target/debug/examples

Every case writes its input as an npy file, runs the example, computes the same in double precision from the formula, and
prints one line with the largest error and its bound. Exit status 1 if a case fails.

The bounds are those that the documentation of each operation states, with u = 2^-24, the rounding error of float32.
Correlations are exact. Those bounds hold for the worst of signs, and rounding errors mostly cancel, so a second figure is checked:
the root mean square of error / expected, where `expected` takes the same number of roundings as independent, may be 1 at most.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.signal

U = 2.0**-24


class Cases:
    """Runs examples in a folder of its own, and counts failures."""

    def __init__(self, examples, folder):
        self.examples, self.folder = examples, folder
        self.passed = self.failed = 0

    def report(self, passed, name, text):
        self.passed += passed
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {name}: {text}", flush=True)

    def path(self, name):
        return str(self.folder / name)

    def save(self, name, array):
        np.save(self.path(name), array)
        return self.path(name)

    def start(self, example, arguments):
        command = [self.examples / example, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def run(self, name, example, arguments):
        """The array that the example writes to --output, or None with a failure counted."""
        output = self.folder / "output.npy"
        output.unlink(missing_ok=True)
        done = self.start(example, [*arguments, "--output", output])
        if done.returncode != 0:
            self.report(False, name, f"exit status {done.returncode}: {done.stderr.strip()}")
            return None
        return np.load(output)

    def compare(self, name, actual, expected, bound, typical, axis=None):
        """The error of every element, or of its norm over an axis, against its bound; and of all against the typical one."""
        if actual is None:
            return
        if actual.dtype != np.complex64 or actual.shape != expected.shape:
            self.report(False, name, f"expected complex64 {expected.shape}, found {actual.dtype} {actual.shape}")
            return
        error = np.abs(actual - expected)
        if axis is not None:
            error = np.linalg.norm(error, axis=axis)
        cancelled = np.sqrt(np.mean((error / typical) ** 2))
        passed = bool(np.all(error <= bound)) and cancelled <= 1
        worst = np.unravel_index(np.argmax(error / bound), error.shape)
        text = f"{actual.shape} error {error[worst]:.3g} of bound {bound[worst]:.3g}, rms error/expected {cancelled:.2f} of 1"
        self.report(passed, name, text)

    def compare_exactly(self, name, actual, expected):
        if actual is None:
            return
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            self.report(False, name, f"expected {expected.dtype} {expected.shape}, found {actual.dtype} {actual.shape}")
            return
        differing = int(np.count_nonzero(actual != expected))
        self.report(differing == 0, name, f"{actual.shape} {differing} of {actual.size} values differ, bound 0")

    def refuse(self, name, example, arguments, expected):
        """The example must say `expected` in one line on standard error, write nothing else, and exit with 2."""
        done = self.start(example, [*arguments, "--output", self.folder / "never.npy"])
        lines = done.stderr.splitlines()
        passed = (
            done.returncode == 2
            and len(lines) == 1
            and expected in lines[0]
            and "panicked" not in done.stderr
            and not done.stdout
            and not (self.folder / "never.npy").exists()
        )
        self.report(passed, name, f"exit status {done.returncode}: {done.stderr.strip()}")


def int8_voltages(rng, shape):
    """Every legal value, the extreme ones often."""
    values = rng.integers(-127, 128, size=(*shape, 2), dtype=np.int8)
    extreme = rng.random(values.shape) < 0.1
    return np.where(extreme, rng.choice(np.array([-127, 127], np.int8), size=values.shape), values)


def triangle(inputs):
    return [(a, b) for a in range(inputs) for b in range(a + 1)]


def antenna_pairs(inputs):
    antennas = inputs // 2
    return [
        (2 * ant1 + p, 2 * ant2 + q)
        for ant2 in range(antennas)
        for ant1 in range(ant2 + 1)
        for q in range(2)
        for p in range(2)
    ]


def full(inputs):
    return [(a, b) for a in range(inputs) for b in range(inputs)]


def correlation(x, pairs):
    """int64 [channel][baseline][2] of int8 [channel][time][input][2] by integer matrix products."""
    re, im = x[..., 0].astype(np.int64), x[..., 1].astype(np.int64)
    ret, imt = re.transpose(0, 2, 1), im.transpose(0, 2, 1)
    # V[a][b] = sum (re_a + i im_a)(re_b - i im_b)
    real = ret @ re + imt @ im
    imaginary = imt @ re - ret @ im
    a, b = np.array(pairs).T
    return np.stack([real[:, a, b], imaginary[:, a, b]], axis=-1)


def check_correlate(cases, rng):
    # channels, times, inputs
    shapes = [(1, 1, 1), (1, 7, 1), (3, 101, 2), (5, 257, 3), (60, 31, 7), (1, 4099, 33), (2, 64, 128), (7, 1009, 65)]
    for shape in shapes:
        x = int8_voltages(rng, shape)
        v = cases.run(f"correlate {shape}", "correlate_npy", ["--input", cases.save("x.npy", x)])
        cases.compare_exactly(f"correlate {shape}", v, correlation(x, triangle(shape[2])))
    # Sums beyond 32 bits: 2 * 127^2 * 70001 > 2^31.
    x = np.full((1, 70001, 3, 2), 127, np.int8)
    v = cases.run("correlate large sums", "correlate_npy", ["--input", cases.save("x.npy", x)])
    cases.compare_exactly("correlate sums beyond 2^31", v, correlation(x, triangle(3)))
    x = int8_voltages(rng, (3, 113, 6))
    for name, order in [("antenna-pairs", antenna_pairs), ("full", full)]:
        arguments = ["--input", cases.save("x.npy", x), "--order", name, "--pols", 2]
        cases.compare_exactly(f"correlate --order {name}", cases.run(name, "correlate_npy", arguments), correlation(x, order(6)))
    v = cases.run("correlate", "correlate_npy", ["--input", cases.save("x.npy", np.asfortranarray(x))])
    cases.compare_exactly("correlate an array in column-major order", v, correlation(x, triangle(6)))
    x[1, 2, 3, 1] = -128
    v = cases.run("correlate --clamp", "correlate_npy", ["--input", cases.save("x.npy", x), "--clamp"])
    cases.compare_exactly("correlate --clamp takes -128 as -127", v, correlation(np.maximum(x, -127), triangle(6)))
    cases.refuse("correlate -128", "correlate_npy", ["--input", cases.path("x.npy")], "[1, 2, 3]")
    for name, array, expected in [
        ("int16 input", np.zeros((2, 3, 4, 2), np.int16), "expected int8 [channel][time][input][2], found <i2"),
        ("three dimensions", np.zeros((2, 3, 4), np.int8), "shape [2, 3, 4]"),
        ("no channels", np.zeros((0, 3, 4, 2), np.int8), "channel"),
        ("no inputs", np.zeros((2, 3, 0, 2), np.int8), "input"),
    ]:
        cases.refuse(f"correlate {name}", "correlate_npy", ["--input", cases.save("bad.npy", array)], expected)
    good = cases.save("x.npy", np.zeros((2, 3, 5, 2), np.int8))
    cases.refuse("correlate odd inputs --pols 2", "correlate_npy", ["--input", good, "--pols", 2], "5 inputs")
    cases.refuse("correlate --backend gpu", "correlate_npy", ["--input", good, "--backend", "gpu"], "gpu")
    cases.refuse("correlate missing file", "correlate_npy", ["--input", cases.path("nothing.npy")], "nothing.npy")
    cases.refuse("correlate without --input", "correlate_npy", [], "--input")
    whole = pathlib.Path(good).read_bytes()
    pathlib.Path(good).write_bytes(whole[:-1])
    cases.refuse("correlate truncated file", "correlate_npy", ["--input", good], "60")
    pathlib.Path(good).write_bytes(whole.replace(b"(2, 3, 5, 2)", b"(2, 99999999999, 5, 2)").replace(b" " * 10, b"", 1))
    cases.refuse("correlate a lying header", "correlate_npy", ["--input", good], "x.npy")
    pathlib.Path(good).write_bytes(b"\x93NUMPY\x01")
    cases.refuse("correlate a header cut short", "correlate_npy", ["--input", good], "x.npy")


def window(name, length, beta):
    """The window's formula; a window of one point is 1."""
    if length == 1:
        return np.ones(1)
    phase = np.pi * np.arange(length) / (length - 1)
    if name == "hann":
        return np.sin(phase) ** 2
    if name == "hamming":
        return 0.54 - 0.46 * np.cos(2 * phase)
    if name == "blackman":
        return 0.42 - 0.5 * np.cos(2 * phase) + 0.08 * np.cos(4 * phase)
    if name == "kaiser":
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * phase / np.pi - 1) ** 2))) / np.i0(beta)
    return np.ones(length)


def pfb_weights(name, taps, step, w_cutoff, beta):
    i = np.arange(taps * step)
    weights = window(name, taps * step, beta) * np.sinc(w_cutoff * ((i + 0.5) / step - taps / 2))
    return weights / np.sqrt(np.sum(weights**2))


def channelization(x, channels, taps, weights):
    """Spectra [time][channel][input] of [input][time], bound and typical norm of the error over channels."""
    is_complex = np.iscomplexobj(x)
    step = channels if is_complex else 2 * channels
    x = x.astype(np.complex128 if is_complex else np.float64)
    spectra = x.shape[1] // step - taps + 1
    frames = x[:, : (spectra + taps - 1) * step].reshape(x.shape[0], -1, step)
    w = weights.reshape(taps, step)
    summed = sum(w[t] * frames[:, t : t + spectra] for t in range(taps))
    magnitude = sum(np.abs(w[t] * frames[:, t : t + spectra]) for t in range(taps))
    power = sum(np.abs(w[t] * frames[:, t : t + spectra]) ** 2 for t in range(taps))
    if is_complex:
        result = np.fft.fftshift(np.fft.fft(summed, axis=-1), axes=-1)
    else:
        result = np.fft.rfft(summed, axis=-1)[..., :channels]
    awkward = 6 if largest_prime_factor(step) > 31 else 1
    roundings = taps + 1 + 7 * awkward * max(1, np.log2(step))
    bound = U * roundings * np.sqrt(step) * np.linalg.norm(magnitude, axis=-1)
    typical = U * np.sqrt(roundings * step * power.sum(axis=-1))
    return result.transpose(1, 2, 0), bound.T, typical.T


def largest_prime_factor(number):
    largest = factor = 1
    while number > 1:
        factor += 1
        while number % factor == 0:
            number, largest = number // factor, factor
    return largest


def check_channelize(cases, rng):
    # channels, taps, window, w_cutoff, inputs, spectra, samples beyond whole frames, type
    plans = [
        (1, 1, "rect", 1.0, 1, 5, 1, np.float32),
        (1, 4, "hann", 1.0, 3, 7, 0, np.int16),
        (4, 16, "hann", 1.0, 1, 11, 7, np.int16),
        (60, 16, "hann", 0.91, 3, 13, 59, np.float32),
        (60, 1, "hamming", 1.0, 5, 3, 1, np.int16),
        (1536, 16, "hamming", 1.0, 2, 7, 1000, np.int16),
        (1536, 1, "rect", 1.0, 1, 2, 3, np.float32),
        (4096, 8, "kaiser", 0.95, 1, 3, 17, np.float32),
        (101, 5, "blackman", 1.1, 7, 31, 100, np.float32),
        (60, 16, "kaiser", 1.0, 3, 7, 11, np.complex64),
        (1536, 1, "hann", 1.0, 1, 3, 1, np.complex64),
        (7, 3, "hamming", 0.8, 2, 17, 3, np.complex64),
        (1, 1, "rect", 1.0, 2, 9, 0, np.complex64),
    ]
    for channels, taps, name, w_cutoff, inputs, spectra, extra, dtype in plans:
        step = channels if dtype == np.complex64 else 2 * channels
        samples = (spectra + taps - 1) * step + min(extra, step - 1)
        x = rng.normal(scale=300, size=(inputs, samples))
        if dtype == np.complex64:
            x = x + 1j * rng.normal(scale=300, size=x.shape)
        x = x.astype(dtype)
        beta = 6.5
        arguments = ["--channels", channels, "--taps", taps, "--window", name, "--kaiser-beta", beta, "--w-cutoff", w_cutoff]
        case = f"channelize {channels} channels, {taps} taps, {name}, {np.dtype(dtype).name}, {inputs} inputs"
        y = cases.run(case, "channelize_npy", ["--input", cases.save("x.npy", x), *arguments])
        weights = pfb_weights(name, taps, step, w_cutoff, beta)
        cases.compare(case, y, *channelization(x, channels, taps, weights), axis=1)
    x = cases.save("x.npy", rng.normal(size=(2, 1000)).astype(np.float32))
    for name, arguments, expected in [
        ("samples of less than a window", ["--channels", 64], "2048"),
        ("no channels", ["--channels", 0], "channel"),
        ("no taps", ["--channels", 8, "--taps", 0], "tap"),
        ("w_cutoff 0/0", ["--channels", 8, "--w-cutoff", "nan"], "cutoff"),
        ("endless taps", ["--channels", 2**62, "--taps", 2**62], "large"),
        ("unknown window", ["--channels", 8, "--window", "round"], "round"),
        ("--backend gpu", ["--channels", 8, "--backend", "gpu"], "gpu"),
    ]:
        cases.refuse(f"channelize {name}", "channelize_npy", ["--input", x, *arguments], expected)
    for name, array in [("float64", np.zeros((2, 64))), ("one dimension", np.zeros(64, np.float32))]:
        arguments = ["--input", cases.save("bad.npy", array), "--channels", 8]
        cases.refuse(f"channelize {name}", "channelize_npy", arguments, "expected int16, float32 or complex64 [input][time]")


def mixer(centre, retunes, samples):
    """Phases of the mixer in turns, with its frequency changed at samples, where it is continuous."""
    phases, at, now = np.zeros(samples), 0, 0.0
    for start, next_centre in [*retunes, (samples, centre)]:
        phases[at:start] = now - centre * np.arange(start - at)
        now, at, centre = (now - centre * (start - at)) % 1.0, start, next_centre
    return phases


def retuned_conversion(x, centre, decimation, filter, retunes):
    """Every output by the formula of the last retune before its window: the mixer of that centre runs on to its end."""
    parts, centres = [], [centre, *(centre for _, centre in retunes)]
    starts = [0, *(-(-start // decimation) for start, _ in retunes)]
    phases = mixer(centre, retunes, x.shape[1])
    for part, (centre, start) in enumerate(zip(centres, starts)):
        # As if there were no later retune, and earlier ones had only brought the phase to where it is.
        at = 0 if part == 0 else retunes[part - 1][0]
        turns = phases[at] - centre * (np.arange(x.shape[1]) - at)
        y, bound, typical = down_conversion(x * np.exp(2j * np.pi * (turns % 1.0)), 0.0, decimation, filter)
        end = starts[part + 1] if part + 1 < len(starts) else y.shape[1]
        parts.append([of[:, start:end] for of in (y, bound, typical)])
    return [np.concatenate(of, axis=1) for of in zip(*parts)]


def down_conversion(x, centre, decimation, filter):
    """[input][time], bound and typical error: mixing in front of scipy's filter, which runs over the reversed filter."""
    samples, taps = x.shape[1], len(filter)
    count = (samples - taps) // decimation + 1
    mixed = x * np.exp(-2j * np.pi * ((centre * np.arange(samples)) % 1.0))
    # Output m of the full convolution ends at sample m, ours starts at S j: m = S j + taps - 1. Zeros in front make
    # the first m a multiple of S.
    padding = -(taps - 1) % decimation
    skip = (taps - 1 + padding) // decimation

    def filtered(signal, coefficients):
        padded = np.concatenate([np.zeros((signal.shape[0], padding)), signal], axis=1)
        return scipy.signal.upfirdn(coefficients[::-1], padded, 1, decimation, axis=-1)[:, skip : skip + count]

    n = -(-taps // (4 if np.iscomplexobj(x) else 8))
    magnitude = filtered(np.abs(x).astype(float), np.abs(filter))
    typical = U * np.sqrt((taps + 8) * filtered(np.abs(x).astype(float) ** 2, filter**2))
    return filtered(mixed, filter), U * (1.5 * n + 8) * magnitude, typical


def check_retunes(cases, rng, x, centre, decimation, filter):
    if x.shape[1] < 8 * decimation + len(filter):
        return
    starts = np.sort(rng.choice(x.shape[1] - len(filter), size=3, replace=False))
    retunes = [(int(start), float(new)) for start, new in zip(starts, rng.uniform(-1, 1, size=3))]
    arguments = ["--centre", centre, "--decimation", decimation, "--filter", cases.path("h.npy"), "--input", cases.path("x.npy")]
    arguments += [f"--retune={start}:{new!r}" for start, new in retunes]
    y = cases.run("retunes", "down_convert_npy", arguments)
    # The bound is that of the samples' own type: mixing before makes all of them complex.
    expected, _, _ = retuned_conversion(x, centre, decimation, filter.astype(float), retunes)
    _, bound, typical = down_conversion(x, centre, decimation, filter.astype(float))
    case = f"down_convert {len(filter)} taps /{decimation} retuned at {[start for start, _ in retunes]}, {x.dtype.name}"
    cases.compare(case, y, expected, bound, typical)


def check_outputs(cases, case, x, centre, decimation, filter):
    """Integers and f16: within half of a step, and the bound of float32, of the exact value, clamped."""
    exact, bound, _ = down_conversion(x, centre, decimation, filter.astype(float))
    rms = np.sqrt(np.mean(np.abs(exact) ** 2) / 2)
    for name, limit in [("int8", 127.0), ("int16", 32767.0), ("float16", 65504.0)]:
        # A part of 100 is beyond the limit.
        gain = float(limit / 2.5 / rms)
        arguments = ["--centre", centre, "--decimation", decimation, "--filter", cases.path("h.npy"), "--gain", repr(gain)]
        y = cases.run(f"{case} to {name}", "down_convert_npy", ["--input", cases.path("x.npy"), *arguments, "--to", name])
        if y is None:
            continue
        found = np.stack([y.real, y.imag], axis=-1) if name == "float16" else y
        expected = np.stack([exact.real, exact.imag], axis=-1) * gain
        clamped = np.clip(expected, -limit, limit)
        margin = (bound * abs(gain))[..., np.newaxis]
        # Halves have steps of 2^-10 of the power of two below, at least 2^-24.
        step = np.maximum(np.exp2(np.floor(np.log2(np.abs(clamped) + margin + 2.0**-24)) - 10), 2.0**-24)
        half = 0.5 * step if name == "float16" else 0.5
        error = (np.abs(found.astype(float) - clamped) - half) / margin
        dtype = {"int8": np.int8, "int16": np.int16, "float16": np.complex64}[name]
        passed = y.dtype == dtype and found.shape == clamped.shape and bool(np.all(error <= 1))
        if name != "float16":
            # Away from a tie it is numpy's integer, which rounds half to even.
            away = np.abs(clamped - np.floor(clamped) - 0.5) > margin
            passed = passed and bool(np.all(found[away] == np.rint(clamped)[away])) and found.min() >= -limit
        text = f"{found.shape} error beyond half a step {np.max(error):.2f} of the bound"
        cases.report(passed, f"{case} to {name}", text)


def check_down_convert(cases, rng):
    # centre, decimation, taps, inputs, samples, sample type, filter type
    plans = [
        (0.0, 1, 1, 1, 1, np.float32, np.float64),
        (0.21, 8, 128, 1, 4099, np.int16, np.float64),
        (-0.37, 8, 128, 3, 10007, np.float32, np.float32),
        (1 / 3, 7, 16, 2, 1009, np.complex64, np.float64),
        (0.4999, 3, 5, 5, 101, np.int16, np.float32),
        (-0.123456789, 16, 3, 1, 997, np.float32, np.float64),
        (0.25, 5, 255, 7, 2003, np.complex64, np.float64),
        (0.1, 2, 64, 2, 64, np.int16, np.float64),
        (-0.9375, 4, 33, 1, 503, np.float32, np.float64),
    ]
    for centre, decimation, taps, inputs, samples, dtype, filter_dtype in plans:
        x = rng.normal(scale=300, size=(inputs, samples))
        if dtype == np.complex64:
            x = x + 1j * rng.normal(scale=300, size=x.shape)
        x = x.astype(dtype)
        filter = rng.normal(size=taps).astype(filter_dtype)
        case = f"down_convert {taps} taps /{decimation} at {centre:.6g}, {np.dtype(dtype).name}, {inputs} inputs"
        arguments = ["--centre", centre, "--decimation", decimation, "--filter", cases.save("h.npy", filter)]
        y = cases.run(case, "down_convert_npy", ["--input", cases.save("x.npy", x), *arguments])
        cases.compare(case, y, *down_conversion(x, centre, decimation, filter.astype(float)))
        check_retunes(cases, rng, x, centre, decimation, filter)
        check_outputs(cases, case, x, centre, decimation, filter)
    x, h = cases.save("x.npy", np.zeros((2, 100), np.float32)), cases.save("h.npy", np.ones(8))
    bad = cases.save("bad.npy", np.array([1.0, np.nan]))
    empty = cases.save("empty.npy", np.zeros(0))
    square = cases.save("square.npy", np.zeros((2, 2)))
    for name, arguments, expected in [
        ("more taps than samples", ["--centre", 0.1, "--decimation", 2, "--filter", cases.save("long.npy", np.ones(101))], "101"),
        ("decimation 0", ["--centre", 0.1, "--decimation", 0, "--filter", h], "decimation"),
        ("centre beyond the sample rate", ["--centre", 1.5, "--decimation", 2, "--filter", h], "cent"),
        ("centre nan", ["--centre", "nan", "--decimation", 2, "--filter", h], "cent"),
        ("filter with nan", ["--centre", 0.1, "--decimation", 2, "--filter", bad], "filter"),
        ("empty filter", ["--centre", 0.1, "--decimation", 2, "--filter", empty], "filter"),
        ("filter of two dimensions", ["--centre", 0.1, "--decimation", 2, "--filter", square], "square.npy: expected float32"),
        ("gain 0", ["--centre", 0.1, "--decimation", 2, "--filter", h, "--gain", 0], "gain"),
        ("retunes out of order", ["--centre", 0.1, "--decimation", 2, "--filter", h, "--retune=9:0.1", "--retune=8:0.2"], "8"),
        ("retune beyond the sample rate", ["--centre", 0.1, "--decimation", 2, "--filter", h, "--retune=9:1.1"], "cent"),
        ("retune without a centre", ["--centre", 0.1, "--decimation", 2, "--filter", h, "--retune=9"], "SAMPLE"),
        ("--backend gpu", ["--centre", 0.1, "--decimation", 2, "--filter", h, "--backend", "gpu"], "gpu"),
    ]:
        cases.refuse(f"down_convert {name}", "down_convert_npy", ["--input", x, *arguments], expected)


def check_beamform(cases, rng):
    # channels, times, inputs, beams
    for shape in [(1, 1, 1, 1), (3, 101, 1, 5), (5, 257, 7, 3), (60, 31, 33, 1), (2, 1009, 128, 64), (1, 13, 65, 17)]:
        channels, times, inputs, beams = shape
        x = int8_voltages(rng, (channels, times, inputs))
        w = (rng.normal(size=(beams, channels, inputs)) + 1j * rng.normal(size=(beams, channels, inputs))).astype(np.complex64)
        case = f"beamform {shape}"
        arguments = ["--input", cases.save("x.npy", x), "--weights", cases.save("w.npy", w)]
        y = cases.run(case, "beamform_npy", arguments)
        voltages = x[..., 0] + 1j * x[..., 1].astype(float)
        by_channel = w.astype(complex).transpose(1, 2, 0)  # [channel][input][beam]
        bound = 1.5 * U * (2 * inputs + 2) * (np.abs(voltages) @ np.abs(by_channel))
        typical = U * np.sqrt((2 * inputs + 2) * (np.abs(voltages) ** 2 @ np.abs(by_channel) ** 2))
        cases.compare(case, y, voltages @ by_channel, bound, typical)
    x = cases.save("x.npy", np.zeros((2, 3, 4, 2), np.int8))
    illegal = np.zeros((2, 3, 4, 2), np.int8)
    illegal[1, 0, 3, 0] = -128
    w = np.ones((5, 2, 4), np.complex64)
    weights = cases.save("w.npy", w)
    w[4, 1, 2] = np.inf
    for name, arguments, expected in [
        ("weights of other inputs", [x, cases.save("a.npy", np.ones((5, 2, 3), np.complex64))], "input"),
        ("weights of other channels", [x, cases.save("b.npy", np.ones((5, 1, 4), np.complex64))], "channel"),
        ("weights of type complex128", [x, cases.save("c.npy", np.ones((5, 2, 4), complex))], "expected complex64"),
        ("infinite weight", [x, cases.save("d.npy", w)], "[4, 1, 2]"),
        ("no beams", [x, cases.save("e.npy", np.ones((0, 2, 4), np.complex64))], "beam"),
        ("-128", [cases.save("f.npy", illegal), weights], "[1, 0, 3]"),
    ]:
        cases.refuse(f"beamform {name}", "beamform_npy", ["--input", arguments[0], "--weights", arguments[1]], expected)
    cases.refuse("beamform --backend gpu", "beamform_npy", ["--input", x, "--weights", weights, "--backend", "gpu"], "gpu")


def check_memory_limits(cases, rng):
    """A limit splits the work by time: the result stays the same to the last bit, and a limit too small is an error."""
    x = cases.save("x.npy", rng.normal(scale=300, size=(3, 200000)).astype(np.int16))
    v = cases.save("v.npy", int8_voltages(rng, (4, 20000, 9)))
    h = cases.save("h.npy", rng.normal(size=64))
    w = cases.save("w.npy", rng.normal(size=(8, 4, 9)).astype(np.complex64))
    for example, arguments in [
        ("channelize_npy", ["--input", x, "--channels", 60, "--taps", 4]),
        ("down_convert_npy", ["--input", x, "--centre", 0.1, "--decimation", 4, "--filter", h]),
        ("correlate_npy", ["--input", v]),
        ("beamform_npy", ["--input", v, "--weights", w]),
    ]:
        free = cases.run(example, example, arguments)
        limited = cases.run(example, example, [*arguments, "--memory-limit", 2**20])
        if free is not None:
            cases.compare_exactly(f"{example} in 1 MiB of workspace gives the same as without a limit", limited, free)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_operations.py FOLDER_OF_EXAMPLES, e.g. target/debug/examples")
    examples = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(examples, pathlib.Path(folder))
        for check in [check_correlate, check_channelize, check_down_convert, check_beamform, check_memory_limits]:
            check(cases, np.random.default_rng(1))
    print(f"{cases.passed} cases passed, {cases.failed} failed")
    sys.exit(1 if cases.failed else 0)


if __name__ == "__main__":
    main()
