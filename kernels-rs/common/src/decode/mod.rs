//! Packed samples to numbers.
//!
//! Integers are two's complement of 2 to 16 bits without padding: big-endian (packed samples; i8), or little-endian in
//! halves of words (i16). Words are brought into the order of their bits ([`in_order`]) and shifted to the first bit.
//!
//! | form | numbers at a time | of bits | give | for |
//! |---|---|---|---|---|
//! | [`four`] | 4 neighbours | 2 to 16 | f32 `x / 2^B`, or the bits at the top of words | any plan; statistics |
//! | [`two`] | 2 neighbours | 2 to 11 | f32, scaled by the place | the filter by itself |
//! | [`eight`] | 8 neighbours of two rows | 2 to 10 | f16 in pairs | the F-engine's products on tensor cores |
//! | [`sixteen`] | 16 neighbours | 8, 10, 12, 16 | f16 in pairs | down-conversion on tensor cores; statistics |
//!
//! f16 and f32 come four at a time as well ([`four::halves`]).

pub mod eight;
pub mod four;
pub mod sixteen;
pub mod two;

use fringes_device::arithmetic::prmt_b32;

/// Bytes of a big-endian word in the order of bits, as `prmt` takes it.
pub const BIG_ENDIAN: u32 = 0x0123;

/// Bytes of a word of two little-endian halves in the order of bits, as `prmt` takes it.
pub const LITTLE_ENDIAN_HALVES: u32 = 0x1032;

/// Bytes of a word as they are, as `prmt` takes it.
pub const AS_THEY_ARE: u32 = 0x3210;

/// A word with its bytes in an order.
///
/// # PTX
/// `prmt.b32`
#[inline(always)]
pub fn in_order(word: u32, order: u32) -> u32 {
    prmt_b32(word, 0, order)
}
