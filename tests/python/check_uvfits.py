"""Opens UVFITS files with pyuvdata, and finds the numbers that were written.

    cargo run -p fringes-tools -- write-uvfits --out simulated
    python check_uvfits.py simulated                        # a folder, or files

Each NAME.uvfits is compared with the NAME.npz beside it: visibilities, weights, flags, frequencies, times; and its
baseline coordinates with those that pyuvdata computes from the antenna positions and the phase centre. Where there is a
NAME_geometry.npz (from the example write_uvfits), everything is also compared with that, and pyuvdata turns the phase
centre to the simulated source. The phases must then be flat, which they are only if conjugation and uvw have the right
signs; on the conjugated data the same check must fail.

Prints one line with the largest error and its bound for each comparison. Exit status 1 if one fails.
"""

import contextlib
import pathlib
import sys
import warnings

import numpy as np
from astropy.utils import iers

# The files say UT1 = UTC and no polar motion, and so must astropy: a table of zeros, and no download of another.
iers.conf.auto_download = False
NO_EARTH_ORIENTATION = iers.IERS_B.open()
for column in NO_EARTH_ORIENTATION.colnames:
    if column.startswith(("UT1_UTC", "PM_", "dX_", "dY_")):
        NO_EARTH_ORIENTATION[column][:] = 0
iers.earth_orientation_table.set(NO_EARTH_ORIENTATION)

from pyuvdata import UVData  # noqa: E402 (astropy must be set up first)

SPEED_OF_LIGHT = 299792458.0
# A Julian date in float64 is a multiple of 2^-31 days, 40 microseconds; its rounding is half of that, and the rotation
# of the Earth in that time moves a baseline's coordinates by at most 7.3e-5 rad/s * 20 us of its length.
JULIAN_DATE = 2.0**-32
ROTATION = 7.3e-5 * JULIAN_DATE * 86400
# Antenna positions go through latitude and longitude in pyuvdata: roundings of 1e-9 m at the size of the Earth.
POSITION = 1e-8
# The astrometry of two programs: milliarcseconds.
ASTROMETRY = 5e-9
# The names of the products in the file, and the polarisations of their first and second antenna.
PRODUCTS = {-5: (0, 0), -6: (1, 1), -7: (0, 1), -8: (1, 0)}


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, passed, name, text):
        self.passed += bool(passed)
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {name}: {text}", flush=True)

    def within(self, name, error, bound, unit=""):
        error = float(np.max(error, initial=0.0))
        self(error <= bound, name, f"largest error {error:.3g}{unit}, bound {bound:.3g}{unit}")


