"""Compares the F-engine with numpy, and scipy where it is installed, from packed samples to quantised channels.

    python check_f_engine.py target/debug/fringes-tools
    python check_f_engine.py FOLDER

The first runs the tool `dump-f-engine` on the CPU; the second reads what `dump-f-engine --output FOLDER` wrote before, on whatever
backend and machine. All is computed again in double precision from the formulas: the filter's weights (scipy: `firwin`), windows moved by the
coarse delay, transform (scipy: its own), phases referred to the stamp, fine delay, phase and gain, clamping and rounding.

Floats are within 1e-5 of full scale, which is the largest gain times the range of samples times the sum of the weights' magnitudes. Integers are equal but
within 5e-3 of a rounding tie, and counts of saturated values but for those within 5e-3 of the limit. One line is printed for each case; exit status
1 if one fails.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import scipy.fft
    import scipy.signal
except ImportError:
    scipy = None

FLOATS = 1e-5
TIE = 5e-3
LIMIT = 127


def window(name, length):
    """The window's formula; a window of one point is 1."""
    if length == 1:
        return np.ones(1)
    phase = 2 * np.pi * np.arange(length) / (length - 1)
    terms = {"hann": [0.5, 0.5], "hamming": [0.54, 0.46], "blackman": [0.42, 0.5, 0.08], "boxcar": [1.0]}[name]
    return sum((-1) ** n * term * np.cos(n * phase) for n, term in enumerate(terms))


def pfb_weights(case, step):
    length = case["taps"] * step
    if scipy is not None and length > 1:
        weights = scipy.signal.firwin(length, case["w_cutoff"] / step, window=case["window"], scale=False, fs=2)
    else:
        centred = np.arange(length) - (length - 1) / 2
        weights = window(case["window"], length) * np.sinc(case["w_cutoff"] / step * centred)
    return weights / np.sqrt(np.sum(weights**2))


