//! Fragments of matrices in the registers of a warp, and matrices in shared memory, as layouts.
