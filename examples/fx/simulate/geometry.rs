//! Where the simulated source is and when its wave arrives: a few lines of spherical trigonometry of their own, so that
//! the directions which the signal path recovers are compared with something that shares no code with it.
//!
//! Positions are east, north, up (ENU) in metres. Directions are unit vectors in the same frame, or direction cosines
//! `(l, m)` towards east and north on the sky, relative to the phase centre.

/// Speed of light in vacuum in m/s.
pub(crate) const LIGHT_M_PER_S: f64 = 299_792_458.0;

/// Rotation of the Earth relative to the stars in rad/s.
const EARTH_RAD_PER_S: f64 = 7.292_115e-5;

/// A source that drifts in a straight line through the tracked field.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    /// Geodetic latitude of the array in radians.
    pub(crate) latitude_rad: f64,
    /// Hour angle of the phase centre at time 0 in radians.
    pub(crate) hour_angle_rad: f64,
    /// Declination of the phase centre in radians.
    pub(crate) dec_rad: f64,
    /// Direction cosines of the source at time 0.
    pub(crate) lm: [f64; 2],
    /// Their change per second.
    pub(crate) lm_per_s: [f64; 2],
}

impl Track {
    /// Direction cosines of the source `seconds` after the start.
    pub(crate) fn lm_at(&self, seconds: f64) -> [f64; 2] {
        [self.lm[0] + self.lm_per_s[0] * seconds, self.lm[1] + self.lm_per_s[1] * seconds]
    }

    /// Unit vector (ENU) to the source `seconds` after the start.
    fn direction(&self, seconds: f64) -> [f64; 3] {
        let [l, m] = self.lm_at(seconds);
        let n = (1.0 - l * l - m * m).max(0.0).sqrt();
        let (sin_h, cos_h) = (self.hour_angle_rad + EARTH_RAD_PER_S * seconds).sin_cos();
        let (sin_dec, cos_dec) = self.dec_rad.sin_cos();
        let (sin_lat, cos_lat) = self.latitude_rad.sin_cos();
        // The phase centre and its derivatives by right ascension (over the cosine of the declination) and declination.
        let centre = [
            -cos_dec * sin_h,
            sin_dec * cos_lat - cos_dec * cos_h * sin_lat,
            sin_dec * sin_lat + cos_dec * cos_h * cos_lat,
        ];
        let east = [cos_h, -sin_h * sin_lat, sin_h * cos_lat];
        let north = [
            sin_dec * sin_h,
            cos_dec * cos_lat + sin_dec * cos_h * sin_lat,
            cos_dec * sin_lat - sin_dec * cos_h * cos_lat,
        ];
        std::array::from_fn(|axis| l * east[axis] + m * north[axis] + n * centre[axis])
    }

    /// How much earlier than at the origin the wave reaches `position`, in seconds, `seconds` after the start.
    pub(crate) fn advance_seconds(&self, position: [f64; 3], seconds: f64) -> f64 {
        let direction = self.direction(seconds);
        position.iter().zip(direction).map(|(metres, cosine)| metres * cosine).sum::<f64>() / LIGHT_M_PER_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_on_the_meridian_at_the_zenith_reaches_a_raised_antenna_first() {
        let track = Track { latitude_rad: 0.5, hour_angle_rad: 0.0, dec_rad: 0.5, lm: [0.0; 2], lm_per_s: [0.0; 2] };
        assert!((track.advance_seconds([5.0, 7.0, LIGHT_M_PER_S], 0.0) - 1.0).abs() < 1e-7);
    }

    #[test]
    fn positive_l_is_east_of_the_meridian() {
        let track = Track { latitude_rad: 0.5, hour_angle_rad: 0.0, dec_rad: 0.5, lm: [0.1, 0.0], lm_per_s: [0.0; 2] };
        assert!((track.direction(0.0)[0] - 0.1).abs() < 1e-12);
    }
}