def transform(filtered, channels, complex_samples):
    """The bins of the channels, in their order, and their values."""
    fft = np.fft if scipy is None else scipy.fft
    if complex_samples:
        bins = (np.arange(channels) + (channels + 1) // 2) % channels
        return bins, fft.fft(filtered)[bins]
    return np.arange(channels), fft.rfft(filtered)[:channels]


def delay_at(case, number, stamp):
    """Whole samples, the rest of the delay, and the phase in turns."""
    delay, rate, phase, phase_rate = case["delays"][number]
    since = stamp - case["reference_sample"]
    delay += rate * since
    whole = int(np.rint(delay))
    return whole, delay - whole, phase + phase_rate * since


def start(case, number, stamp):
    """Where in the samples the window of a spectrum begins."""
    return stamp - delay_at(case, number, stamp)[0] - case["first_sample"]


def spectrum(case, weights, step, x, number, stamp):
    """All channels of the spectrum with a stamp of an input."""
    channels = case["channels"]
    whole, fine, phase = delay_at(case, number, stamp)
    first = start(case, number, stamp)
    taken = x[first : first + len(weights)] * weights
    bins, values = transform(taken.reshape(-1, step).sum(axis=0), channels, case["complex"])
    turns = -(bins * (stamp % step) % step) / step
    k = np.arange(channels)
    if case["complex"]:
        turns = turns - fine * (k - channels // 2) / channels
    else:
        turns = turns - fine * (k - channels / 2) / (2 * channels) + whole % 4 / 4
    return values * np.exp(2j * np.pi * (turns + phase))


def rounded(values):
    """Parts as the last dimension, clamped and rounded half to even, and which of them are near to a tie."""
    parts = np.clip(np.stack([values.real, values.imag], axis=-1), -LIMIT, LIMIT)
    return np.rint(parts), np.abs(parts - np.floor(parts) - 0.5) < TIE


def check(case, folder, number):
    """Nothing but a line that says how well it fits, or an AssertionError."""
    load = lambda name: np.load(folder / f"{number}_{name}.npy")
    x, gains = load("samples").astype(float), load("gains").astype(complex)
    floats, integers, present, saturated = load("floats"), load("integers"), load("present"), load("saturated")
    if case["complex"]:
        x = x[..., 0] + 1j * x[..., 1]
    channels, (low, high), pols = case["channels"], case["range"], case["pols"]
    step = channels if case["complex"] else 2 * channels
    over, under = case["oversampling"]
    stride, per_frame = step * under // over, case["spectra_per_frame"]
    inputs, weights = range(case["antennas"] * pols), pfb_weights(case, step)
    frame = stride * per_frame
    first = max(0, case["first_sample"] - 1000) // frame * frame
    while any(start(case, i, first) < 0 for i in inputs):
        first += frame
    assert first == case["first_stamp"], f"the first stamp is {case['first_stamp']}, not {first}"
    fits = lambda stamp: all(start(case, i, stamp) + len(weights) <= x.shape[1] for i in inputs)
    spectra = 0
    while fits(first + spectra * stride):
        spectra += 1
    frames = -(-spectra // per_frame)
    shape = (frames, case["antennas"], high - low, per_frame, pols)
    assert floats.shape == shape and integers.shape == (*shape, 2), f"{floats.shape}, {integers.shape}, not {shape}"
    made = np.arange(frames * per_frame)[:, None] < np.full(len(inputs), spectra)
    assert np.array_equal(present, made), "other spectra are present"
    half = 2 ** (case["bits"] - 1)
    full_scale = np.abs(gains).max() * half * np.abs(weights).sum() * (np.sqrt(2) if case["complex"] else 1)
    worst, ties, over_limit, near_limit = 0.0, 0, np.zeros((frames, len(inputs)), int), np.zeros((frames, len(inputs)), int)
    steps = sum(len({delay_at(case, i, first + s * stride)[0] for s in range(spectra)}) - 1 for i in inputs)
    for s in range(frames * per_frame):
        for i in inputs:
            place = (s // per_frame, i // pols, slice(None), s % per_frame, i % pols)
            if s >= spectra:
                assert not floats[place].any() and not integers[place].any(), f"spectrum {s} is not 0"
                continue
            value = spectrum(case, weights, step, x[i], i, first + s * stride)[low:high] * gains[:, i]
            worst = max(worst, np.abs(floats[place] - value).max() / full_scale)
            expected, near = rounded(value)
            different = (integers[place] != expected) & ~near
            assert not different.any(), f"spectrum {s}, input {i}: {different.sum()} integers differ"
            ties += int(near.sum())
            magnitude = np.maximum(np.abs(value.real), np.abs(value.imag))
            over_limit[s // per_frame, i] += int((magnitude > LIMIT).sum())
            near_limit[s // per_frame, i] += int((np.abs(magnitude - LIMIT) < TIE).sum())
    assert worst <= FLOATS, f"floats are off by {worst:.2e} of full scale"
    differ = np.abs(saturated.astype(int) - over_limit) > near_limit
    assert not differ.any(), f"counts of saturated values {saturated[differ]}, not {over_limit[differ]}"
    return f"{spectra} spectra, {steps} steps of delays, floats {worst:.1e} of full scale, {ties} of {integers.size} parts near ties, {over_limit.sum()} saturated"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_f_engine.py PATH_TO_fringes-tools or FOLDER_OF_OUTPUT")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[1]).resolve()
        if not (folder / "cases.json").exists():
            command = [folder, "dump-f-engine", "--output", temporary, "--backend", "cpu"]
            subprocess.run(command, check=True, timeout=600)
            folder = pathlib.Path(temporary)
        cases = json.loads((folder / "cases.json").read_text())
        print(f"{cases[0]['backend']}; {'numpy alone' if scipy is None else 'numpy and scipy'}")
        failed = 0
        for number, case in enumerate(cases):
            over, under = case["oversampling"]
            kind = "complex" if case["complex"] else "real"
            name = f"{case['channels']} channels, {case['taps']} taps, {case['window']}, {over}/{under}, {kind} {case['bits']} bits"
            try:
                print(f"ok   {name}: {check(case, folder, number)}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
        print(f"{len(cases) - failed} cases passed, {failed} failed")
        sys.exit(1 if failed or not cases else 0)


if __name__ == "__main__":
    main()
