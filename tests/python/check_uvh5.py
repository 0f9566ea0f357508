"""Opens UVH5 files with pyuvdata and h5py, and finds the numbers that were written; kills the writer and looks again.

    cargo run -p fringes-tools -- write-uvfits --out simulated
    python check_uvh5.py simulated                          # a folder, or files
    cargo build -p fringes-io --example append_uvh5
    python check_uvh5.py target/debug/examples/append_uvh5  # the program that is killed

Each NAME.uvh5 is compared with the NAME.npz and the NAME_geometry.npz beside it in all that check_uvfits.py compares; in
every field of the header with the NAME.uvfits beside it, which holds the same integrations; and in times, apparent
places and coordinates with pyuvdata's own. Phases must be flat once pyuvdata has turned the phase centre to the source.

The program is killed by SIGKILL at any time, 12 times for each of two shapes of dumps. h5py and pyuvdata must each time
read what was flushed, every value of it, without a hint of the kill; the program then goes on where the file ends. It
is also run with a limit on the size of files, as on a full disk; and it writes files of some channels each, which are
joined.

Prints one line with the largest error and its bound for each comparison. Exit status 1 if one fails.
"""

import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings

import check_uvfits as uvfits  # sets astropy up before pyuvdata is imported
import h5py
import numpy as np
from check_uvfits import ASTROMETRY, JULIAN_DATE, POSITION, ROTATION, Report
from pyuvdata import UVData

# What the memo on UVH5 asks for, and what this writer adds to it.
REQUIRED = """version telescope_name latitude longitude altitude instrument Nants_telescope Nants_data antenna_names
antenna_numbers antenna_positions ant_1_array ant_2_array Nbls Nblts Nfreqs Npols Nspws Ntimes Nphase freq_array
channel_width spw_array polarization_array integration_time time_array lst_array uvw_array vis_units history
phase_center_catalog phase_center_id_array phase_center_app_ra phase_center_app_dec phase_center_frame_pa""".split()
OPTIONAL = """telescope_frame mount_type Nfeeds feed_array feed_angle flex_spw_id_array blt_order blts_are_rectangular
time_axis_faster_than_bls rdate timesys dut1 gst0 earth_omega""".split()
GROWING = """time_array lst_array integration_time ant_1_array ant_2_array uvw_array phase_center_id_array
phase_center_app_ra phase_center_app_dec phase_center_frame_pa""".split()

# The writer's geometry finds north by a step of 1e-5 rad: two roundings of the numbers at both its ends.
NORTH = 2 * 2.0**-52 / 1e-5

# What append_uvh5 writes.
SPECTRA, SPACING, RATE_HZ = 500, 2048, 1e6
PRODUCTS = [(0, 0), (1, 1), (0, 1), (1, 0)]