def read(path):
    """The file as pyuvdata sees it, checked by pyuvdata. Its warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        return UVData.from_file(
            str(path),
            file_type="uvfits",
            run_check=True,
            check_extra=True,
            strict_uvw_antpos_check=True,
            fix_autos=False,
        )


def expected_data(cube, uvd):
    """Visibilities and weights of the npz in pyuvdata's shape [baseline-time][channel][product].

    pyuvdata's are sum conj(x_1) x_2: the file's, conjugated.
    """
    pairs = {tuple(pair): position for position, pair in enumerate(cube["baseline_inputs"].tolist())}
    products = [PRODUCTS[product] for product in uvd.polarization_array]
    pols = 2 if len(products) == 4 else 1
    times = np.unique(uvd.time_array)
    integration = np.searchsorted(times, uvd.time_array)
    data = np.empty(uvd.data_array.shape, np.complex64)
    weights = np.empty(uvd.data_array.shape, np.float32)
    for product, (pol1, pol2) in enumerate(products):
        first = (uvd.ant_1_array - 1) * pols + pol1
        second = (uvd.ant_2_array - 1) * pols + pol2
        high, low = np.maximum(first, second), np.minimum(first, second)
        position = np.array([pairs[pair] for pair in zip(high.tolist(), low.tolist())])
        held = cube["vis"][integration, :, position]  # x_high conj(x_low)
        data[:, :, product] = np.where((second >= first)[:, None], held, held.conj())
        weights[:, :, product] = cube["weight"][integration, position][:, None]
    return data, weights


def check_numbers(report, name, uvd, cube):
    integrations, channels, baselines = cube["vis"].shape
    inputs = int(cube["baseline_inputs"].max()) + 1
    report(baselines == inputs * (inputs + 1) // 2, f"{name} baselines", f"{baselines} of {inputs} inputs")
    pols = 2 if len(uvd.polarization_array) == 4 else 1
    antennas = inputs // pols
    expected = (integrations * antennas * (antennas + 1) // 2, channels, pols * pols)
    report(uvd.data_array.shape == expected, f"{name} shape", f"{uvd.data_array.shape}, expected {expected}")
    report(uvd.vis_units == "uncalib", f"{name} units", uvd.vis_units)
    data, weights = expected_data(cube, uvd)
    finite = np.isfinite(data)
    report.within(f"{name} visibilities", np.abs(uvd.data_array - data)[finite], 0)
    report.within(f"{name} weights", np.abs(uvd.nsample_array - np.abs(weights)), 0)
    flags = (weights <= 0) | ~finite
    report(np.array_equal(uvd.flag_array, flags), f"{name} flags", f"{flags.sum()} of {flags.size} flagged")
    freq_hz = cube["freq_hz"]
    rounding = 2.0**-50 * np.abs(freq_hz).max()
    report.within(f"{name} frequencies", np.abs(uvd.freq_array - freq_hz), rounding, " Hz")
    report.within(f"{name} channel widths", np.abs(uvd.channel_width[1:] - np.diff(freq_hz)), rounding, " Hz")
    seconds = (np.unique(uvd.time_array) - uvd.time_array.min()) * 86400
    apart = cube["time_s"] - cube["time_s"][0]
    report.within(f"{name} times apart", np.abs(seconds - apart), 4 * JULIAN_DATE * 86400, " s")


def north_of_pyuvdata(uvd):
    """How far pyuvdata's north may be turned, in radians.

    It takes the angle between the north of date and that of the catalogue from a great circle that begins half a degree
    to the south of the phase centre, at its beginning. Going along it to the phase centre, that angle changes by its
    sine times the convergence of the meridians; and the bending by aberration (1e-4 rad) changes by as much of itself.
    """
    half = np.radians(0.5)
    meridians = np.tan(np.abs(uvd.phase_center_app_dec).max() + half)
    return half * (np.abs(np.sin(uvd.phase_center_frame_pa)).max() * meridians + 1e-4)


def check_coordinates(report, name, uvd):
    """Baseline coordinates against those from pyuvdata's own astrometry."""
    again = uvd.copy()
    with quiet():
        again.set_uvws_from_antenna_positions(update_vis=False)
    error = np.abs(again.uvw_array - uvd.uvw_array)
    longest = np.linalg.norm(uvd.uvw_array, axis=1).max()
    north = north_of_pyuvdata(uvd)
    report.within(f"{name} u, v of pyuvdata", error[:, :2], (north + ASTROMETRY + ROTATION) * longest + POSITION, " m")
    report.within(f"{name} w of pyuvdata", error[:, 2], (ASTROMETRY + ROTATION) * longest + POSITION, " m")


def check_geometry(report, name, uvd, geometry):
    array = [axis.to_value("m") for axis in uvd.telescope.location.geocentric]
    positions = uvd.telescope.antenna_positions + array
    report.within(f"{name} antenna positions", np.abs(positions - geometry["antenna_itrf_m"]), POSITION, " m")
    uvw = geometry["uvw_m"]
    times = np.unique(uvd.time_array)
    integration = np.searchsorted(times, uvd.time_array)
    baseline = uvw[integration, uvd.ant_2_array - 1] - uvw[integration, uvd.ant_1_array - 1]
    # The sum of two float32 is good to 2^-48, and the unit is turned from metres to seconds and back.
    report.within(f"{name} uvw as written", np.abs(uvd.uvw_array - baseline), 2.0**-46 * np.abs(uvw).max(), " m")
    expected = 2400000.5 + (geometry["mjd_day"] + geometry["mid_seconds"] / 86400)
    report.within(f"{name} times", np.abs(times - expected), 4 * JULIAN_DATE, " d")
    report.within(f"{name} integration time", np.abs(uvd.integration_time - geometry["integration_s"]), 0, " s")
    centre = next(iter(uvd.phase_center_catalog.values()))
    place = np.array([centre["cat_lon"], centre["cat_lat"]])
    report.within(f"{name} phase centre", np.abs(place - geometry["phase_centre_rad"]), 1e-15, " rad")


