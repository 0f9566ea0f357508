"""Opens filterbank files of beams with blimpy, GUPPI raw and VDIF files with baseband, and finds what was written.

    cargo run -p fringes-tools -- write-beams --out beams
    python check_beams.py beams

Everything in the files is also made with numpy from the voltages in beams.npz: sums of Stokes parameters and
coherencies in float64, with V left minus right circular polarisation (van Straten et al. 2010), and bytes of them.

Prints one line for each comparison. Exit status 1 if one fails.
"""

import pathlib
import sys
import warnings

import astropy.units as u
import numpy as np
from astropy.time import Time
from baseband import guppi, vdif
from blimpy import Waterfall

# A modified Julian day in float64, and roundings of the sums: 16 spectra and 2 channels, in units of 2^-24.
TSTART_S = 2.0**-36 * 86400
SUM = (16 + 1 + 2 + 3) * 2.0**-24


def check(passed, name, text):
    print(f"{'ok  ' if passed else 'FAIL'} {name}: {text}", flush=True)
    return bool(passed)


def products(x, y):
    """XX, YY, Re XY*, Im XY*, and I, Q, U, V, each [channel][time]."""
    xx, yy, xy = abs(x) ** 2, abs(y) ** 2, x * y.conj()
    return [xx, yy, xy.real, xy.imag], [xx + yy, xx - yy, 2 * xy.real, -2 * xy.imag]


