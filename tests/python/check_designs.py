"""Compares designed filters with scipy's, through `fringes-tools dump-designs`.

    python check_designs.py target/debug/fringes-tools

Prints one line a case with the largest error and its bound. Exit status 1 if a case fails. `u` is 2^-53.

- Equal ripples, against `scipy.signal.remez`: that looks at errors on a grid and stops within a part of its ripple, so
  it is never better than the least ripple. Ours may not be above scipy's by more than 1e-6 of it, and not below it by
  more than 1 %: a grid of 128 points a ripple misses a peak's height by (pi / 256)^2 / 2 = 8e-5 of it, and by more
  where ripples are narrow, next to a gap. The gain at every frequency of the bands is within 5 % of the ripple of
  scipy's.
- Least squares, against `scipy.signal.firls`: both solve equations of a matrix with condition c, and are within
  4 n c u |h| of each other. Only odd numbers of taps: `firls` has no others.
- Kaiser's window, against `scipy.signal.firwin`: 64 u of the largest tap. The shape's formula: 4 u of it.
- Ripple and attenuation of the down-converter's filters, against the gain on a grid of 64 points a ripple: at most 1e-4
  above what is stated, and at most 1e-3 below it, since a grid misses peaks.
"""

import json
import subprocess
import sys

import numpy as np
import scipy.signal

U = 2.0**-53


class Checks:
    def __init__(self):
        self.failed = 0

    def report(self, name, error, bound, more=""):
        passed = bool(error <= bound)
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {name}: {error:.3g} of {bound:.3g}{more}", flush=True)


def frequencies(low, high, taps):
    """A grid of a band: 64 points a ripple, denser at the edges."""
    count = max(200, int((high - low) * taps * 64))
    return (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * np.arange(count + 1) / count)


def gain(filter, f):
    """Signed gain of symmetric taps."""
    taps = len(filter)
    gains = np.full(len(f), filter[taps // 2] if taps % 2 else 0.0)
    for k in range(taps // 2):
        gains += 2 * filter[k] * np.cos(2 * np.pi * f * (k - (taps - 1) / 2))
    return gains


def weighted_errors(filter, bands):
    """Largest weighted error over all bands."""
    return max(
        weight * np.max(np.abs(gain(filter, frequencies(low, high, len(filter))) - wanted))
        for low, high, wanted, weight in bands
    )


def shape(filter, taps):
    filter = np.array(filter)
    assert filter.shape == (taps,) and np.all(filter == filter[::-1]), "taps are not symmetric"
    return filter


def check_remez(checks, cases):
    for case in cases:
        taps, bands = case["taps"], case["bands"]
        ours = shape(case["filter"], taps)
        edges = [edge for low, high, _, _ in bands for edge in (low, high)]
        wanted, weights = [band[2] for band in bands], [band[3] for band in bands]
        theirs = scipy.signal.remez(taps, edges, wanted, weight=weights, fs=1, maxiter=200, grid_density=128)
        ripple, other = weighted_errors(ours, bands), weighted_errors(theirs, bands)
        name = f"remez {taps} taps, {len(bands)} bands"
        checks.report(f"{name}, ripple above scipy's", ripple / other - 1, 1e-6, f" (ripple {ripple:.3g})")
        checks.report(f"{name}, ripple below scipy's", 1 - ripple / other, 0.01)
        apart = max(
            weight * np.max(np.abs(gain(ours, f) - gain(theirs, f)))
            for low, high, _, weight in bands
            for f in [frequencies(low, high, taps)]
        )
        checks.report(f"{name}, gains apart, in ripples", apart / ripple, 0.05)


def condition(taps, bands):
    """Condition of the equations of least squares, of an odd number of taps."""
    m = np.arange(taps)
    integrals = sum(w * (high * np.sinc(2 * high * m) - low * np.sinc(2 * low * m)) for low, high, _, w in bands)
    k = np.arange(taps // 2 + 1)
    matrix = integrals[np.abs(k[:, None] - k)] + integrals[k[:, None] + k]
    return np.linalg.cond(matrix)


def check_least_squares(checks, cases):
    for case in cases:
        taps, bands = case["taps"], case["bands"]
        ours = shape(case["filter"], taps)
        theirs = scipy.signal.firls(
            taps,
            [(low, high) for low, high, _, _ in bands],
            [(wanted, wanted) for _, _, wanted, _ in bands],
            weight=[weight for _, _, _, weight in bands],
            fs=1,
        )
        bound = 4 * taps * condition(taps, bands) * U * np.linalg.norm(theirs)
        checks.report(f"firls {taps} taps, {len(bands)} bands", np.linalg.norm(ours - theirs), bound)


def check_kaiser(checks, cases):
    for case in cases:
        taps, cutoff, attenuation = case["taps"], case["cutoff"], case["attenuation_db"]
        ours = shape(case["filter"], taps)
        beta = scipy.signal.kaiser_beta(attenuation)
        checks.report(f"kaiser_beta {attenuation} dB", abs(case["beta"] - beta), 4 * U * beta)
        reached = scipy.signal.kaiser_atten(taps, 2 * case["width"])
        checks.report(f"kaiser_atten {taps} taps", abs(case["reached_db"] - reached), 8 * U * reached)
        theirs = scipy.signal.firwin(taps, cutoff, window=("kaiser", beta), scale=True, fs=1)
        checks.report(f"firwin {taps} taps, {attenuation} dB", np.max(np.abs(ours - theirs)), 64 * U * np.max(theirs))


def check_filters(checks, cases):
    for case in cases:
        filter = shape(case["filter"], len(case["filter"]))
        checks.report(f"{case['name']}, gain at 0", abs(np.sum(filter) - 1), 1e-14)
        ripple = attenuation = 0.0
        for low, high, wanted, _ in case["bands"]:
            gains = np.abs(gain(filter, frequencies(low, high, len(filter))))
            if wanted:
                ripple = max(ripple, np.max(np.abs(20 * np.log10(gains))))
            else:
                attenuation = max(attenuation, np.max(gains))
        stated = 10 ** (-case["attenuation_db"] / 20)
        for name, stated, found in [("ripple", case["ripple_db"], ripple), ("stop band", stated, attenuation)]:
            more = f" ({stated:.4g})"
            checks.report(f"{case['name']}, {name} above the statement", found / stated - 1, 1e-4, more)
            checks.report(f"{case['name']}, {name} below the statement", 1 - found / stated, 1e-3)


def main():
    (program,) = sys.argv[1:]
    done = subprocess.run([program, "dump-designs"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{program}: exit status {done.returncode}: {done.stderr.strip()}")
    data = json.loads(done.stdout)
    checks = Checks()
    check_remez(checks, data["remez"])
    check_least_squares(checks, data["least_squares"])
    check_kaiser(checks, data["kaiser"])
    check_filters(checks, data["filters"])
    print(f"{checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
