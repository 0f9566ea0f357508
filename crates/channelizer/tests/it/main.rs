//! The integration tests of `fringes-channelizer`, one program.

mod bank;
mod channelize;
mod channelize_stream;
mod delayed;
mod design;
mod down_convert;
mod down_convert_errors;
mod down_converted_types;
mod quantise;
mod retunes;
