//! Atomic updates of memory (`atom`, which returns the old value, and `red`, which does not), and loads and stores that
//! synchronise.
//!
//! Functions are named after order, scope, space, operation and type. `relaxed` orders nothing else; `acq_rel` also
//! orders the thread's other accesses. Scope `cta` is enough where only threads of one block meet, `gpu` is needed
//! where blocks meet.
//!
//! # Precision
//! f32 sums in global memory take subnormal operands as zero and give zero for subnormal results (sign kept); those in
//! shared memory do not. f16 sums keep subnormals. Which NaN comes from a NaN operand is not specified. The order of
//! sums that several threads make is not fixed, hence neither is their rounding.

#[cfg(not(target_arch = "nvptx64"))]
use core::ops::{BitAnd, BitOr, BitXor};

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::memory::{self, Space};

use crate::GlobalMut;

#[cfg(not(target_arch = "nvptx64"))]
mod twin {
    use fringes_emulator::memory::{self, Space};
    use half::f16;

    /// A value as the low bits of a word.
    pub(super) trait Word: Copy {
        fn word(self) -> u64;
        fn from_word(word: u64) -> Self;
    }

    macro_rules! word {
        ($($type:ty: $unsigned:ty, $to:expr, $from:expr;)*) => { $(
            impl Word for $type {
                fn word(self) -> u64 {
                    let bits: $unsigned = $to(self);
                    u64::from(bits)
                }
                fn from_word(word: u64) -> Self {
                    $from(word as $unsigned)
                }
            }
        )* };
    }

    word! {
        u32: u32, |v| v, |v| v;
        i32: u32, |v: i32| v as u32, |v: u32| v as i32;
        u64: u64, |v| v, |v| v;
        f32: u32, f32::to_bits, f32::from_bits;
    }

    /// An update of any value; returns the old one.
    #[track_caller]
    pub(super) fn update<T: Word>(space: Space, address: impl Into<u64>, operation: impl FnOnce(T) -> T) -> T {
        T::from_word(memory::atomic(space, address.into(), size_of::<T>(), |old| operation(T::from_word(old)).word()))
    }

    pub(super) fn add_f32(a: f32, b: f32) -> f32 {
        a + b
    }

    pub(super) fn add_f32_flushed(a: f32, b: f32) -> f32 {
        let flush = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
        flush(flush(a) + flush(b))
    }

    /// The f32 sum of two f16 rounds to the same f16 as the exact one: 24 bits >= 2 * 11 + 2.
    pub(super) fn add_f16x2(a: u32, b: u32) -> u32 {
        let half = |word: u32, shift: u32| f16::from_bits((word >> shift) as u16).to_f32();
        let sum = |shift| u32::from(f16::from_f32(half(a, shift) + half(b, shift)).to_bits()) << shift;
        sum(0) | sum(16)
    }

    pub(super) fn inc(old: u32, limit: u32) -> u32 {
        if old >= limit { 0 } else { old + 1 }
    }

    pub(super) fn dec(old: u32, limit: u32) -> u32 {
        if old == 0 || old > limit { limit } else { old - 1 }
    }
}

/// Type, register class and space of an address.
macro_rules! in_space {
    (global type) => { u64 };
    (shared type) => { u32 };
    (global space) => { Space::Global };
    (shared space) => { Space::Shared };
    (global, $text:expr, ($($before:tt)*), $address:expr, ($($after:tt)*)) => {
        core::arch::asm!($text, $($before)* in(reg64) $address, $($after)* options(nostack))
    };
    (shared, $text:expr, ($($before:tt)*), $address:expr, ($($after:tt)*)) => {
        core::arch::asm!($text, $($before)* in(reg32) $address, $($after)* options(nostack))
    };
}

