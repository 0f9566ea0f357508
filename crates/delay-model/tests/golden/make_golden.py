"""Writes directions.txt and uvw.txt: directions, sidereal times and uvw computed by astropy and pyuvdata.

    pip install astropy==8.0.* pyuvdata==3.2.*
    python make_golden.py

Earth orientation is given in every row and takes the place of astropy's IERS table, so that none is needed. Both programs use ERFA underneath, as the crate under test uses a port of
SOFA; the chain of frames around it is their own.
"""

from pathlib import Path

import astropy.units as u
import numpy as np
from astropy.coordinates import AltAz, EarthLocation, HADec, SkyCoord
from astropy.time import Time
from astropy.utils import iers
from pyuvdata.utils import phasing

iers.conf.auto_download = False

ARCSEC = np.pi / 180 / 3600
BASELINE_ENU = np.array([1234.5, -678.9, 12.3])

# latitude and longitude in degrees, height in metres
SITES = {
    "meerkat": (-30.7128, 21.4438, 1053.0),
    "vla": (34.0790, -107.6177, 2115.0),
    "effelsberg": (50.5248, 6.8836, 416.7),
    "near pole": (-89.99, 45.0, 2800.0),
}
# ICRS right ascension and declination in degrees
SOURCES = {"crab": (83.633125, 22.0145), "hydra": (139.523615, -12.095543), "pole": (37.95, 89.2641), "south": (0.1, -72.0)}
# Modified Julian day, seconds, UT1-UTC (s), polar motion x and y (arcseconds)
INSTANTS = [
    (51544, 43200.0, 0.0, 0.0, 0.0),
    (57750, 86399.5, -0.4078, 0.0776, 0.2716),
    (60310, 12345.678901, 0.0, 0.0, 0.0),
    (60800, 70000.25, 0.0273, 0.0991, 0.4312),
    (61404, 1.0, 0.0, 0.0, 0.0),
]


class Orientation(iers.IERS):
    """Earth orientation that does not change: UT1-UTC in seconds, polar motion in arcseconds, no pole offsets."""

    def __init__(self, dut1, x, y):
        super().__init__()
        self.values = dut1 * u.s, x * u.arcsec, y * u.arcsec

    def answer(self, values, time, return_status):
        shape = np.shape(time.jd1 if isinstance(time, Time) else time)
        values = [np.zeros(shape) + value for value in values]
        if return_status:
            values.append(np.full(shape, iers.FROM_IERS_A))
        return values[0] if len(values) == 1 else tuple(values)

    def ut1_utc(self, jd1, jd2=0.0, return_status=False):
        return self.answer(self.values[:1], jd1, return_status)

    def pm_xy(self, jd1, jd2=0.0, return_status=False):
        return self.answer(self.values[1:], jd1, return_status)

    def dcip_xy(self, jd1, jd2=0.0, return_status=False):
        return self.answer((0 * u.arcsec, 0 * u.arcsec), jd1, return_status)


def enu(coordinate):
    az, alt = coordinate.az.rad, coordinate.alt.rad
    return np.array([np.cos(alt) * np.sin(az), np.cos(alt) * np.cos(az), np.sin(alt)])


def row(values):
    return " ".join(repr(float(value)) for value in values) + "\n"


def main():
    folder = Path(__file__).parent
    directions = ["# latitude longitude (deg) height (m) | ra dec (rad, ICRS) | mjd seconds dut1 (s) xp yp (rad) |"
                  " azimuth elevation hour-angle declination sidereal-time (rad) | ITRF x y z of the site (m) |"
                  " u v w (m) of the ENU baseline 1234.5 -678.9 12.3\n"]
    uvws = ["# latitude longitude (deg) height (m) | ra dec (rad, ICRS) | mjd seconds (dut1, xp, yp 0) |"
            " u v w (m) of the ENU baseline 1234.5 -678.9 12.3, by pyuvdata\n"]
    for latitude, longitude, height in SITES.values():
        location = EarthLocation.from_geodetic(longitude * u.deg, latitude * u.deg, height * u.m)
        for ra, dec in SOURCES.values():
            for day, seconds, dut1, xp, yp in INSTANTS:
                iers.earth_orientation_table.set(Orientation(dut1, xp, yp))
                time = Time(day, seconds / 86400, format="mjd", scale="utc", location=location)
                source = SkyCoord(ra * u.deg, dec * u.deg, frame="icrs")
                # 1e-5 rad further along the great circle to the pole of the ICRS
                north = source.directional_offset_by(0 * u.deg, 1e-5 * u.rad)
                horizon = AltAz(obstime=time, location=location)
                azel = source.transform_to(horizon)
                hadec = source.transform_to(HADec(obstime=time, location=location))
                sidereal = time.sidereal_time("apparent")
                w_axis = enu(azel)
                v_axis = enu(north.transform_to(horizon))
                v_axis -= w_axis * (v_axis @ w_axis)
                v_axis /= np.linalg.norm(v_axis)
                u_axis = np.cross(v_axis, w_axis)
                place = [latitude, longitude, height, np.radians(ra), np.radians(dec)]
                directions.append(row(
                    place + [day, seconds, dut1, xp * ARCSEC, yp * ARCSEC]
                    + [azel.az.rad, azel.alt.rad, hadec.ha.rad, hadec.dec.rad, sidereal.rad]
                    + [location.x.value, location.y.value, location.z.value]
                    + [axis @ BASELINE_ENU for axis in (u_axis, v_axis, w_axis)]))
                if (dut1, xp, yp) != (0, 0, 0):
                    continue
                app_ra, app_dec = phasing.calc_app_coords(
                    lon_coord=np.radians(ra), lat_coord=np.radians(dec), coord_frame="icrs", coord_type="sidereal",
                    time_array=np.array([time.utc.jd]), lst_array=np.array([sidereal.rad]), telescope_loc=location)
                app_ra, app_dec = np.atleast_1d(app_ra), np.atleast_1d(app_dec)
                frame_pa = phasing.calc_frame_pos_angle(
                    time_array=np.array([time.utc.jd]), app_ra=app_ra, app_dec=app_dec, telescope_loc=location,
                    ref_frame="icrs", offset_pos=1e-7)
                # pyuvdata's baselines run from antenna 1 to antenna 2; positions are ITRF axes relative to the site.
                lat, lon = np.radians(latitude), np.radians(longitude)
                axes = np.array([
                    [-np.sin(lon), np.cos(lon), 0],
                    [-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)],
                    [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]])
                uvw = phasing.calc_uvw(
                    app_ra=app_ra, app_dec=app_dec, frame_pa=frame_pa, lst_array=np.array([sidereal.rad]),
                    use_ant_pos=True, antenna_positions=np.array([[0.0, 0, 0], BASELINE_ENU @ axes]),
                    antenna_numbers=np.array([0, 1]), ant_1_array=np.array([0]), ant_2_array=np.array([1]),
                    telescope_lat=lat, telescope_lon=lon)
                uvws.append(row(place + [day, seconds] + list(uvw[0])))
    (folder / "directions.txt").write_text("".join(directions))
    (folder / "uvw.txt").write_text("".join(uvws))


if __name__ == "__main__":
    main()
