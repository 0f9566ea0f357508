//! F-engine host API: PFB channelizer, narrowband down-conversion, gain and quantisation.

mod channelizer;
mod down_convert;
mod error;
mod quantise;
mod stream;

pub use channelizer::*;
#[allow(unused_imports)]
pub use down_convert::*;
pub use error::ChannelizerError;
pub use fringes_cpu::pfb::Window;
#[allow(unused_imports)]
pub use quantise::*;
pub use stream::*;
