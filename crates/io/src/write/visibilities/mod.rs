//! What files of visibilities have in common: the header, an integration, pairs of antennas and their products.

mod checks;
mod header;
mod integration;
mod pairs;

pub use header::{VisibilityAntenna, VisibilityHeader};
pub use integration::VisibilityIntegration;

pub(super) use checks::{check_finite, check_text};
pub(super) use header::DEGREES_PER_DAY;
pub(super) use integration::{TimedIntegration, Weights};
pub(super) use pairs::{PairProduct, finite_or_flagged, pair_count, pair_products, pairs, transpose};
