"""cuBLAS on the tied-array beams of `fringes-tools bench --only tied_array`, for comparison on the same GPU.

    python benches/beams.py --json beams.json

For each channel beams are a complex product, [beams x inputs] of weights by [inputs x times] of samples. cuBLAS gets it
as a real product of f16 values with sums of f32, all channels in one batched call:

    [ beams' re ]   [ re  -im ]   [ samples' re ]
    [ beams' im ] = [ im   re ] x [ samples' im ]

A complex multiply-add counts as 8 operations. `f16 to f16` and `f16 to f32` have the samples on the GPU as planes of
f16; with `8 bits, converted` they are complex 8-bit samples `[channel][input][time]`, and each run makes the planes
first. A chunk has as many samples as one of `bench`, random; three chunks take turns, each several times the L2.

Times are medians by CUDA events of 7 repetitions of at least 50 ms, after a tenth of a second that does not count.
Energy is the whole board's, from a loop of its own: by NVML's counter with pynvml, between two of its steps, or else by
the power that nvidia-smi tells. The floor is the bytes of samples, planes, weights and beams at the rate of a copy by
the same library. `value` counts useful operations; `tops_per_watt` is those over the energy.

Needs numpy, PyTorch (2.8 or later for f32 beams) or CuPy, and a CUDA driver. Exit status: 1 if a check fails, 3 if
there is no GPU or no library.
"""

import argparse
import contextlib
import datetime
import functools
import importlib.metadata
import json
import math
import statistics
import subprocess
import sys
import threading
import time

INPUTS = [128, 512, 1024]
BEAMS = [16, 64, 256, 1024]
CHANNELS = 16
# As in tools/src/bench/tied_array.rs: bytes of a chunk of 8-bit samples, and of its beams at most.
CHUNK_BYTES = 1 << 28
MOST_BEAM_BYTES = 2 << 30
CHUNKS = 3
# Beams rotate over so many bytes, or more.
ROTATED_BYTES = 1 << 28
COPY_BYTES = 1 << 30

REPETITIONS = 7
REPETITION_MS = 50
WARM_UP_MS = 100
# Energy: work goes on in slices, and the counter is read after each.
SLICE_MS = 10
ENERGY_MS = 300
MOST_ENERGY_MS = 2000
# Power as nvidia-smi tells it is a mean of the last second.
SAMPLED_SECONDS = (1.2, 2.2)
SAMPLE_MS = 50

COMPARED_TIMES = 32
CHECK = (
    "{count} values of a channel against numpy in f64: {worst:.2f} of the bound at most, which is half a step of the "
    "beam's type and 2^-18 of the sum of the products' sizes"
)

# torch or cupy, and numpy, are imported in `main`, so that the help needs none of them.
np = None


class NoGpu(Exception):
    """Why nothing can be measured."""


