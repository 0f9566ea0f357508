//! Any bytes as SPEAD packets: errors, but no panic and no memory that the limits do not allow.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fringes_fuzz::receive_everything(bytes);
});