def phases(uvd, geometry):
    """Phases of the cross-correlations beyond the products' own, where they are not flagged, and their bound."""
    response = geometry["response"]
    cross = uvd.ant_1_array != uvd.ant_2_array
    errors, bounds = [], []
    longest = np.linalg.norm(uvd.uvw_array, axis=1).max()
    # Both programs' w enter, at the old and at the new phase centre.
    metres = 2 * ((ASTROMETRY + ROTATION) * longest + POSITION)
    for product, code in enumerate(uvd.polarization_array):
        pol1, pol2 = PRODUCTS[code]
        strength = np.conj(response[pol1]) * response[pol2]
        kept = ~uvd.flag_array[cross][:, :, product]
        errors.append(np.abs(np.angle(uvd.data_array[cross][:, :, product] / strength))[kept])
        # Six standard deviations of the noise, and what the coordinates allow.
        noise = 6 * float(geometry["noise"][0]) / abs(strength)
        bounds.append(noise + 2 * np.pi * uvd.freq_array.max() / SPEED_OF_LIGHT * metres)
    return errors, bounds


def check_phasing(report, name, uvd, geometry):
    """Turns the phase centre to the source: the phases must be flat; and not so if the data are conjugated."""
    before, bounds = phases(uvd, geometry)
    conjugated = uvd.copy()
    conjugated.data_array = conjugated.data_array.conj()
    ra, dec = geometry["source_rad"]
    for data in (uvd, conjugated):
        with quiet():
            data.phase(lon=ra, lat=dec, phase_frame="icrs", epoch=2000.0, cat_name="Source")
    after, _ = phases(uvd, geometry)
    wrong, _ = phases(conjugated, geometry)
    for code, at_first, flat, negative, bound in zip(uvd.polarization_array, before, after, wrong, bounds):
        product = f"{name} product {code}"
        mean = at_first.mean()  # pi / 2 if they are spread evenly
        report(mean > 1, f"{product} before phasing", f"phases are {mean:.3g} rad on average, above 1")
        report(flat.size > 0, f"{product} phased to the source", f"{flat.size} values that are not flagged")
        report.within(f"{product} phased to the source", flat, bound, " rad")
        beyond = 100 * np.mean(negative > bound)
        report(beyond > 50, f"{product} conjugated", f"{beyond:.0f} % of the phases exceed the bound, as they must")


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(report, path):
    try:
        uvd = read(path)
    except Exception as error:  # whatever pyuvdata does not like
        report(False, path.name, f"pyuvdata does not read it: {type(error).__name__}: {error}")
        return
    cube_path = path.with_suffix(".npz")
    if cube_path.exists():
        check_numbers(report, path.name, uvd, np.load(cube_path))
    else:
        report(False, path.name, f"there is no {cube_path.name} beside it")
    check_coordinates(report, path.name, uvd)
    geometry_path = path.with_name(f"{path.stem}_geometry.npz")
    if geometry_path.exists():
        geometry = np.load(geometry_path)
        check_geometry(report, path.name, uvd, geometry)
        if uvd.Nants_data > 1:
            check_phasing(report, path.name, uvd, geometry)


def main(arguments):
    report = Report()
    paths = []
    for argument in map(pathlib.Path, arguments):
        paths += sorted(argument.rglob("*.uvfits")) if argument.is_dir() else [argument]
    for path in paths:
        check(report, path)
    print(f"{len(paths)} files, {report.passed} passed, {report.failed} failed")
    return 0 if paths and report.failed == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
