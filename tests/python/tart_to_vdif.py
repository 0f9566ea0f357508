"""Converts a recording of the TART telescope, as the `tart` package ships it, to VDIF and an antenna table.

Usage: python tart_to_vdif.py PACKAGE OUTPUT_DIRECTORY [RECORDING]

PACKAGE is the wheel of `tart` 1.4.6, a folder with its contents, or the folder that it is installed in. RECORDING is the
name of one of `tart/test/test_data/*.pkl` (the first, if it is not given). Five antennas were sampled together with one
bit at 16.368 MS/s around GPS L1. Written are

- `tart.vdif`: real samples of one bit, one thread an antenna, EDV 1 headers with the sample rate;
- `tart.txt`: names and positions of the antennas in metres east, north and up.

The names of both are printed as one JSON object. The files in the package are Python pickles: they are read with an
unpickler that makes nothing but arrays of bytes and times.
"""

import datetime
import io
import json
import pathlib
import pickle
import sys
import zipfile

import numpy as np

SAMPLE_RATE_HZ = 16_368_000
# The largest number of samples that divides both a second and a recording, and fills units of eight bytes.
SAMPLES_PER_FRAME = 128
HEADER_BYTES = 32
STATION = int.from_bytes(b"TA", "big")
SYNC = 0xACABFEED


class ArrayUnpickler(pickle.Unpickler):
    """Reads pickles of numbers, text, times and arrays of bytes, and refuses every other class."""

    class Array:
        """Takes the place of numpy's array while it is read."""

        def __setstate__(self, state):
            _, self.shape, self.dtype, _, self.bytes = state

        def array(self):
            if self.dtype.name != "u1" or len(self.bytes) != int(np.prod(self.shape)):
                raise pickle.UnpicklingError("an array of bytes was expected")
            return np.frombuffer(self.bytes.encode("latin1"), dtype=np.uint8).reshape(self.shape)

    class Type:
        """Takes the place of numpy's dtype."""

        def __init__(self, name, *_):
            self.name = name

        def __setstate__(self, state):
            pass

    @staticmethod
    def time(packed):
        return datetime.datetime(*_datetime_fields(packed.encode("latin1")))

    @staticmethod
    def reconstruct(*_):
        return ArrayUnpickler.Array()

    def find_class(self, module, name):
        allowed = {
            ("datetime", "datetime"): self.time,
            ("numpy.core.multiarray", "_reconstruct"): self.reconstruct,
            ("numpy", "ndarray"): self.Array,
            ("numpy", "dtype"): self.Type,
        }
        if (module, name) not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a recording")
        return allowed[module, name]


def _datetime_fields(packed):
    """Year, month, day, hour, minute, second and microsecond of the ten bytes that a datetime is pickled as."""
    if len(packed) != 10:
        raise pickle.UnpicklingError("a time of ten bytes was expected")
    year, micros = int.from_bytes(packed[:2], "big"), int.from_bytes(packed[7:], "big")
    return (year, *packed[2:7], micros)


def recordings(package):
    """The recordings in a package: name and content."""
    package = pathlib.Path(package)
    folder = "tart/test/test_data/"
    if package.is_file():
        with zipfile.ZipFile(package) as archive:
            names = [name for name in archive.namelist() if name.startswith(folder) and name.endswith("_data.pkl")]
            return {pathlib.PurePath(name).name: archive.read(name) for name in sorted(names)}
    for root in (package / folder, package / "test/test_data", package):
        files = sorted(root.glob("*_data.pkl"))
        if files:
            return {path.name: path.read_bytes() for path in files}
    return {}


def read(content):
    """Bits [antenna][time], positions [antenna][3] in metres, and when the recording began."""
    recording = ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
    bits = np.unpackbits(recording["data"].array(), axis=-1)
    positions = np.array(recording["config"]["ant_positions"], dtype=np.float64)
    if positions.shape != (len(bits), 3):
        raise ValueError(f"{len(bits)} antennas were sampled, positions have shape {positions.shape}")
    return bits, positions, recording["timestamp"], recording["config"]


def frames(bits, start):
    """The bytes of a VDIF file: a frame of every thread, then the next of every thread."""
    epoch_year, second_half = start.year, start.month > 6
    epoch = datetime.datetime(epoch_year, 7 if second_half else 1, 1)
    since = start - epoch
    seconds = since.days * 86400 + since.seconds
    rate = SAMPLE_RATE_HZ // SAMPLES_PER_FRAME
    # Frames begin at whole multiples of their duration: 7.8 us, and the time is known to less than that.
    first = round(since.microseconds * 1e-6 * rate)
    payload = np.packbits(bits.reshape(len(bits), -1, SAMPLES_PER_FRAME), axis=-1, bitorder="little")
    frame_bytes = HEADER_BYTES + payload.shape[-1]
    out = bytearray()
    for frame in range(payload.shape[1]):
        carried, number = divmod(first + frame, rate)
        for thread in range(len(bits)):
            header = np.zeros(8, dtype="<u4")
            header[0] = seconds + carried
            header[1] = (2 * (epoch_year - 2000) + second_half) << 24 | number
            header[2] = 1 << 29 | frame_bytes // 8
            header[3] = thread << 16 | STATION
            header[4] = 1 << 24 | SAMPLE_RATE_HZ // 2 // 1000
            header[5] = SYNC
            out += header.tobytes() + payload[thread, frame].tobytes()
    return bytes(out)


def convert(package, directory, name=None):
    """Writes `tart.vdif` and `tart.txt` and returns their paths."""
    content = recordings(package)
    if not content:
        raise FileNotFoundError(f"{package} has no tart/test/test_data/*_data.pkl")
    name = name or next(iter(content))
    bits, positions, start, config = read(content[name])
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tart.vdif").write_bytes(frames(bits, start))
    latitude, longitude, height = config["geo"]
    lines = [f"# enu {latitude} {longitude} {height}", f"# TART, {name}, {start.isoformat()}Z: name east north up, metres"]
    lines += [f"tart{antenna} {east:.6f} {north:.6f} {up:.6f}" for antenna, (east, north, up) in enumerate(positions)]
    (directory / "tart.txt").write_text("\n".join(lines) + "\n")
    return {"vdif": str(directory / "tart.vdif"), "array": str(directory / "tart.txt")}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python tart_to_vdif.py PACKAGE OUTPUT_DIRECTORY [RECORDING]")
    print(json.dumps(convert(*sys.argv[1:])))


if __name__ == "__main__":
    main()
