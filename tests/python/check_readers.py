"""Checks the readers of recordings against the `baseband` package, sample by sample.

Usage: python check_readers.py PATH_TO_fringes-tools

The tools must be built (`cargo build --release -p fringes-tools`). The files are those
that come with `baseband` and files that this script writes, with `baseband` or, for bit depths that it cannot write, with
numpy. One line is printed for each; the exit status is 1 if one differs.

Scales. Samples are compared as the integers that were recorded:

========  ===========================================  ===============================
bits      baseband                                     ours
========  ===========================================  ===============================
1         -1, 1                                        -1, 1
2         -3.316505, -1, 1, 3.316505                   -3.3359, -1, 1, 3.3359
4         (v - 8) / 2.95 in VDIF                       v - 8, but -8 is clamped to -7
8         (v - 127.5) / 35.5 in VDIF; v in the others  v - 128; -128 is clamped to -127
========  ===========================================  ===============================

Where the band runs downward in frequency ours reverses the channels and conjugates complex samples, or negates every
second real one; that is undone here.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import astropy.units as u
import numpy as np
from astropy.time import Time
from baseband import dada, data, guppi, mark5b, vdif

START = Time("2020-03-04T05:06:07", scale="utc", precision=9)


def ours(program, files, directory, *arguments):
    """Our samples [channel][input][time], presence [input][time] and what the recording says about itself."""
    output, presence = directory / "ours.npy", directory / "presence.npy"
    command = [program, "dump-samples", *map(str, files), "--output", str(output), "--presence", str(presence), *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())
    return np.load(output), np.load(presence), json.loads(result.stdout)


def parts(samples):
    """Real and imaginary parts as a last dimension of real samples (of length 1 for real samples)."""
    if np.iscomplexobj(samples):
        return np.stack([samples.real, samples.imag], axis=-1)
    return samples[..., None]


def recorded_by_baseband(samples, bits, offset_binary):
    """The integers that baseband's samples stand for: 1 and 2 bits as levels 0.., the others signed."""
    values = parts(samples).astype(np.float64)
    if bits == 1:
        integers = (values + 1) / 2
    elif bits == 2:
        integers = np.select([values < -2, values < 0, values < 2], [0.0, 1.0, 2.0], 3.0)
        levels = np.array([-3.316505, -1, 1, 3.316505])
        assert np.abs(levels[integers.astype(int)] - values).max() < 1e-6
    elif bits == 4:
        integers = values * 2.95
    elif offset_binary:
        integers = values * 35.5 + 127.5 - 128
    else:
        integers = values
    whole = np.rint(integers)
    assert np.abs(integers - whole).max() < 1e-3, "baseband's samples are not on its levels"
    if bits in (4, 8):
        whole = np.maximum(whole, 1 - 2 ** (bits - 1))
    return whole


def recorded_by_us(samples, bits):
    """The integers that our samples stand for."""
    values = parts(samples).astype(np.float64)
    if bits == 1:
        return (values + 1) / 2
    if bits == 2:
        high = np.float32(3.3359)
        integers = np.select([values == -high, values == -1, values == 1, values == high], [0.0, 1.0, 2.0, 3.0], -1.0)
        assert integers.min() >= 0, "a two-bit sample is on no level"
        return integers
    return values


def same(name, expected, samples, info, offset_binary, detail=""):
    """Compares baseband's samples [time][input][channel] with ours and says how it went."""
    bits = info["bits"]
    samples = samples.transpose(2, 1, 0)
    if info["inverted"]:
        samples = samples[..., ::-1]
        if info["complex"]:
            samples = samples.conj()
        else:
            samples = samples * (1 - 2 * (np.arange(len(samples)) % 2))[:, None, None]
    theirs, mine = recorded_by_baseband(expected, bits, offset_binary), recorded_by_us(samples, bits)
    if theirs.shape != mine.shape:
        raise AssertionError(f"shape {mine.shape}, baseband has {theirs.shape}")
    differing = int((theirs != mine).sum())
    if differing:
        where = np.argwhere(theirs != mine)[0]
        raise AssertionError(f"{differing} of {mine.size} values differ, first at [time, input, channel, part] {where}")
    print(f"ok    {name}: {mine.size} values of {bits} bits equal{detail}")