def read(path):
    """The file as pyuvdata sees it, checked by pyuvdata. Its warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        return UVData.from_file(
            str(path),
            file_type="uvh5",
            run_check=True,
            check_extra=True,
            strict_uvw_antpos_check=True,
            fix_autos=False,
        )


def check_layout(report, name, path):
    """What the file itself has, by h5py."""
    with h5py.File(path) as file:
        header, data = file["Header"], file["Data"]
        report(sorted(header) == sorted(REQUIRED + OPTIONAL), f"{name} header", f"{len(header)} fields")
        blts, freqs, pols = (int(header[key][()]) for key in ("Nblts", "Nfreqs", "Npols"))
        types = {key: (data[key].dtype, data[key].shape, data[key].maxshape) for key in data}
        shape, limit = (blts, freqs, pols), (None, freqs, pols)
        expected = {"visdata": np.complex64, "flags": np.bool_, "nsamples": np.float32}
        expected = {key: (np.dtype(kind), shape, limit) for key, kind in expected.items()}
        report(types == expected, f"{name} data", f"{types['visdata']}")
        fields = data["visdata"].id.get_type()
        members = [fields.get_member_name(at) for at in range(fields.get_nmembers())]
        report(members == [b"r", b"i"], f"{name} complex type", f"{members}")
        grown = {key: header[key].shape[0] for key in GROWING if header[key].maxshape[0] is None}
        report(grown == dict.fromkeys(GROWING, blts), f"{name} growing arrays", f"{len(grown)} of {blts} rows")


def check_sky(report, name, uvd):
    """Sidereal times, apparent places and baseline coordinates against those from pyuvdata's own astrometry."""
    turned = lambda angle: np.abs((angle + np.pi) % (2 * np.pi) - np.pi)  # noqa: E731
    again = uvd.copy()
    with uvfits.quiet():
        again.set_lsts_from_time_array()
        again._set_app_coords_helper()
    rotation = ROTATION + ASTROMETRY
    report.within(f"{name} sidereal times", turned(again.lst_array - uvd.lst_array), rotation, " rad")
    ra = turned(again.phase_center_app_ra - uvd.phase_center_app_ra) * np.cos(uvd.phase_center_app_dec)
    report.within(f"{name} apparent right ascension", ra, rotation, " rad")
    dec = np.abs(again.phase_center_app_dec - uvd.phase_center_app_dec)
    report.within(f"{name} apparent declination", dec, rotation, " rad")
    north = turned(again.phase_center_frame_pa - uvd.phase_center_frame_pa)
    report.within(f"{name} north", north, uvfits.north_of_pyuvdata(uvd) + rotation, " rad")
    # With the places that the file has, its coordinates are those of its antenna positions.
    again = uvd.copy()
    with uvfits.quiet():
        again.set_uvws_from_antenna_positions(update_vis=False)
    longest = np.linalg.norm(uvd.uvw_array, axis=1).max()
    error = np.abs(again.uvw_array - uvd.uvw_array)
    report.within(f"{name} u, v, w of these places", error, NORTH * longest + POSITION, " m")


def check_uvfits_beside(report, name, uvd, path):
    """Every field against the UVFITS file of the same integrations."""
    other = uvfits.read(path)
    for key in "data_array flag_array nsample_array ant_1_array ant_2_array baseline_array polarization_array".split():
        report(np.array_equal(getattr(uvd, key), getattr(other, key)), f"{name} {key}", "as in UVFITS")
    for key in (
        "integration_time spw_array flex_spw_id_array Nants_data Nbls Nblts Nfreqs Npols Nspws Ntimes Nphase vis_units "
        "rdate timesys dut1 gst0 earth_omega"
    ).split():
        own, its = getattr(uvd, key), getattr(other, key)
        report(np.array_equal(own, its), f"{name} {key}", f"{np.ravel(own)[:1]}, as in UVFITS")
    for key in "name instrument Nants antenna_numbers antenna_names mount_type Nfeeds feed_array".split():
        own, its = getattr(uvd.telescope, key), getattr(other.telescope, key)
        report(np.array_equal(own, its), f"{name} telescope's {key}", f"{np.ravel(own)[:1]}, as in UVFITS")
    angles = np.abs(uvd.telescope.feed_angle - other.telescope.feed_angle)  # of float32 in UVFITS
    report.within(f"{name} feed angles", angles, 2.0**-24 * np.pi, " rad")
    rounding = 2.0**-50 * np.abs(uvd.freq_array).max()
    report.within(f"{name} frequencies", np.abs(uvd.freq_array - other.freq_array), rounding, " Hz")
    report.within(f"{name} channel widths", np.abs(uvd.channel_width - other.channel_width), rounding, " Hz")
    report.within(f"{name} times", np.abs(uvd.time_array - other.time_array), 2 * JULIAN_DATE, " d")
    bound = 2.0**-46 * np.abs(uvd.uvw_array).max()
    report.within(f"{name} uvw", np.abs(uvd.uvw_array - other.uvw_array), bound, " m")
    places = [telescope.antenna_positions + location(telescope) for telescope in (uvd.telescope, other.telescope)]
    report.within(f"{name} antenna positions", np.abs(places[0] - places[1]), POSITION, " m")
    own, its = (next(iter(data.phase_center_catalog.values())) for data in (uvd, other))
    for key in ("cat_name", "cat_type", "cat_frame", "cat_epoch"):
        report(own[key] == its[key], f"{name} {key}", f"{own[key]}, as in UVFITS")
    angle = max(abs(own[key] - its[key]) for key in ("cat_lon", "cat_lat"))
    report.within(f"{name} phase centre", angle, 1e-15, " rad")


def location(telescope):
    return np.array([axis.to_value("m") for axis in telescope.location.geocentric])


