//! Any bytes as VDIF: errors, but no panic and no memory that the bytes do not warrant.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fringes_fuzz::read_everything(fringes_io::read::FileFormat::Vdif, bytes);
});
