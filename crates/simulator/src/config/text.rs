//! Values of `fringes-delay-model` as text.

use std::fmt::{Display, Write};
use std::str::FromStr;

use fringes_delay_model::{AntennaArray, Epoch, Positions, Source};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

fn read<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

pub(super) mod epoch {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(epoch: &Epoch, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(epoch)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Epoch, D::Error> {
        read(deserializer)
    }
}

pub(super) mod source {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(source: &Source, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&match *source {
            Source::RaDec { ra_rad, dec_rad } => {
                format!("{} {}", ra_rad.to_degrees().rem_euclid(360.0), dec_rad.to_degrees())
            }
            Source::HourAngle { hour_angle_rad, dec_rad } => {
                format!("ha {} {}", hour_angle_rad.to_degrees(), dec_rad.to_degrees())
            }
            Source::AzEl { azimuth_rad, elevation_rad } => {
                format!("azel {} {}", azimuth_rad.to_degrees(), elevation_rad.to_degrees())
            }
            _ => return Err(serde::ser::Error::custom("a kind of source that has no text")),
        })
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Source, D::Error> {
        read(deserializer)
    }
}

pub(super) mod array {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(array: &AntennaArray, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, positions): (_, Vec<[f64; 3]>) = match array.positions() {
            Positions::Enu(list) => ("enu", list.iter().map(|p| [p.east_m, p.north_m, p.up_m]).collect()),
            Positions::Itrf(list) => ("itrf", list.iter().map(|p| [p.x_m, p.y_m, p.z_m]).collect()),
        };
        let mut text = format!("# {kind}");
        if let Some(site) = array.site() {
            let (latitude, longitude) = (site.latitude_rad.to_degrees(), site.longitude_rad.to_degrees());
            let _ = write!(text, " {latitude} {longitude} {}", site.height_m);
        }
        for (name, [x, y, z]) in array.names().iter().zip(positions) {
            let _ = write!(text, "\n{name} {x} {y} {z}");
        }
        serializer.serialize_str(&text)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AntennaArray, D::Error> {
        read(deserializer)
    }
}