def check(report, path):
    name = path.name
    check_layout(report, name, path)
    try:
        uvd = read(path)
    except Exception as error:  # whatever pyuvdata does not like
        report(False, name, f"pyuvdata does not read it: {type(error).__name__}: {error}")
        return
    uvfits.check_numbers(report, name, uvd, np.load(path.with_suffix(".npz")))
    check_sky(report, name, uvd)
    check_uvfits_beside(report, name, uvd, path.with_suffix(".uvfits"))
    geometry = np.load(path.with_name(f"{path.stem}_geometry.npz"))
    uvfits.check_geometry(report, name, uvd, geometry)
    if uvd.Nants_data > 1:
        uvfits.check_phasing(report, name, uvd, geometry)


def expected_dump(dump, antennas, channels):
    """Visibilities and numbers of samples [baseline][channel][product] that append_uvh5 gives a dump."""
    ant1, ant2 = np.array([(a, b) for a in range(antennas) for b in range(a, antennas)]).T
    channel = np.arange(channels)
    data = np.empty((len(ant1), channels, 4), np.complex64)
    samples = np.empty(data.shape, np.float32)
    for product, (pol1, pol2) in enumerate(PRODUCTS):
        first, second = 2 * ant1 + pol1, 2 * ant2 + pol2
        high, low = np.maximum(first, second), np.minimum(first, second)
        place = high * (high + 1) // 2 + low
        real = dump % 1000 + 7 * (channel % 100)
        imaginary = (place % 4096)[:, None] - 3 * (channel % 50)
        imaginary[first == second] = 0
        # x_high conj(x_low), and the file has conj(x_first) x_second.
        data[:, :, product] = real + 1j * np.where((second >= first)[:, None], imaginary, -imaginary)
        samples[:, :, product] = (np.zeros_like(place) if dump % 5 == 4 else SPECTRA - place % 7)[:, None]
    return data, samples


def faults_of_killed(path, antennas, channels, flushed, checked):
    """What is wrong with a file of at least `flushed` dumps, of which `checked` have been looked at; and its dumps."""
    faults = []
    with h5py.File(path) as file:
        header, data = file["Header"], file["Data"]
        dumps, pairs = int(header["Ntimes"][()]), int(header["Nbls"][()])
        rows = dumps * pairs
        if dumps < flushed:
            faults.append(f"{dumps} dumps of {flushed} that were flushed")
        lengths = {key: header[key].shape[0] for key in GROWING} | {key: data[key].shape[0] for key in data}
        lengths["Nblts"] = int(header["Nblts"][()])
        faults += [f"{length} rows of {key}, not {rows}" for key, length in lengths.items() if length != rows]
        times = header["time_array"][()].reshape(dumps, pairs)
        seconds = (times - 2459945.5) * 86400
        expected = 72300 + (np.arange(dumps) + 0.5) * SPECTRA * SPACING / RATE_HZ
        if np.max(np.abs(seconds - expected[:, None]), initial=0) > 4 * JULIAN_DATE * 86400:
            faults.append("times")
        for dump in range(checked, dumps):
            part = slice(dump * pairs, (dump + 1) * pairs)
            visibilities, samples = expected_dump(dump, antennas, channels)
            if not np.array_equal(data["visdata"][part], visibilities):
                faults.append(f"visibilities of dump {dump}")
            if not np.array_equal(data["nsamples"][part], samples):
                faults.append(f"samples of dump {dump}")
            if not np.array_equal(data["flags"][part], samples == 0):
                faults.append(f"flags of dump {dump}")
    return faults, dumps


