//! The antennas of an array.

use super::position::dot;
use crate::{DelayModelError, Enu, Itrf, Site};

/// Positions of all antennas, in one of two kinds of coordinates.
#[derive(Debug, Clone, PartialEq)]
pub enum Positions {
    /// Local, relative to the array's site (if that is known).
    Enu(Vec<Enu>),
    /// Geocentric.
    Itrf(Vec<Itrf>),
}

impl Positions {
    /// Number of positions.
    pub fn len(&self) -> usize {
        match self {
            Positions::Enu(positions) => positions.len(),
            Positions::Itrf(positions) => positions.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Names and positions of an array's antennas, and where the array is.
///
/// It is read from text (`text.parse::<AntennaArray>()`), one antenna a line: `name x y z`, in metres.
///
/// ```text
/// # enu -30.7128 21.4438 1053.0
/// # name  east      north     up         comments are skipped
/// m000    -8.264  -207.290  8.597
/// m001     1.121  -171.762  8.471    # as is the rest of a line after a #
/// ```
///
/// A comment before the antennas that starts with `enu` or `itrf` says what the numbers are. Latitude and longitude are
/// in degrees, the height in metres; fields are separated by spaces, tabs or commas.
///
/// | header | x y z |
/// |---|---|
/// | `# enu LATITUDE LONGITUDE HEIGHT` | east, north, up of the site |
/// | `# enu` | east, north, up of an unknown site |
/// | `# itrf` | geocentric |
/// | `# itrf LATITUDE LONGITUDE HEIGHT` | geocentric, with the site to use instead of the mean position |
#[derive(Debug, Clone, PartialEq)]
pub struct AntennaArray {
    names: Vec<String>,
    positions: Positions,
    site: Option<Site>,
}

impl AntennaArray {
    /// An array of at least one antenna.
    ///
    /// `site` is the origin of ENU positions. Without it they have directions relative to each other but no place on
    /// the Earth. For ITRF positions without a site, the mean position is used.
    ///
    /// # Errors
    /// [`DelayModelError::NoAntennas`]; [`DelayModelError::Length`] if there are not as many names as positions;
    /// [`DelayModelError::DuplicateName`]; [`DelayModelError::NotFinite`] for a position; as [`Site::check`] and
    /// [`Site::from_itrf`].
    pub fn new(names: Vec<String>, positions: Positions, site: Option<Site>) -> Result<Self, DelayModelError> {
        if positions.is_empty() {
            return Err(DelayModelError::NoAntennas);
        }
        if names.len() != positions.len() {
            return Err(DelayModelError::Length {
                list: "antenna names",
                expected: positions.len(),
                actual: names.len(),
            });
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DelayModelError::DuplicateName { name: pair[0].clone() });
        }
        let site = match &positions {
            Positions::Enu(positions) => {
                positions.iter().enumerate().try_for_each(|(index, position)| position.check(index))?;
                site
            }
            Positions::Itrf(positions) => {
                positions.iter().enumerate().try_for_each(|(index, position)| position.check(index))?;
                Some(site.map_or_else(|| Site::from_itrf(mean(positions)), Ok)?)
            }
        };
        site.as_ref().map_or(Ok(()), Site::check)?;
        Ok(Self { names, positions, site })
    }

    /// An array with local positions, with antennas named `ant0`, `ant1`, ...
    ///
    /// # Errors
    /// As [`AntennaArray::new`].
    pub fn from_enu(positions: Vec<Enu>, site: Site) -> Result<Self, DelayModelError> {
        Self::new(default_names(positions.len()), Positions::Enu(positions), Some(site))
    }

    /// An array with geocentric positions, with antennas named `ant0`, `ant1`, ... and the site in their middle.
    ///
    /// # Errors
    /// As [`AntennaArray::new`].
    pub fn from_itrf(positions: Vec<Itrf>) -> Result<Self, DelayModelError> {
        Self::new(default_names(positions.len()), Positions::Itrf(positions), None)
    }

    /// Number of antennas, at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty, by construction
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Names of the antennas.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Positions as they were given.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// The site, if it is known (always for ITRF positions).
    pub fn site(&self) -> Option<Site> {
        self.site
    }

    /// The site.
    ///
    /// # Errors
    /// [`DelayModelError::NoSite`] for ENU positions without one.
    pub fn require_site(&self) -> Result<Site, DelayModelError> {
        self.site.ok_or(DelayModelError::NoSite)
    }

    /// Geocentric positions.
    ///
    /// # Errors
    /// [`DelayModelError::NoSite`] for ENU positions without a site.
    pub fn itrf(&self) -> Result<Vec<Itrf>, DelayModelError> {
        let site = self.require_site()?;
        match &self.positions {
            Positions::Enu(positions) => positions.iter().map(|&position| site.enu_to_itrf(position)).collect(),
            Positions::Itrf(positions) => Ok(positions.clone()),
        }
    }

    /// Local positions, relative to the site.
    ///
    /// # Errors
    /// As [`Site::itrf_to_enu`].
    pub fn enu(&self) -> Result<Vec<Enu>, DelayModelError> {
        match &self.positions {
            Positions::Enu(positions) => Ok(positions.clone()),
            Positions::Itrf(positions) => {
                let site = self.require_site()?;
                positions.iter().map(|&position| site.itrf_to_enu(position)).collect()
            }
        }
    }

    /// Positions minus the site's in ITRF axes. Local positions are only rotated, so that they lose no digits to the
    /// size of the Earth.
    pub(crate) fn offsets(&self) -> Result<Vec<[f64; 3]>, DelayModelError> {
        let site = self.require_site()?;
        match &self.positions {
            Positions::Enu(positions) => Ok(positions.iter().map(|p| site.local_to_earth(p.vector())).collect()),
            Positions::Itrf(positions) => positions.iter().map(|&position| site.offset(position)).collect(),
        }
    }

    /// The longest distance between two antennas in metres (0 for one antenna).
    pub fn longest_baseline_m(&self) -> f64 {
        let vectors: Vec<[f64; 3]> = match &self.positions {
            Positions::Enu(positions) => positions.iter().map(|p| p.vector()).collect(),
            Positions::Itrf(positions) => positions.iter().map(|p| p.vector()).collect(),
        };
        let mut longest = 0.0_f64;
        for (index, a) in vectors.iter().enumerate() {
            for b in &vectors[..index] {
                let difference: [f64; 3] = std::array::from_fn(|i| a[i] - b[i]);
                longest = longest.max(dot(difference, difference).sqrt());
            }
        }
        longest
    }
}

fn default_names(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("ant{index}")).collect()
}

fn mean(positions: &[Itrf]) -> Itrf {
    let count = positions.len() as f64;
    let sum = positions.iter().fold([0.0; 3], |sum, p| [sum[0] + p.x_m, sum[1] + p.y_m, sum[2] + p.z_m]);
    Itrf { x_m: sum[0] / count, y_m: sum[1] / count, z_m: sum[2] / count }
}