macro_rules! updates {
    ($space:tt $($atom:ident, $red:ident, $ptx:literal, $type:ty, $class:ident, $twin:expr, $what:literal;)*) => { $(
        intrinsic! {
            #[doc = concat!("Replaces a value by its ", $what, " with `value`; returns the old one.")]
            ///
            /// # PTX
            #[doc = concat!("`atom.", $ptx, " d, [address], value;` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("`address` is the ", stringify!($space), " address of an initialised value, aligned to its size.")]
            pub unsafe fn $atom(address: in_space!($space type), value: $type) -> $type {
                device => {
                    let d: $type;
                    in_space!($space, concat!("atom.", $ptx, " {0}, [{1}], {2};"), (out($class) d,), address, (in($class) value,));
                    d
                }
                emulator => { twin::update(in_space!($space space), address, |old: $type| ($twin)(old, value)) }
            }

            #[doc = concat!("Replaces a value by its ", $what, " with `value`.")]
            ///
            /// # PTX
            #[doc = concat!("`red.", $ptx, " [address], value;` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("`address` is the ", stringify!($space), " address of an initialised value, aligned to its size.")]
            pub unsafe fn $red(address: in_space!($space type), value: $type) {
                device => {
                    in_space!($space, concat!("red.", $ptx, " [{0}], {1};"), (), address, (in($class) value,));
                }
                emulator => {
                    twin::update(in_space!($space space), address, |old: $type| ($twin)(old, value));
                }
            }
        }
    )* };
}

macro_rules! exchanges {
    ($space:tt $($exch:ident, $cas:ident, $order:literal, $bits:literal, $type:ty, $class:ident;)*) => { $(
        intrinsic! {
            /// Replaces a value by `value`; returns the old one.
            ///
            /// # PTX
            #[doc = concat!("`atom.", $order, ".exch.", $bits, " d, [address], value;` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("`address` is the ", stringify!($space), " address of an initialised value, aligned to its size.")]
            pub unsafe fn $exch(address: in_space!($space type), value: $type) -> $type {
                device => {
                    let d: $type;
                    in_space!($space, concat!("atom.", $order, ".exch.", $bits, " {0}, [{1}], {2};"), (out($class) d,), address, (in($class) value,));
                    d
                }
                emulator => {
                    if $order == "acq_rel.gpu.global" {
                        memory::fence();
                    }
                    let d = twin::update(in_space!($space space), address, |_: $type| value);
                    if $order == "acq_rel.gpu.global" {
                        memory::fence();
                    }
                    d
                }
            }

            /// Replaces a value by `value` if it equals `compare`; returns the old one.
            ///
            /// # PTX
            #[doc = concat!("`atom.", $order, ".cas.", $bits, " d, [address], compare, value;` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("`address` is the ", stringify!($space), " address of an initialised value, aligned to its size.")]
            pub unsafe fn $cas(address: in_space!($space type), compare: $type, value: $type) -> $type {
                device => {
                    let d: $type;
                    in_space!($space, concat!("atom.", $order, ".cas.", $bits, " {0}, [{1}], {2}, {3};"), (out($class) d,), address, (in($class) compare, in($class) value,));
                    d
                }
                emulator => {
                    if $order == "acq_rel.gpu.global" {
                        memory::fence();
                    }
                    let d = twin::update(in_space!($space space), address, |old: $type| if old == compare { value } else { old });
                    if $order == "acq_rel.gpu.global" {
                        memory::fence();
                    }
                    d
                }
            }
        }
    )* };
}