class Torch:
    """What is measured, by PyTorch."""

    name = "torch"

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise NoGpu("torch finds no GPU")
        self.torch = torch
        # Sums of f32 throughout, parts of sums as well.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        self.types = {"i8": torch.int8, "f16": torch.float16, "f32": torch.float32}
        self.out_of_memory = torch.cuda.OutOfMemoryError
        properties = torch.cuda.get_device_properties(0)
        self.gpu = properties.name
        self.identifier = torch_identifier(properties)
        self.cuda_driver = None
        self.library = f"PyTorch {torch.__version__}"
        # Some versions have f32 beams of f16 values only as new arrays, older ones not at all.
        self.without_f32 = self.try_f32(self.f32_into)
        if self.without_f32:
            self.f32_product = self.f32_new
            self.without_f32 = self.try_f32(self.f32_new)

    def f32_into(self, weights, planes, beams):
        return self.torch.bmm(weights, planes, out_dtype=self.torch.float32, out=beams)

    def f32_new(self, weights, planes, _):
        return self.torch.bmm(weights, planes, out_dtype=self.torch.float32)

    f32_product = f32_into

    def try_f32(self, product):
        """Why a way to f32 beams does not work, or None."""
        a, out = self.empty((1, 16, 16), "f16").zero_(), self.empty((1, 16, 16), "f32")
        try:
            product(a, a, out)
            self.synchronize()
        except (TypeError, RuntimeError) as error:
            return f"torch.bmm of {self.torch.__version__}: {str(error).strip().splitlines()[0]}"
        return None

    def empty(self, shape, kind):
        return self.torch.empty(shape, dtype=self.types[kind], device="cuda")

    def random_bytes(self, shape):
        return self.torch.randint(-127, 128, shape, dtype=self.torch.int8, device="cuda")

    def upload(self, array):
        return self.torch.from_numpy(array).cuda()

    def download(self, array):
        return array.cpu().numpy()

    def convert(self, samples, planes):
        """Complex 8-bit samples `[channel][input][time]` to planes of f16, `[channel][part, input][time]`."""
        channels, inputs, times, _ = samples.shape
        planes.view(channels, 2, inputs, times).copy_(samples.permute(0, 3, 1, 2))

    def product(self, weights, planes, beams):
        """The beams: in `beams`, or where the library has no such call in a new array."""
        if beams.dtype == self.torch.float32:
            return self.f32_product(weights, planes, beams)
        return self.torch.bmm(weights, planes, out=beams)

    def copy(self, source, target):
        target.copy_(source)

    def mark(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_ms(self, start, end):
        end.synchronize()
        return start.elapsed_time(end)

    def synchronize(self):
        self.torch.cuda.synchronize()

    def give_back(self):
        self.torch.cuda.empty_cache()


class Cupy:
    """What is measured, by CuPy."""

    name = "cupy"

    def __init__(self):
        import cupy

        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise NoGpu(f"cupy finds no GPU: {error}") from error
        if count == 0:
            raise NoGpu("cupy finds no GPU")
        self.cupy = cupy
        self.types = {"i8": cupy.int8, "f16": cupy.float16, "f32": cupy.float32}
        self.out_of_memory = cupy.cuda.memory.OutOfMemoryError
        self.gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.identifier = cupy.cuda.Device(0).pci_bus_id
        self.cuda_driver = cupy.cuda.runtime.driverGetVersion()
        self.library = f"CuPy {cupy.__version__}"
        self.without_f32 = "cupy.matmul has no f32 out of f16"

    def empty(self, shape, kind):
        return self.cupy.empty(shape, dtype=self.types[kind])

    def random_bytes(self, shape):
        array = self.empty(shape, "i8")
        for part in array:  # a channel at a time: random numbers are made as wider ones
            part[...] = self.cupy.random.randint(-127, 128, part.shape, dtype=self.cupy.int8)
        return array

    def upload(self, array):
        return self.cupy.asarray(array)

    def download(self, array):
        return self.cupy.asnumpy(array)

    def convert(self, samples, planes):
        channels, inputs, times, _ = samples.shape
        planes.reshape(channels, 2, inputs, times)[...] = samples.transpose(0, 3, 1, 2)

    def product(self, weights, planes, beams):
        return self.cupy.matmul(weights, planes, out=beams)

    def copy(self, source, target):
        target[...] = source

    def mark(self):
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def between_ms(self, start, end):
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end)

    def synchronize(self):
        self.cupy.cuda.get_current_stream().synchronize()

    def give_back(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


def torch_identifier(properties):
    """What NVML and nvidia-smi know the GPU by: its UUID, or its place on the bus, as the version of torch tells."""
    uuid = str(getattr(properties, "uuid", "") or "")
    if uuid:
        return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    parts = [getattr(properties, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    return None if None in parts else "{:08x}:{:02x}:{:02x}.0".format(*parts)


def library(wanted):
    """PyTorch if it is there and has a GPU, or else CuPy."""
    reasons = []
    for kind in (Torch, Cupy):
        if wanted in (None, kind.name):
            try:
                return kind()
            except ImportError as error:
                reasons.append(f"{kind.name} is not installed or does not load ({error})")
            except NoGpu as error:
                reasons.append(str(error))
    raise NoGpu("; ".join(reasons))


class NvmlMeter:
    """Energy by NVML's counter, through pynvml."""

    how = "NVML's counter"

    def __init__(self, identifier):
        import pynvml

        self.nvml = pynvml
        pynvml.nvmlInit()
        if identifier is None:
            if pynvml.nvmlDeviceGetCount() != 1:
                raise LookupError("which of several GPUs is measured is not known")
            self.handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        elif identifier.startswith(("GPU-", "MIG-")):
            self.handle = pynvml.nvmlDeviceGetHandleByUUID(identifier)
        else:
            self.handle = pynvml.nvmlDeviceGetHandleByPciBusId(identifier)
        self.millijoules()
        driver = pynvml.nvmlSystemGetDriverVersion()
        self.driver = driver.decode() if isinstance(driver, bytes) else driver
        self.cuda_driver = pynvml.nvmlSystemGetCudaDriverVersion()
        self.clock_mhz = pynvml.nvmlDeviceGetMaxClockInfo(self.handle, pynvml.NVML_CLOCK_SM)

    def millijoules(self):
        return self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle)

    def measure(self, gpu, run, run_ms):
        """Joules of a run, if the counter moves, and the median clock of the multiprocessors meanwhile."""
        runs = max(1, math.ceil(SLICE_MS / run_ms))
        clocks, marks, numbers = [], [], iter(range(1 << 62))

        def work():
            for _ in range(runs):
                run(next(numbers))
            marks.append(gpu.mark())
            if len(marks) > 1:
                # The slice before: the device has work while the counter is read.
                marks.pop(0).synchronize()
            clocks.append(self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM))

        found = between_steps(self.millijoules, work, runs * run_ms)
        gpu.synchronize()
        joules = found[0] / 1e3 / (found[1] * runs) if found else None
        return joules, statistics.median(clocks)


class SampledMeter:
    """Energy by the power that nvidia-smi tells, many times a second."""

    how = "power as nvidia-smi tells it"

    def __init__(self, identifier):
        self.command = ["nvidia-smi", "--format=csv,noheader,nounits"]
        if identifier is not None:
            self.command.append(f"--id={identifier}")
        answer = subprocess.run(
            [*self.command, "--query-gpu=driver_version,clocks.max.sm"], capture_output=True, text=True, check=True
        )
        lines = answer.stdout.strip().splitlines()
        if len(lines) != 1:
            raise LookupError("which of several GPUs is measured is not known")
        self.driver, clock_mhz = (word.strip() for word in lines[0].split(","))
        self.clock_mhz, self.cuda_driver = int(clock_mhz), None

    def measure(self, gpu, run, run_ms):
        first, last = SAMPLED_SECONDS
        command = [*self.command, "--query-gpu=power.draw,clocks.sm", f"--loop-ms={SAMPLE_MS}"]
        samples, runs, number = [], max(1, math.ceil(SLICE_MS / run_ms)), 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

            def read():
                for line in process.stdout:
                    with contextlib.suppress(ValueError):
                        watts, mhz = (float(word) for word in line.split(","))
                        samples.append((time.perf_counter(), watts, mhz))

            reader = threading.Thread(target=read)
            reader.start()
            start, marks = time.perf_counter(), []
            try:
                while time.perf_counter() - start < last:
                    for _ in range(runs):
                        run(number)
                        number += 1
                    marks.append(gpu.mark())
                    if len(marks) > 1:
                        marks.pop(0).synchronize()
                gpu.synchronize()
            finally:
                process.terminate()
                reader.join()
        during = [(watts, mhz) for at, watts, mhz in samples if first <= at - start <= last]
        if not during:
            return None, None
        watts, clocks = zip(*during)
        return statistics.mean(watts) * run_ms / 1e3, statistics.median(clocks)


class NoMeter:
    """No energy."""

    how, driver, cuda_driver, clock_mhz = "not measured", None, None, None

    def measure(self, gpu, run, run_ms):
        return None, None


def meter(identifier):
    """How energy is measured here."""
    reasons = []
    for kind in (NvmlMeter, SampledMeter):
        # pynvml has an exception of its own for each answer of NVML, all of them Exceptions.
        try:
            return kind(identifier)
        except Exception as error:
            reasons.append(f"{kind.how}: {type(error).__name__}: {error}")
    print(f"no energy: {'; '.join(reasons)}", flush=True)
    return NoMeter()


def between_steps(counter, work, slice_ms):
    """Millijoules and slices between two steps of the counter, the first after warming up; None if it stands still."""
    warm_up, least = math.ceil(WARM_UP_MS / slice_ms), math.ceil(ENERGY_MS / slice_ms)
    first, last = None, counter()
    for done in range(1, max(math.ceil(MOST_ENERGY_MS / slice_ms), 4 * (warm_up + least)) + 1):
        work()
        now = counter()
        if now == last:
            continue
        last = now
        if first is None:
            if done >= warm_up:
                first = now, done
        elif done - first[1] >= least:
            return now - first[0], done - first[1]
    return None


def timed(gpu, run):
    """Median time of a run in ms, and by how much of it repetitions differ."""

    def repeat(runs):
        start = gpu.mark()
        for number in range(runs):
            run(number)
        return gpu.between_ms(start, gpu.mark()) / runs

    repeat(2)  # loads kernels
    once = repeat(3)
    warm = repeat(max(3, math.ceil(WARM_UP_MS / once)))
    runs = max(1, math.ceil(1.1 * REPETITION_MS / warm))
    times = [repeat(runs) for _ in range(REPETITIONS)]
    median = statistics.median(times)
    return median, (max(times) - min(times)) / median


def times_of(inputs, beams, beam_bytes):
    """Times of a chunk, where a beam's value has so many bytes."""
    fit = min(CHUNK_BYTES // (2 * inputs), MOST_BEAM_BYTES // (beams * beam_bytes)) // CHANNELS
    return max(128, fit // 128 * 128)


def moved_bytes(inputs, beams, times, beam_bytes, converted):
    """Bytes that must be read and written: planes, weights, beams, and 8-bit samples and the planes once more."""
    samples = CHANNELS * times * inputs
    weights = CHANNELS * 2 * beams * 2 * inputs * 2
    return samples * 4 + weights + CHANNELS * times * beams * beam_bytes + (samples * 6 if converted else 0)


@functools.lru_cache(maxsize=1)
def weights_of(inputs, beams):
    """Random f16 weights as the real matrix `[[re, -im], [im, re]]`. Beams are about as large as samples."""
    rng = np.random.default_rng(inputs * beams)
    parts = rng.standard_normal((2, CHANNELS, beams, inputs), dtype=np.float32) / np.float32(math.sqrt(2 * inputs))
    re, im = parts.astype(np.float16)
    return np.block([[re, -im], [im, re]])


def worst_of(weights, samples, found, half_step):
    """The largest error over its bound: the complex product by numpy in f64, of one channel."""
    beams, inputs = len(weights) // 2, weights.shape[1] // 2
    weights = weights.astype(np.float64)
    re, im = weights[:beams, :inputs], weights[beams:, :inputs]
    x, y = samples[..., 0].astype(np.float64), samples[..., 1].astype(np.float64)
    expected = (re + 1j * im) @ (x + 1j * y)
    expected = np.concatenate([expected.real, expected.imag])
    size = np.concatenate([abs(re) @ abs(x) + abs(im) @ abs(y), abs(im) @ abs(x) + abs(re) @ abs(y)])
    bound = abs(expected) * half_step + 2.0**-25 + size * 2.0**-18
    return float(np.max(abs(found.astype(np.float64) - expected) / bound))


class Case:
    """Beams of one size: buffers, the work, the check."""

    def __init__(self, gpu, inputs, beams, kind):
        self.inputs, self.beams, self.kind = inputs, beams, kind
        self.beam_bytes = 8 if kind == "f32" else 4
        self.times = times_of(inputs, beams, self.beam_bytes)
        self.gpu, self.matrix = gpu, weights_of(inputs, beams)
        self.weights = gpu.upload(self.matrix)
        shape = (CHANNELS, inputs, self.times, 2)
        self.samples = [gpu.random_bytes(shape) for _ in range(CHUNKS)]
        self.planes = [gpu.empty((CHANNELS, 2 * inputs, self.times), "f16") for _ in range(CHUNKS)]
        for samples, planes in zip(self.samples, self.planes):
            gpu.convert(samples, planes)
        formed = CHANNELS * beams * self.times * self.beam_bytes
        count = math.ceil(ROTATED_BYTES / formed)
        self.out = [gpu.empty((CHANNELS, 2 * beams, self.times), kind) for _ in range(count)]

    def product(self, number):
        chunk = number % CHUNKS
        return self.gpu.product(self.weights, self.planes[chunk], self.out[number % len(self.out)])

    def converted_product(self, number):
        chunk = number % CHUNKS
        self.gpu.convert(self.samples[chunk], self.planes[chunk])
        return self.product(number)

    def check(self, run):
        """Compares some times of the last channel of the last chunk."""
        gpu, chunk, channel = self.gpu, CHUNKS - 1, CHANNELS - 1
        found = gpu.download(run(chunk)[channel, :, -COMPARED_TIMES:])
        samples = gpu.download(self.samples[chunk][channel, :, -COMPARED_TIMES:])
        half_step = 2.0 ** (-24 if self.kind == "f32" else -11)
        worst = worst_of(self.matrix[channel], samples, found, half_step)
        return found.size, worst

    def give_back(self):
        del self.samples, self.planes, self.out, self.weights
        self.gpu.give_back()


def row_of(sizes, variant, measured, copy_gb, check):
    """A row of the record. `measured` has ms, spread, joules or None, and MHz or None."""
    inputs, beams, times, beam_bytes, converted = sizes
    time_ms, spread, joules, clock_mhz = measured
    work = 8.0 * CHANNELS * times * inputs * beams
    floor_ms = moved_bytes(inputs, beams, times, beam_bytes, converted) / copy_gb / 1e6
    row = {
        "kernel": "cuBLAS",
        "variant": variant,
        "params": {"beams": beams, "channels": CHANNELS, "inputs": inputs, "times": times},
        "time_ms": time_ms,
        "value": work / time_ms / 1e9,
        "unit": "TOPS",
        "floor": work / floor_ms / 1e9,
        "bound_by": f"bytes at {copy_gb:.0f} GB/s",
        "check": check,
        "spread": round(spread, 4),
    }
    if joules:
        row["joules_per_run"] = joules
        row["tops_per_watt"] = work / 1e12 / joules
    if clock_mhz:
        row["sm_clock_mhz"] = clock_mhz
    return row


HEAD = (
    f"{'inputs':>6} {'beams':>5} {'times':>6} {'variant':<36} {'ms':>9} {'spread':>6} {'TOPS':>7} {'of bytes':>8} "
    f"{'J a run':>8} {'TOPS/W':>7} {'MHz':>5}"
)


def line_of(row):
    """A row as a line of the table."""
    params = row["params"]
    share = f"{100 * row['value'] / row['floor']:.0f}%"
    joules = f"{row['joules_per_run']:.4f}" if "joules_per_run" in row else "-"
    per_watt = f"{row['tops_per_watt']:.3f}" if "tops_per_watt" in row else "-"
    clock = f"{row['sm_clock_mhz']:.0f}" if "sm_clock_mhz" in row else "-"
    spread = f"{100 * row['spread']:.1f}%"
    return (
        f"{params['inputs']:>6} {params['beams']:>5} {params['times']:>6} {row['variant']:<36} {row['time_ms']:>9.4f} "
        f"{spread:>6} {row['value']:>7.1f} {share:>8} {joules:>8} {per_watt:>7} {clock:>5}"
    )


def record_of(gpu, watch, commit, rows, problems):
    """The record, as docs/measurements has them."""
    cuda = watch.cuda_driver or gpu.cuda_driver
    parts = [f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"] if cuda else []
    parts += [f"driver {watch.driver}"] if watch.driver else []
    library = gpu.library + (f" with cuBLAS {version}" if (version := cublas_version()) else "")
    note = f"Batched products by {library}: real matrices of f16, sums of f32, inputs on the GPU; energy: {watch.how}."
    return {
        "date": datetime.date.today().isoformat(),
        "gpu": gpu.gpu,
        "driver": ", ".join(parts),
        "commit": commit,
        "clock_mhz": watch.clock_mhz,
        "note": " ".join([note, *(f"{problem}." for problem in problems)]),
        "rows": rows,
    }


def cublas_version():
    """The version of the package with cuBLAS, where it came as one."""
    for name in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12", "nvidia-cublas-cu11"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


def copy_rate(gpu):
    """The row of a copy, and GB/s read and written."""
    source = gpu.random_bytes((CHANNELS, COPY_BYTES // CHANNELS))
    target = gpu.empty(source.shape, "i8")
    time_ms, spread = timed(gpu, lambda number: gpu.copy(source, target))
    same = all((gpu.download(source[at]) == gpu.download(target[at])).all() for at in (0, -1))
    if not same:
        sys.exit("a copy is not what was copied")
    value = 2 * COPY_BYTES / time_ms / 1e6
    row = {
        "kernel": "copy",
        "variant": f"by {gpu.name}",
        "params": {"mib": COPY_BYTES >> 20},
        "time_ms": time_ms,
        "value": value,
        "unit": "GB/s",
        "floor": None,
        "bound_by": "",
        "check": "first and last sixteenth equal the source",
        "spread": round(spread, 4),
    }
    return row, value


def measure(gpu, watch, inputs, beams, kind, copy_gb):
    """Rows of one size and type of beams, on samples of f16 and of 8 bits."""
    case = Case(gpu, inputs, beams, kind)
    rows = []
    for converted, run in ((False, case.product), (True, case.converted_product)):
        variant = f"8 bits, converted to f16, to {kind}" if converted else f"f16 to {kind}"
        count, worst = case.check(run)
        if not worst <= 1:  # NaN is within nothing
            sys.exit(f"{inputs} inputs, {beams} beams, {variant}: an error of {worst:.3g} of its bound against numpy")
        time_ms, spread = timed(gpu, run)
        measured = (time_ms, spread, *watch.measure(gpu, run, time_ms))
        sizes = (inputs, beams, case.times, case.beam_bytes, converted)
        rows.append(row_of(sizes, variant, measured, copy_gb, CHECK.format(count=count, worst=worst)))
        print(line_of(rows[-1]), flush=True)
    case.give_back()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="file to write the record to")
    parser.add_argument("--commit", default="", help="commit of the repository, for the record")
    parser.add_argument("--library", choices=["torch", "cupy"], help="without it: torch, or else cupy")
    parser.add_argument("--inputs", type=int, nargs="+", default=INPUTS, help="numbers of inputs")
    parser.add_argument("--beams", type=int, nargs="+", default=BEAMS, help="numbers of beams")
    arguments = parser.parse_args()
    if min(arguments.inputs + arguments.beams) < 1:
        parser.error("numbers of inputs and beams are 1 at least")
    global np
    try:
        import numpy as np

        gpu = library(arguments.library)
    except ImportError as error:
        print(f"error: numpy is needed: {error}", file=sys.stderr)
        return 3
    except NoGpu as error:
        print(f"error: no GPU to measure on: {error}", file=sys.stderr)
        return 3
    watch, problems = meter(gpu.identifier), []
    copy_row, copy_gb = copy_rate(gpu)
    gpu.give_back()
    rows = [copy_row]
    about = record_of(gpu, watch, arguments.commit, [], [])
    clock = f"{watch.clock_mhz} MHz at most" if watch.clock_mhz else "clock not known"
    print(f"{about['gpu']}, {about['driver'] or 'driver not known'}, {clock}\n{about['note']}")
    print(f"copy by {gpu.name}: {copy_gb:.0f} GB/s read and written\n")
    if gpu.without_f32:
        problems.append(f"f32 beams not measured: {gpu.without_f32}")
        print(problems[-1])
    print(HEAD, flush=True)
    for inputs in arguments.inputs:
        for beams in arguments.beams:
            for kind in ("f16",) if gpu.without_f32 else ("f16", "f32"):
                try:
                    rows += measure(gpu, watch, inputs, beams, kind, copy_gb)
                except gpu.out_of_memory:
                    problems.append(f"{inputs} inputs and {beams} beams to {kind} do not fit the memory")
                    print(problems[-1], flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(record_of(gpu, watch, arguments.commit, rows, problems), file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
