//! F-engine host API: PFB channelizer, narrowband down-conversion, gain and quantisation.

mod channelizer;
mod down_convert;
mod error;
mod quantise;
mod stream;
