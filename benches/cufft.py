"""cuFFT on the transforms of `bench_gpu --only fft`, for comparison in the same minutes on the same GPU.

    python benches/cufft.py --json cufft.json

cuFFT has no zero-padding: its input is padded in memory before the clock starts, and the kernel reads the zeros. Half precision is
complex f16 in and out, single precision complex f32. Medians of 21 runs by CUDA events after 3 that are not timed; inputs are random and input and
output are several times the L2. Needs CuPy and a CUDA driver.
"""

import argparse
import datetime
import json
import statistics
import sys

import cupy
import numpy as np

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--json", help="file to write the record to")
PARSER.add_argument("--commit", default="", help="commit of the repository, for the record")
ARGUMENTS = PARSER.parse_args()

SIZES = [(64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512), (512, 1024), (1024, 1024)]
BYTES = 1 << 30


def milliseconds(run):
    for _ in range(3):
        run()
    times = []
    for _ in range(21):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return statistics.median(times)


def case(inputs, outputs, half):
    """Time of a batch of transforms padded to `outputs`, and the rms error of a few of them over the rms."""
    size = 4 if half else 8
    transforms = BYTES // (outputs * size)
    rng = np.random.default_rng(outputs)
    some = np.zeros((1024, outputs, 2), np.float16 if half else np.float32)
    some[:, :inputs] = rng.standard_normal((1024, inputs, 2), dtype=np.float32)
    x = cupy.tile(cupy.asarray(some), (transforms // 1024, 1, 1))
    y = cupy.empty_like(x)
    kind = "E" if half else "F"
    plan = cupy.cuda.cufft.XtPlanNd((outputs,), (outputs,), 1, outputs, kind, (outputs,), 1, outputs, kind, transforms, kind, order="C", last_axis=-1, last_size=None)
    run = lambda: plan.fft(x, y, cupy.cuda.cufft.CUFFT_INVERSE)
    time_ms = milliseconds(run)
    found = y[:64].get().astype(np.float64)
    found = found[..., 0] + 1j * found[..., 1]
    exact = some[:64].astype(np.float64)
    expected = np.fft.ifft(exact[..., 0] + 1j * exact[..., 1], axis=1) * outputs
    error = np.sqrt(np.mean(abs(found - expected) ** 2) / np.mean(abs(expected) ** 2))
    return transforms, time_ms, error


def main():
    device = cupy.cuda.runtime.getDeviceProperties(0)
    driver = cupy.cuda.runtime.driverGetVersion()
    rows = []
    for inputs, outputs in SIZES:
        for half in (True, False):
            transforms, time_ms, error = case(inputs, outputs, half)
            value = time_ms * 1e6 / transforms
            name = "f16" if half else "f32"
            print(f"{inputs:5} -> {outputs:5} {name}  {value:7.3f} ns/FFT  rms error {error:.2e}", flush=True)
            rows.append(
                {
                    "kernel": "cuFFT",
                    "variant": f"{inputs} -> {outputs} {name}",
                    "params": {"transforms": transforms},
                    "time_ms": time_ms,
                    "value": value,
                    "unit": "ns/FFT",
                    "floor": None,
                    "bound_by": "",
                    "check": f"rms error {error:.2e} of the rms against f64 numpy, 64 transforms",
                }
            )
    if ARGUMENTS.json:
        record = {
            "date": datetime.date.today().isoformat(),
            "gpu": device["name"].decode(),
            "driver": f"CUDA {driver // 1000}.{driver % 1000 // 10}",
            "commit": ARGUMENTS.commit,
            "clock_mhz": None,
            "note": "cuFFT, input padded in memory beforehand where outputs exceed inputs.",
            "rows": rows,
        }
        with open(ARGUMENTS.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
