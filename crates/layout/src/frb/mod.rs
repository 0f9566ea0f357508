//! The verification of the FRB beamformer's [register assignments](crate::frb::ASSIGNMENT): everything that their
//! source says of them, claim by claim, for every element.
//!
//! | claim | how it is verified |
//! |---|---|
//! | fragments (39)-(44) | compared with the [atoms](crate::atoms) |
//! | factorisation (7) holds every needed pair of bits once | counted |
//! | assignments (13)-(28) are consistent | every element of every product is looked up in the layouts of its three operands |
//! | the transform is (1) | the whole of it is computed from the registers in f64 and compared with the sum itself |
//! | arrays of phases share registers | compared place by place |
//! | the packed matrix (29) unpacks | by a flip of signs and a swap of halves, compared with (24) |
//! | counts of section 1.3 | counted from the layouts, and from the transposes of appendix A as [programs](crate::program) |

mod claims;
mod phases;
mod registers;

pub use fringes_layout_core::frb::*;

pub use claims::{Claim, verify};