def same_start(info, expected):
    """Our start is baseband's, to 10 ns."""
    start = Time(info["start_mjd_day"], info["start_seconds"] / 86400, format="mjd", scale="utc")
    difference = abs((start - expected).to_value(u.s))
    assert difference < 1e-8, f"start differs by {difference} s"


def check_shipped(program, directory):
    """The files that come with baseband: name, check."""

    def vdif_file(path, rate, arguments=(), start=True):
        with vdif.open(path, "rs", sample_rate=rate, squeeze=False) as stream:
            expected, begin = stream.read(), stream.start_time
        samples, presence, info = ours(program, [path], directory, *arguments)
        assert presence.all()
        same(pathlib.Path(path).name, expected, samples, info, True)
        if start:
            same_start(info, begin)
        if rate is not None and info["sample_rate_hz"] is not None:
            assert info["sample_rate_hz"] == rate.to_value(u.Hz)

    def uncorrected():
        # Even threads carry another time: they are absent, and the odd ones are as in the corrected file.
        samples, presence, info = ours(program, [data.SAMPLE_VLBI_VDIF], directory)
        good, _, _ = ours(program, [data.SAMPLE_VDIF], directory)
        assert info["late_frames"] == 8 and not presence[0::2].any() and presence[1::2].all()
        assert (samples[:, 0::2] == 0).all() and (samples[:, 1::2] == good[:, 1::2]).all()
        print("ok    sample_vlbi.vdif: threads of another time are flagged absent, the others as in sample.vdif")

    def stream_file(module, path):
        with module.open(path, "rs", squeeze=False) as stream:
            expected, begin, rate = stream.read(), stream.start_time, stream.sample_rate
        samples, presence, info = ours(program, [path], directory)
        assert presence.all() and abs(info["sample_rate_hz"] / rate.to_value(u.Hz) - 1) < 1e-12
        same_start(info, begin)
        same(pathlib.Path(path).name, expected, samples, info, False)

    def mark5b_file(bits):
        # The shipped Mark 5B frames as VDIF; read with one bit for two they have twice the channels.
        path = str(directory / f"mark5b-{bits}bit.vdif")
        frames = []
        with mark5b.open(data.SAMPLE_MARK5B, "rb", kday=56000, nchan=16 // bits, bps=bits) as raw:
            raw.find_header(forward=True)
            for _ in range(3):
                frames.append(vdif.VDIFFrame.from_mark5b_frame(raw.read_frame()))
        with open(path, "wb") as stream:
            for frame in frames:
                frame.tofile(stream)
        expected = np.concatenate([frame.data for frame in frames])[:, None, :]
        samples, presence, info = ours(program, [path], directory, *rate(32000000))
        assert presence.all()
        same(pathlib.Path(path).name, expected, samples, info, True)

    def refused(path, words):
        try:
            ours(program, [path], directory)
        except RuntimeError as error:
            assert words in str(error), error
            print(f"ok    {pathlib.Path(path).name}: refused: {words}")
            return
        raise AssertionError("read, but cannot be")

    rate = lambda hertz: ("--sample-rate", str(hertz))  # noqa: E731
    return [
        ("sample.vdif", lambda: vdif_file(data.SAMPLE_VDIF, None)),
        ("sample_vlbi.vdif", uncorrected),
        ("sample_arochime.vdif", lambda: vdif_file(data.SAMPLE_AROCHIME_VDIF, 390625 * u.Hz, rate(390625))),
        ("sample_bps1.vdif", lambda: vdif_file(data.SAMPLE_BPS1_VDIF, 32 * u.MHz, rate(32000000))),
        ("sample_mwa.vdif", lambda: vdif_file(data.SAMPLE_MWA_VDIF, 1.28 * u.MHz, rate(1280000))),
        ("sample_puppi.raw", lambda: stream_file(guppi, data.SAMPLE_PUPPI)),
        ("sample.dada", lambda: stream_file(dada, data.SAMPLE_DADA)),
        ("sample_meerkat.dada", lambda: meerkat(program, directory)),
        ("Mark 5B, 2 bits", lambda: mark5b_file(2)),
        ("Mark 5B, 1 bit", lambda: mark5b_file(1)),
        ("sample_drao_corrupted.vdif", lambda: refused(data.SAMPLE_DRAO_CORRUPT, "bits a sample")),
        ("sample_blc.raw", lambda: refused(data.SAMPLE_BLC, "ends inside a block")),
        ("sample_vegas.raw", lambda: refused(data.SAMPLE_VEGAS, "ends inside a block")),
    ]


def meerkat(program, directory):
    """A file that is shorter than its FILE_SIZE: baseband reads it with FILE_SIZE set to what there is."""
    raw = pathlib.Path(data.SAMPLE_MEERKAT_DADA).read_bytes()
    path = directory / "meerkat.dada"
    path.write_bytes(raw.replace(b"FILE_SIZE    32768", b"FILE_SIZE    28672"))
    with dada.open(str(path), "rs", squeeze=False) as stream:
        expected, begin = stream.read(), stream.start_time
    samples, _, info = ours(program, [data.SAMPLE_MEERKAT_DADA], directory)
    # UTC_START has microseconds, MJD_START, which baseband reads, twelve digits of a day (43 ns each).
    start = Time(info["start_mjd_day"], info["start_seconds"] / 86400, format="mjd", scale="utc")
    assert abs((start - begin).to_value(u.s)) < 1e-6
    same("sample_meerkat.dada", expected, samples, info, False)


def check_cut(program, directory):
    """Shipped files that end inside a header: refused, or read up to there and said to be cut short."""

    def cut_file(path, cuts, first_data):
        name, content = pathlib.Path(path).name, pathlib.Path(path).read_bytes()
        short = directory / ("cut-" + name)
        for cut in cuts:
            short.write_bytes(content[:cut])
            try:
                _, _, info = ours(program, [short], directory)
            except RuntimeError as error:
                line = str(error)
                assert cut < first_data and line.startswith("error: ") and "\n" not in line and str(short) in line, line
                assert "panicked" not in line, line
            else:
                assert cut >= first_data and info["ended_by"] and str(short) in info["ended_by"], f"cut at {cut}: {info}"
        print(f"ok    {name}: cut at each of {len(cuts)} bytes of headers: an error of one line")

    frame, block = 5032, 6400 + 16384
    vdif_cuts = [*range(32), *range(frame + 1, frame + 32)]
    guppi_cuts = [*range(0, 6400, 61), *range(block + 1, block + 6400, 61)]
    return [
        ("sample.vdif cut", lambda: cut_file(data.SAMPLE_VDIF, vdif_cuts, frame)),
        ("sample_puppi.raw cut", lambda: cut_file(data.SAMPLE_PUPPI, guppi_cuts, block)),
        ("sample.dada cut", lambda: cut_file(data.SAMPLE_DADA, range(0, 4100, 41), 4100)),
    ]


def check_written_vdif(program, directory):
    """VDIF written by baseband: bit depths, real and complex, channels, threads, header versions."""
    generator = np.random.default_rng(20)

    def written(edv, bits, is_complex, channels, threads, payload=960):
        name = f"edv{edv}-{bits}bit-{'complex' if is_complex else 'real'}-{channels}ch-{threads}thr"
        path = str(directory / f"{name}.vdif")
        values = payload * 8 // bits // (2 if is_complex else 1) // channels
        rate = values * 20 * u.Hz if edv not in (1, 3) else values * 1000 * u.Hz
        options = {"edv": edv, "bps": bits, "complex_data": is_complex, "nchan": channels, "station": "Ef"}
        if edv == 3:
            options |= {"frame_length": 629}
            values = 5000 * 8 // bits // (2 if is_complex else 1) // channels
            rate = values * 1000 * u.Hz
        else:
            options |= {"samples_per_frame": values}
        if edv in (1, 3):
            options |= {"sample_rate": rate}
        header = vdif.VDIFHeader.fromvalues(time=START, **options)
        frames = 45 if edv not in (1, 3) else 7
        samples = generator.normal(size=(frames * values, threads, channels)) * 2.0
        if is_complex:
            samples = samples + 1j * generator.normal(size=samples.shape) * 2.0
        with vdif.open(path, "ws", header0=header, sample_rate=rate, nthread=threads, squeeze=False) as stream:
            stream.write(samples)
        with vdif.open(path, "rs", sample_rate=rate, squeeze=False) as stream:
            expected = stream.read()
        # The number of frames in a second is told by the frames themselves, or the header.
        mine, presence, info = ours(program, [path], directory, "--block", "1000")
        assert presence.all() and info["total_samples"] == len(expected) and info["telescope"] == "Ef"
        assert info["sample_rate_hz"] == rate.to_value(u.Hz), info["sample_rate_hz"]
        same_start(info, START)
        same(pathlib.Path(path).name, expected, mine, info, True)

    cases = [(0, bits, is_complex, 1, 2) for bits in (1, 2, 4, 8) for is_complex in (False, True)]
    cases += [(0, 2, False, 4, 3), (0, 8, True, 2, 1), (0, 4, True, 8, 2), (False, 2, False, 1, 4), (False, 8, True, 4, 1)]
    cases += [(1, 2, False, 1, 2), (1, 4, True, 2, 1), (3, 2, False, 1, 8), (3, 8, True, 1, 1)]
    return [(f"VDIF {case}", lambda case=case: written(*case)) for case in cases]


def check_packed_vdif(program, directory):
    """VDIF of bit depths that baseband cannot write, packed here: values do not cross 32-bit words."""
    generator = np.random.default_rng(21)

    def packed(bits, is_complex):
        per_word = 32 // (2 * bits) * 2 if is_complex else 32 // bits
        words, frames = 16, 5
        values = generator.integers(0, 2**bits, size=(frames, words, per_word))
        shifts = (bits * np.arange(per_word)).astype(np.uint64)
        payload = (values.astype(np.uint64) << shifts).sum(axis=-1).astype("<u4")
        path = directory / f"packed-{bits}bit-{'complex' if is_complex else 'real'}.vdif"
        with open(path, "wb") as stream:
            for frame in range(frames):
                header = np.zeros(8, dtype="<u4")
                header[0] = 1000
                header[1] = 40 << 24 | frame
                header[2] = (32 + 4 * words) // 8
                header[3] = int(is_complex) << 31 | (bits - 1) << 26
                stream.write(header.tobytes() + payload[frame].tobytes())
        mine, _, info = ours(program, [path], directory)
        expected = values.reshape(-1)
        if bits == 1:
            expected = 2 * expected - 1
        elif bits == 2:
            expected = np.array([-3.3359, -1, 1, 3.3359], dtype=np.float32)[expected]
        else:
            expected = expected - 2 ** (bits - 1)
            if bits in (4, 8):
                expected = np.maximum(expected, 1 - 2 ** (bits - 1))
        mine = parts(mine[0, 0]).reshape(-1)
        assert info["bits"] == bits and (mine == expected).all()
        print(f"ok    {path.name}: {mine.size} values of {bits} bits equal to numpy's")

    return [(f"packed {bits} {c}", lambda bits=bits, c=c: packed(bits, c)) for bits in range(1, 17) for c in (False, True)]


def check_written_others(program, directory):
    """GUPPI raw and PSRDADA written by baseband."""
    generator = np.random.default_rng(22)

    def integers(shape, is_complex):
        values = generator.integers(-128, 128, size=shape).astype(np.float32)
        return values + 1j * generator.integers(-128, 128, size=shape) if is_complex else values

    def guppi_file(pols, channels, order, sideband):
        name = f"{pols}pol-{channels}ch-{order}-{'up' if sideband > 0 else 'down'}.raw"
        rate = sideband * 250 * u.kHz
        header = guppi.GUPPIHeader.fromvalues(
            time=START, npol=pols, nchan=channels, samples_per_frame=512, bps=8, pktfmt=order, pktsize=1024,
            sample_rate=rate, overlap=0, obsfreq=1400.0, src_name="B0329+54",
        )
        path = str(directory / name)
        samples = integers((512 * 5, pols, channels), True)
        with guppi.open(path, "ws", header0=header, squeeze=False) as stream:
            stream.write(samples)
        with guppi.open(path, "rs", squeeze=False) as stream:
            expected = stream.read()
        mine, presence, info = ours(program, [path], directory, "--block", "300")
        assert presence.all() and info["inverted"] == (sideband < 0) and info["source"] == "B0329+54"
        centre = 1400e6 - 250e3 * (channels - 1) / 2
        assert abs(info["first_channel_hz"] - centre) < 1e-3 and abs(info["channel_step_hz"] - 250e3) < 1e-6
        same_start(info, START)
        same(name, expected, mine, info, False, f", {info['clamped']} clamped")

    def dada_file(pols, channels, is_complex, sideband, files):
        name = f"{pols}pol-{channels}ch-{'complex' if is_complex else 'real'}-{'up' if sideband > 0 else 'down'}-{files}files"
        header = dada.DADAHeader.fromvalues(
            NBIT=8, NDIM=2 if is_complex else 1, NPOL=pols, NCHAN=channels, TSAMP=0.5, FREQ=1400.0,
            BW=sideband * channels * (2.0 if is_complex else 1.0), samples_per_frame=1000, start_time=START,
        )
        samples = integers((1000 * files, pols, channels), is_complex)
        template = str(directory / (name + ".{file_nr:03d}.dada"))
        with dada.open(template, "ws", header0=header, squeeze=False) as stream:
            stream.write(samples)
        paths = [template.format(file_nr=number) for number in range(files)]
        with dada.open(paths, "rs", squeeze=False) as stream:
            expected = stream.read()
        mine, presence, info = ours(program, paths, directory, "--block", "300")
        assert presence.all() and info["total_samples"] == len(expected) and info["inverted"] == (sideband < 0)
        same_start(info, START)
        same(name + ".dada", expected, mine, info, False, f", {info['clamped']} clamped")

    # NPOL 2 is two polarisations here and one in baseband, so that one polarisation is left to the Rust tests.
    guppi_cases = [(2, 4, "1SFA", 1), (2, 8, "SIMPLE", 1), (2, 4, "1SFA", -1), (2, 4, "SIMPLE", -1)]
    dada_cases = [(2, 1, True, 1, 1), (2, 1, False, 1, 3), (2, 4, True, 1, 2), (1, 8, True, -1, 2), (2, 1, False, -1, 3)]
    checks = [(f"GUPPI {case}", lambda case=case: guppi_file(*case)) for case in guppi_cases]
    return checks + [(f"DADA {case}", lambda case=case: dada_file(*case)) for case in dada_cases]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python check_readers.py PATH_TO_fringes-tools")
    program = str(pathlib.Path(sys.argv[1]).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        checks = check_shipped(program, directory) + check_cut(program, directory)
        checks += check_written_vdif(program, directory)
        checks += check_packed_vdif(program, directory) + check_written_others(program, directory)
        for name, check in checks:
            try:
                check()
            except Exception as error:  # noqa: BLE001: every kind of failure is a failed check
                failed += 1
                print(f"FAIL  {name}: {type(error).__name__}: {error}")
    print(f"{len(checks) - failed} of {len(checks)} checks passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