updates! { global
    atom_relaxed_gpu_global_add_u32, red_relaxed_gpu_global_add_u32, "relaxed.gpu.global.add.u32", u32, reg32, u32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_gpu_global_add_s32, red_relaxed_gpu_global_add_s32, "relaxed.gpu.global.add.s32", i32, reg32, i32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_gpu_global_add_u64, red_relaxed_gpu_global_add_u64, "relaxed.gpu.global.add.u64", u64, reg64, u64::wrapping_add, "sum modulo 2^64";
    atom_relaxed_gpu_global_add_f32, red_relaxed_gpu_global_add_f32, "relaxed.gpu.global.add.f32", f32, reg32, twin::add_f32_flushed, "sum, rounded to nearest even";
    atom_relaxed_gpu_global_add_f16x2, red_relaxed_gpu_global_add_f16x2, "relaxed.gpu.global.add.noftz.f16x2", u32, reg32, twin::add_f16x2, "sums of two f16, each rounded to nearest even";
    atom_relaxed_gpu_global_min_u32, red_relaxed_gpu_global_min_u32, "relaxed.gpu.global.min.u32", u32, reg32, u32::min, "minimum";
    atom_relaxed_gpu_global_max_u32, red_relaxed_gpu_global_max_u32, "relaxed.gpu.global.max.u32", u32, reg32, u32::max, "maximum";
    atom_relaxed_gpu_global_min_s32, red_relaxed_gpu_global_min_s32, "relaxed.gpu.global.min.s32", i32, reg32, i32::min, "minimum";
    atom_relaxed_gpu_global_max_s32, red_relaxed_gpu_global_max_s32, "relaxed.gpu.global.max.s32", i32, reg32, i32::max, "maximum";
    atom_relaxed_gpu_global_min_u64, red_relaxed_gpu_global_min_u64, "relaxed.gpu.global.min.u64", u64, reg64, u64::min, "minimum";
    atom_relaxed_gpu_global_max_u64, red_relaxed_gpu_global_max_u64, "relaxed.gpu.global.max.u64", u64, reg64, u64::max, "maximum";
    atom_relaxed_gpu_global_and_b32, red_relaxed_gpu_global_and_b32, "relaxed.gpu.global.and.b32", u32, reg32, u32::bitand, "bitwise and";
    atom_relaxed_gpu_global_or_b32, red_relaxed_gpu_global_or_b32, "relaxed.gpu.global.or.b32", u32, reg32, u32::bitor, "bitwise or";
    atom_relaxed_gpu_global_xor_b32, red_relaxed_gpu_global_xor_b32, "relaxed.gpu.global.xor.b32", u32, reg32, u32::bitxor, "bitwise exclusive or";
    atom_relaxed_gpu_global_inc_u32, red_relaxed_gpu_global_inc_u32, "relaxed.gpu.global.inc.u32", u32, reg32, twin::inc, "increment, back to 0 from the operand or above";
    atom_relaxed_gpu_global_dec_u32, red_relaxed_gpu_global_dec_u32, "relaxed.gpu.global.dec.u32", u32, reg32, twin::dec, "decrement, to the operand from 0 or from above the operand";
}

updates! { global
    atom_relaxed_cta_global_add_u32, red_relaxed_cta_global_add_u32, "relaxed.cta.global.add.u32", u32, reg32, u32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_cta_global_add_s32, red_relaxed_cta_global_add_s32, "relaxed.cta.global.add.s32", i32, reg32, i32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_cta_global_add_u64, red_relaxed_cta_global_add_u64, "relaxed.cta.global.add.u64", u64, reg64, u64::wrapping_add, "sum modulo 2^64";
    atom_relaxed_cta_global_add_f32, red_relaxed_cta_global_add_f32, "relaxed.cta.global.add.f32", f32, reg32, twin::add_f32_flushed, "sum, rounded to nearest even";
    atom_relaxed_cta_global_add_f16x2, red_relaxed_cta_global_add_f16x2, "relaxed.cta.global.add.noftz.f16x2", u32, reg32, twin::add_f16x2, "sums of two f16, each rounded to nearest even";
    atom_relaxed_cta_global_min_u32, red_relaxed_cta_global_min_u32, "relaxed.cta.global.min.u32", u32, reg32, u32::min, "minimum";
    atom_relaxed_cta_global_max_u32, red_relaxed_cta_global_max_u32, "relaxed.cta.global.max.u32", u32, reg32, u32::max, "maximum";
    atom_relaxed_cta_global_min_s32, red_relaxed_cta_global_min_s32, "relaxed.cta.global.min.s32", i32, reg32, i32::min, "minimum";
    atom_relaxed_cta_global_max_s32, red_relaxed_cta_global_max_s32, "relaxed.cta.global.max.s32", i32, reg32, i32::max, "maximum";
    atom_relaxed_cta_global_min_u64, red_relaxed_cta_global_min_u64, "relaxed.cta.global.min.u64", u64, reg64, u64::min, "minimum";
    atom_relaxed_cta_global_max_u64, red_relaxed_cta_global_max_u64, "relaxed.cta.global.max.u64", u64, reg64, u64::max, "maximum";
    atom_relaxed_cta_global_and_b32, red_relaxed_cta_global_and_b32, "relaxed.cta.global.and.b32", u32, reg32, u32::bitand, "bitwise and";
    atom_relaxed_cta_global_or_b32, red_relaxed_cta_global_or_b32, "relaxed.cta.global.or.b32", u32, reg32, u32::bitor, "bitwise or";
    atom_relaxed_cta_global_xor_b32, red_relaxed_cta_global_xor_b32, "relaxed.cta.global.xor.b32", u32, reg32, u32::bitxor, "bitwise exclusive or";
    atom_relaxed_cta_global_inc_u32, red_relaxed_cta_global_inc_u32, "relaxed.cta.global.inc.u32", u32, reg32, twin::inc, "increment, back to 0 from the operand or above";
    atom_relaxed_cta_global_dec_u32, red_relaxed_cta_global_dec_u32, "relaxed.cta.global.dec.u32", u32, reg32, twin::dec, "decrement, to the operand from 0 or from above the operand";
}

