//! Reading antenna tables; the notation is in the documentation of [`AntennaArray`].

use std::collections::HashSet;
use std::str::FromStr;

use super::array::Positions;
use crate::{AntennaArray, DelayModelError, Enu, Itrf, Site};

/// Reads an antenna table in the notation of [`AntennaArray`].
///
/// # Errors
/// [`DelayModelError::Table`] with the number of the line, and as [`AntennaArray::new`].
impl FromStr for AntennaArray {
    type Err = DelayModelError;

    fn from_str(text: &str) -> Result<Self, DelayModelError> {
        let mut header: Option<Header> = None;
        let mut names: Vec<String> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut positions: Vec<[f64; 3]> = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // a byte-order mark
        for (index, content) in text.lines().enumerate() {
            let line = index + 1;
            let (data, comment) = content.split_once('#').map_or((content, None), |(data, rest)| (data, Some(rest)));
            let fields = split(data);
            let found =
                comment.filter(|_| fields.is_empty()).map_or(Ok(None), |comment| Header::read(comment, line))?;
            if found.is_some() && header.is_some() {
                return Err(wrong(line, "one header `# enu` or `# itrf`", content));
            }
            header = header.or(found);
            if fields.is_empty() {
                continue;
            }
            if header.is_none() {
                return Err(wrong(
                    line,
                    "a header `# enu LATITUDE LONGITUDE HEIGHT` or `# itrf` before the antennas",
                    content,
                ));
            }
            let &[name, x, y, z] = fields.as_slice() else {
                return Err(wrong(line, "four fields: name x y z", content));
            };
            if !seen.insert(name) {
                return Err(wrong(line, "a name that was not used before", name));
            }
            names.push(name.to_owned());
            positions.push([number(x, line)?, number(y, line)?, number(z, line)?]);
        }
        let Some(Header { itrf, site }) = header else { return Err(DelayModelError::NoAntennas) };
        let positions = if itrf {
            Positions::Itrf(positions.into_iter().map(|[x_m, y_m, z_m]| Itrf { x_m, y_m, z_m }).collect())
        } else {
            Positions::Enu(positions.into_iter().map(|[east_m, north_m, up_m]| Enu { east_m, north_m, up_m }).collect())
        };
        AntennaArray::new(names, positions, site)
    }
}

struct Header {
    itrf: bool,
    site: Option<Site>,
}

impl Header {
    /// The header in a comment, or `None` if it is another comment.
    fn read(comment: &str, line: usize) -> Result<Option<Self>, DelayModelError> {
        let fields = split(comment);
        let (itrf, site) = match fields.split_first() {
            Some((&"enu", site)) => (false, site),
            Some((&"itrf", site)) => (true, site),
            _ => return Ok(None),
        };
        let site = match *site {
            [] => None,
            [latitude, longitude, height] => {
                let [latitude, longitude, height] =
                    [number(latitude, line)?, number(longitude, line)?, number(height, line)?];
                let site = Site::from_degrees(latitude, longitude, height);
                Some(site.map_err(|_| {
                    wrong(line, "a latitude, longitude (degrees) and height (metres) on the Earth", comment)
                })?)
            }
            _ => return Err(wrong(line, "nothing or LATITUDE LONGITUDE HEIGHT after `enu` or `itrf`", comment)),
        };
        Ok(Some(Self { itrf, site }))
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|field| !field.is_empty()).collect()
}

fn number(field: &str, line: usize) -> Result<f64, DelayModelError> {
    field.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| wrong(line, "a finite number", field))
}

fn wrong(line: usize, expected: &'static str, actual: &str) -> DelayModelError {
    // A line of a file that is no antenna table may be very long.
    let actual: String = actual.trim().chars().take(80).collect();
    DelayModelError::Table { line, expected, actual }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_header_and_comments() {
        let text = "# two antennas\n# enu -30.7128 21.4438 1053\n\nm000 -8.264, -207.290 8.597\nm001\t1.121 -171.762 8.471 # near\n";
        let array: AntennaArray = text.parse().unwrap();
        assert_eq!(array.names(), ["m000", "m001"]);
        assert_eq!(array.site(), Some(Site::from_degrees(-30.7128, 21.4438, 1053.0).unwrap()));
        assert_eq!(array.enu().unwrap()[1], Enu { east_m: 1.121, north_m: -171.762, up_m: 8.471 });
        let array: AntennaArray =
            "#itrf\na,5109360.0,2006852.0,-3238948.0\r\nb,5109361.0,2006852.0,-3238948.0".parse().unwrap();
        assert_eq!(array.itrf().unwrap()[1].x_m, 5_109_361.0);
        assert_eq!(array.longest_baseline_m(), 1.0);
        let array: AntennaArray = "# enu\na 0 0 0".parse().unwrap();
        assert_eq!((array.site(), array.itrf()), (None, Err(DelayModelError::NoSite)));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [
            ("a 0 0 0", 1),
            ("# enu 1 2\na 0 0 0", 1),
            ("# enu 91 0 0\na 0 0 0", 1),
            ("# enu\n\na 0 0", 3),
            ("# enu\na 0 0 0 0", 2),
            ("# enu\na 0 0 x", 2),
            ("# enu\na 0 0 nan", 2),
            ("# enu\na 0 0 0\na 1 1 1", 3),
            ("# enu\na 0 0 0\n# itrf", 3),
        ] {
            let error = text.parse::<AntennaArray>().unwrap_err();
            assert!(matches!(error, DelayModelError::Table { line: found, .. } if found == line), "{text:?}: {error}");
        }
        for text in ["", "# enu", "# hello"] {
            assert_eq!(text.parse::<AntennaArray>(), Err(DelayModelError::NoAntennas));
        }
        assert!(matches!("# itrf\na 0 0 0".parse::<AntennaArray>(), Err(DelayModelError::OutOfRange { .. })));
    }
}