def summed(values, times, channels):
    """Sums over whole numbers of spectra and channels, [time][product][channel], the highest channel first."""
    values = np.stack(values)[:, :, : values[0].shape[1] // times * times]
    shape = (len(values), values.shape[1] // channels, channels, values.shape[2] // times, times)
    return values.reshape(shape).sum(axis=(2, 4)).transpose(2, 0, 1)[:, :, ::-1]


def filterbank(path, archive, nbits, nifs):
    """The file as blimpy sees it, [time][product][channel], if its header says what was written."""
    file = Waterfall(str(path))
    header, data = file.header, file.data
    times, channels = archive["summed"]
    first, step = archive["frequencies_hz"]
    step, first = step * channels, first + step * (channels - 1) / 2
    count = archive["voltages"].shape[0] // channels
    day, seconds = archive["start_mjd"]
    expected = dict(
        nbits=nbits, nifs=nifs, nchans=count, nbeams=len(archive["voltages"][0, 0]) // (1 if path.stem == "power" else 2),
        ibeam=int(archive["beam"][0]) + 1, fch1=(first + step * (count - 1)) / 1e6, foff=-step / 1e6,
        tsamp=times * archive["spectrum_s"][0], source_name="Noise",
    )
    found = {key: header[key] for key in expected}
    passed = check(found == expected, path.name, f"header {found}")
    error = abs((header["tstart"] - day) * 86400 - seconds)
    passed &= check(error < TSTART_S, path.name, f"start is off by {error:.2g} s, bound {TSTART_S:.2g} s")
    ra, dec = header["src_raj"].to_value("hourangle") * np.pi / 12, header["src_dej"].to_value("deg") * np.pi / 180
    error = max(abs(ra - archive["direction_rad"][0]), abs(dec - archive["direction_rad"][1]))
    return data, passed & check(error < 1e-9, path.name, f"direction is off by {error:.2g} rad")


def vdif_file(path, voltages, bits, spectra, archive):
    """Whether every header, and every voltage [time][thread][channel], is what baseband reads."""
    passed = True
    with open(path, "rb") as raw:
        frames = []
        while raw.tell() < path.stat().st_size:
            # Also checks that frames fit the headers.
            frames.append(vdif.VDIFFrame.fromfile(raw))
    day, seconds = archive["start_mjd"]
    start = Time(day, seconds / 86400, format="mjd")
    per_second = round(1 / archive["spectrum_s"][0])
    leading = round(seconds % 1 * per_second) % spectra
    count = -(-(leading + len(voltages)) // spectra)
    channels = voltages.shape[2]
    # 2026-01-01 is half-year 52 and day 61041.
    first = round(seconds % 1 * per_second) // spectra
    for number, frame in enumerate(frames):
        place, header = first + number // 2, frame.header
        expected = dict(
            invalid_data=False, legacy_mode=False, ref_epoch=52,
            seconds=round((day - 61041) * 86400 + seconds // 1) + place * spectra // per_second,
            frame_nr=place % (per_second // spectra), vdif_version=1, lg2_nchan=channels.bit_length() - 1,
            frame_length=(32 + spectra * channels * 2 * bits // 8) // 8, complex_data=True, bits_per_sample=bits - 1,
            thread_id=number % 2, station_id=int.from_bytes(b"Ef", "big"), edv=1, sampling_unit=False,
            sampling_rate=per_second // 1000, sync_pattern=0xACABFEED, das_id=0,
        )
        found = {key: header[key] for key in expected}
        if found != expected:
            passed &= check(False, path.name, f"header of frame {number}: {found}, expected {expected}")
    passed &= check(len(frames) == 2 * count, path.name, f"{len(frames)} frames, every field of their headers")
    with vdif.open(str(path), "rs", squeeze=False) as stream:
        samples, begin, rate = stream.read(), stream.start_time, stream.sample_rate
    # baseband's levels: (v - 8) / 2.95 of 4 bits, (v - 127.5) / 35.5 of 8.
    scale, middle = {4: (2.95, 0.0), 8: (35.5, 0.5)}[bits]
    integers = np.rint(samples.real * scale - middle) + 1j * np.rint(samples.imag * scale - middle)
    zeros = [np.zeros((pad, 2, channels)) for pad in (leading, count * spectra - leading - len(voltages))]
    padded = np.concatenate([zeros[0], voltages, zeros[1]])
    same = integers.shape == padded.shape and (integers == padded).all()
    passed &= check(same, path.name, f"{samples.size} voltages of {bits} bits as baseband reads them")
    error = abs((begin - start).to_value(u.s) + leading / per_second)
    passed &= check(error < 1e-8 and rate == per_second * u.Hz, path.name, f"start is off by {error:.2g} s, rate {rate}")
    return passed


def main():
    folder = pathlib.Path(sys.argv[1])
    archive = np.load(folder / "beams.npz")
    beam, (times, channels) = int(archive["beam"][0]), archive["summed"]
    voltages = archive["voltages"].astype(np.complex128)
    coherency, stokes = (summed(values, times, channels) for values in products(*voltages.transpose(2, 0, 1)[2 * beam :][:2]))
    passed = True

    data, ok = filterbank(folder / "coherency.fil", archive, 32, 4)
    error = np.max(abs(data - coherency) / stokes[:, :1])
    passed &= ok & check(error < SUM, "coherency.fil", f"{data.size} sums, largest error {error:.2g} of I, bound {SUM:.2g}")

    data, ok = filterbank(folder / "power.fil", archive, 32, 1)
    power = summed([abs(voltages[..., beam]) ** 2], times, channels)
    error = np.max(abs(data - power) / power)
    passed &= ok & check(error < SUM, "power.fil", f"{data.size} sums, largest relative error {error:.2g}, bound {SUM:.2g}")

    data, ok = filterbank(folder / "stokes.fil", archive, 8, 4)
    scale, offset = (archive[name][::-1, beam].T.astype(float) for name in ("scale", "offset"))
    exact = offset + scale * stokes
    # What the error of a sum may move over the border of a rounding.
    room = abs(scale) * SUM * stokes[:, :1] + 1e-9
    wrong = abs(data - np.clip(exact, 0, 255)) > 0.5 + room
    text = f"{data.size} bytes, {wrong.sum()} not those of numpy"
    passed &= ok & check(not wrong.any() and data.dtype == np.uint8, "stokes.fil", text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # baseband warns of what it sets by itself
        with guppi.open(str(folder / "voltages.raw"), "rs", squeeze=False) as stream:
            samples, start, rate = stream.read(), stream.start_time, stream.sample_rate
            header = stream.header0
    expected = archive["rounded"][..., 2 * beam : 2 * beam + 2].transpose(1, 2, 0)  # [time][pol][channel]
    gain = archive["gain"][0]
    exact = np.rint(gain * voltages.real) + 1j * np.rint(gain * voltages.imag)
    clipped = np.clip(exact.real, -127, 127) + 1j * np.clip(exact.imag, -127, 127)
    passed &= check((clipped == archive["rounded"]).all(), "voltages", f"{clipped.size} voltages rounded as by numpy")
    same = samples.shape == expected.shape and (samples == expected).all()
    passed &= check(same, "voltages.raw", f"{samples.size} voltages as baseband reads them")
    day, seconds = archive["start_mjd"]
    error = abs((start - Time(day, seconds / 86400, format="mjd")).to_value(u.s))
    passed &= check(error < 1e-8, "voltages.raw", f"start is off by {error:.2g} s")
    first, step = archive["frequencies_hz"]
    centre = (first + step * (expected.shape[2] - 1) / 2) / 1e6
    found = (rate.to_value(u.Hz) * archive["spectrum_s"][0], header["OBSFREQ"], header["OBSBW"], header["SRC_NAME"])
    wanted = (1.0, centre, step * expected.shape[2] / 1e6, "Noise")
    passed &= check(found == wanted, "voltages.raw", f"header {found}")

    # [time][thread][channel] of the first channels, a power of two of them.
    some = expected[..., : 1 << (expected.shape[2].bit_length() - 1)]
    low = np.trunc(some.real / 16) + 1j * np.trunc(some.imag / 16)
    passed &= vdif_file(folder / "voltages8.vdif", some, 8, 250, archive)
    passed &= vdif_file(folder / "voltages4.vdif", low, 4, 1000, archive)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