updates! { shared
    atom_relaxed_cta_shared_add_u32, red_relaxed_cta_shared_add_u32, "relaxed.cta.shared.add.u32", u32, reg32, u32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_cta_shared_add_s32, red_relaxed_cta_shared_add_s32, "relaxed.cta.shared.add.s32", i32, reg32, i32::wrapping_add, "sum modulo 2^32";
    atom_relaxed_cta_shared_add_u64, red_relaxed_cta_shared_add_u64, "relaxed.cta.shared.add.u64", u64, reg64, u64::wrapping_add, "sum modulo 2^64";
    atom_relaxed_cta_shared_add_f32, red_relaxed_cta_shared_add_f32, "relaxed.cta.shared.add.f32", f32, reg32, twin::add_f32, "sum, rounded to nearest even";
    atom_relaxed_cta_shared_add_f16x2, red_relaxed_cta_shared_add_f16x2, "relaxed.cta.shared.add.noftz.f16x2", u32, reg32, twin::add_f16x2, "sums of two f16, each rounded to nearest even";
    atom_relaxed_cta_shared_min_u32, red_relaxed_cta_shared_min_u32, "relaxed.cta.shared.min.u32", u32, reg32, u32::min, "minimum";
    atom_relaxed_cta_shared_max_u32, red_relaxed_cta_shared_max_u32, "relaxed.cta.shared.max.u32", u32, reg32, u32::max, "maximum";
    atom_relaxed_cta_shared_min_s32, red_relaxed_cta_shared_min_s32, "relaxed.cta.shared.min.s32", i32, reg32, i32::min, "minimum";
    atom_relaxed_cta_shared_max_s32, red_relaxed_cta_shared_max_s32, "relaxed.cta.shared.max.s32", i32, reg32, i32::max, "maximum";
    atom_relaxed_cta_shared_min_u64, red_relaxed_cta_shared_min_u64, "relaxed.cta.shared.min.u64", u64, reg64, u64::min, "minimum";
    atom_relaxed_cta_shared_max_u64, red_relaxed_cta_shared_max_u64, "relaxed.cta.shared.max.u64", u64, reg64, u64::max, "maximum";
    atom_relaxed_cta_shared_and_b32, red_relaxed_cta_shared_and_b32, "relaxed.cta.shared.and.b32", u32, reg32, u32::bitand, "bitwise and";
    atom_relaxed_cta_shared_or_b32, red_relaxed_cta_shared_or_b32, "relaxed.cta.shared.or.b32", u32, reg32, u32::bitor, "bitwise or";
    atom_relaxed_cta_shared_xor_b32, red_relaxed_cta_shared_xor_b32, "relaxed.cta.shared.xor.b32", u32, reg32, u32::bitxor, "bitwise exclusive or";
    atom_relaxed_cta_shared_inc_u32, red_relaxed_cta_shared_inc_u32, "relaxed.cta.shared.inc.u32", u32, reg32, twin::inc, "increment, back to 0 from the operand or above";
    atom_relaxed_cta_shared_dec_u32, red_relaxed_cta_shared_dec_u32, "relaxed.cta.shared.dec.u32", u32, reg32, twin::dec, "decrement, to the operand from 0 or from above the operand";
}

exchanges! { global
    atom_relaxed_gpu_global_exch_b32, atom_relaxed_gpu_global_cas_b32, "relaxed.gpu.global", "b32", u32, reg32;
    atom_relaxed_gpu_global_exch_b64, atom_relaxed_gpu_global_cas_b64, "relaxed.gpu.global", "b64", u64, reg64;
    atom_relaxed_cta_global_exch_b32, atom_relaxed_cta_global_cas_b32, "relaxed.cta.global", "b32", u32, reg32;
    atom_relaxed_cta_global_exch_b64, atom_relaxed_cta_global_cas_b64, "relaxed.cta.global", "b64", u64, reg64;
    atom_acq_rel_gpu_global_exch_b32, atom_acq_rel_gpu_global_cas_b32, "acq_rel.gpu.global", "b32", u32, reg32;
}