def check_killed(report, program, folder, shape):
    antennas, channels, per_flush = shape
    name = f"killed, {antennas} antennas, {channels} channels, {per_flush} dumps a flush"
    path = folder / f"killed-{antennas}.uvh5"
    command = [program, path, antennas, 2, channels, 10**9, per_flush]
    dumps = kills = 0
    faults = []
    for kill in range(12):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline().split()
        if first != ["flushed", str(dumps)]:
            faults.append(f"goes on after {first}, not after {dumps} dumps")
        try:
            process.communicate(timeout=random.Random(kill).uniform(0.02, 0.4))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        lines, _ = process.communicate()
        kills += process.returncode == -signal.SIGKILL
        told = [int(line.split()[1]) for line in (lines or "").splitlines() if line.startswith("flushed")]
        # A line that was cut off in its middle says less than was flushed.
        more, dumps = faults_of_killed(path, antennas, channels, max(told, default=dumps), dumps)
        faults += more
    report(kills == 12, name, f"{kills} of 12 runs killed")
    report(not faults and dumps > 0, name, f"{dumps} dumps whole" if not faults else "; ".join(faults[:5]))
    try:
        uvd = read(path)
        report(uvd.Ntimes == dumps, f"{name}, read by pyuvdata", f"{uvd.Ntimes} of {dumps} dumps")
        empty = uvd.flag_array.reshape(dumps, -1)[4::5]
        whole = empty.all() and not uvd.nsample_array.reshape(dumps, -1)[4::5].any()
        report(whole, f"{name}, dumps with nothing in them", f"{len(empty)}, flagged, at their times")
    except Exception as error:
        report(False, name, f"pyuvdata does not read it: {type(error).__name__}: {error}")


def check_full(report, program, folder):
    """A limit on the size of files fails a write as a full disk does."""
    path = folder / "full.uvh5"
    command = list(map(str, [program, path, 8, 2, 64, 10**6, 1]))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, 20_000_000))

    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    told = full.stdout.split()[-1]
    report(full.returncode == 1 and "File" in full.stderr, "full disk", full.stderr.strip()[:100])
    faults, dumps = faults_of_killed(path, 8, 64, int(told), 0)
    report(not faults and dumps > 10, "full disk", f"{dumps} dumps whole" if not faults else "; ".join(faults[:5]))
    command[5] = str(dumps + 20)
    subprocess.run(command, capture_output=True, check=True)
    faults, more = faults_of_killed(path, 8, 64, dumps + 20, dumps)
    report(not faults and more == dumps + 20, "room again", f"{more} dumps whole")


def check_joined(report, program, folder, shape):
    """Files of some channels each, joined: every value of it, and the bytes of a file that was written as one."""
    antennas, channels, dumps, parts = shape
    name = f"joined, {antennas} antennas, {channels} channels in {parts} parts"
    path, whole = folder / f"joined-{antennas}.uvh5", folder / f"whole-{antennas}.uvh5"
    for file, flush, count in [(path, 1, parts), (whole, dumps + 1, 1)]:
        command = [program, file, antennas, 2, channels, dumps, flush, count]
        subprocess.run(list(map(str, command)), capture_output=True, check=True)
    faults, there = faults_of_killed(path, antennas, channels, dumps, 0)
    report(not faults and there == dumps, name, f"{there} dumps whole" if not faults else "; ".join(faults[:5]))
    report(path.read_bytes() == whole.read_bytes(), name, "the bytes of a file that was not joined")
    check_layout(report, name, path)
    try:
        uvd, other = read(path), UVData()
        files = [path.with_name(f"{path.name}.{part}") for part in range(parts)]
        with uvfits.quiet():
            other.read(list(map(str, files)), file_type="uvh5", axis="freq")
            other.history = uvd.history  # pyuvdata's tells of the joining
            other.filename = uvd.filename
        report(uvd == other, f"{name}, read by pyuvdata", "as pyuvdata itself joins the parts")
    except Exception as error:
        report(False, name, f"pyuvdata does not read it: {type(error).__name__}: {error}")


def main(arguments):
    report = Report()
    count = 0
    for argument in map(pathlib.Path, arguments):
        if argument.is_file() and os.access(argument, os.X_OK):
            with tempfile.TemporaryDirectory() as folder:
                for shape in [(3, 8, 1), (16, 128, 3)]:
                    check_killed(report, argument.resolve(), pathlib.Path(folder), shape)
                check_full(report, argument.resolve(), pathlib.Path(folder))
                for shape in [(3, 8, 20, 3), (7, 200, 6, 2)]:
                    check_joined(report, argument.resolve(), pathlib.Path(folder), shape)
            count += 1
            continue
        paths = sorted(argument.rglob("*.uvh5")) if argument.is_dir() else [argument]
        for path in paths:
            check(report, path)
        count += len(paths)
    print(f"{count} files and programs, {report.passed} passed, {report.failed} failed")
    return 0 if count and report.failed == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