exchanges! { shared
    atom_relaxed_cta_shared_exch_b32, atom_relaxed_cta_shared_cas_b32, "relaxed.cta.shared", "b32", u32, reg32;
    atom_relaxed_cta_shared_exch_b64, atom_relaxed_cta_shared_cas_b64, "relaxed.cta.shared", "b64", u64, reg64;
}

intrinsic! {
    /// Adds, and orders the thread's other accesses before and after: a ticket counter between blocks.
    ///
    /// # PTX
    /// `atom.acq_rel.gpu.global.add.u32 d, [address], value;` (sm_80)
    ///
    /// # Safety
    /// `address` is the global address of an initialised value, aligned to its size.
    pub unsafe fn atom_acq_rel_gpu_global_add_u32(address: u64, value: u32) -> u32 {
        device => {
            let d: u32;
            core::arch::asm!("atom.acq_rel.gpu.global.add.u32 {0}, [{1}], {2};", out(reg32) d, in(reg64) address, in(reg32) value, options(nostack));
            d
        }
        emulator => {
            memory::fence();
            let d = twin::update(Space::Global, address, |old: u32| old.wrapping_add(value));
            memory::fence();
            d
        }
    }

    /// Loads a value; the thread's later accesses come after it.
    ///
    /// # PTX
    /// `ld.acquire.gpu.global.u32 d, [address];` (sm_80)
    ///
    /// # Safety
    /// `address` is the global address of an initialised value, aligned to its size.
    pub unsafe fn ld_acquire_gpu_global_u32(address: u64) -> u32 {
        device => {
            let d: u32;
            core::arch::asm!("ld.acquire.gpu.global.u32 {0}, [{1}];", out(reg32) d, in(reg64) address, options(nostack));
            d
        }
        emulator => {
            let d = twin::update(Space::Global, address, |old: u32| old);
            memory::fence();
            d
        }
    }

    /// Stores a value; the thread's earlier accesses come before it.
    ///
    /// # PTX
    /// `st.release.gpu.global.u32 [address], value;` (sm_80)
    ///
    /// # Safety
    /// `address` is the global address of a value, aligned to its size.
    pub unsafe fn st_release_gpu_global_u32(address: u64, value: u32) {
        device => {
            core::arch::asm!("st.release.gpu.global.u32 [{0}], {1};", in(reg64) address, in(reg32) value, options(nostack));
        }
        emulator => {
            memory::fence();
            twin::update(Space::Global, address, |_: u32| value);
        }
    }
}

macro_rules! views {
    ($($type:ty, $method:ident, $atom:ident, $what:literal;)*) => { $(
        impl GlobalMut<$type> {
            #[doc = concat!("Replaces value `index` by its ", $what, " with `value`, whatever other threads do; returns the old one.")]
            ///
            /// # PTX
            #[doc = concat!("See [`", stringify!($atom), "`].")]
            ///
            /// # Safety
            /// `index < self.len()`, and the value is initialised. (The emulator checks both.)
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn $method(self, index: usize, value: $type) -> $type {
                #[cfg(not(target_arch = "nvptx64"))]
                if index >= self.len() {
                    crate::host::beyond("atomic", index, self.len());
                    return value;
                }
                $atom(self.address(index), value)
            }
        }
    )* };
}

views! {
    u32, atomic_add, atom_relaxed_gpu_global_add_u32, "sum modulo 2^32";
    u32, atomic_min, atom_relaxed_gpu_global_min_u32, "minimum";
    u32, atomic_max, atom_relaxed_gpu_global_max_u32, "maximum";
    u32, atomic_or, atom_relaxed_gpu_global_or_b32, "bitwise or";
    i32, atomic_add, atom_relaxed_gpu_global_add_s32, "sum modulo 2^32";
    u64, atomic_add, atom_relaxed_gpu_global_add_u64, "sum modulo 2^64";
    f32, atomic_add, atom_relaxed_gpu_global_add_f32, "sum";
}
