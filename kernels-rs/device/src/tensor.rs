//! Copies of blocks of tensors between global and shared memory by one thread (`cp.async.bulk.tensor`, sm_90).
//!
//! The tensor is described by a [`TensorMap`] that the host makes. A load arrives on a mbarrier with the bytes of the
//! whole block, also where parts of it lie outside the tensor (those become zeros); stores leave such parts out.
//! Coordinates count elements, the fastest dimension first, and may be negative. A block in shared memory begins at a
//! multiple of 128 bytes (1024 if swizzled by 128 bytes).

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::memory;

/// A tensor in global memory: address, dimensions, strides, block, swizzle, as the host encoded them.
///
/// A kernel takes it as a parameter, 128 bytes by value; here it is its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    address: u64,
}

/// The 128 bytes of a tensor map.
#[cfg(target_arch = "nvptx64")]
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct TensorMapBytes([u128; 8]);

#[cfg(target_arch = "nvptx64")]
impl crate::Parameter for TensorMap {
    type Passed = TensorMapBytes;

    #[inline(always)]
    fn receive(_: TensorMapBytes, address: impl FnOnce() -> u64) -> Self {
        Self { address: address() }
    }
}

impl TensorMap {
    /// The tensor map at this generic address.
    ///
    /// # Safety
    /// The address is a multiple of 64, and that of a tensor map that was there before the launch. (In the emulator it
    /// is what `GlobalMemory::map_tensor` gives.)
    #[inline(always)]
    pub const unsafe fn from_address(address: u64) -> Self {
        Self { address }
    }

    /// Its generic address.
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.address
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl From<fringes_emulator::TensorMap> for TensorMap {
    /// A tensor map of the emulator's memory.
    fn from(map: fringes_emulator::TensorMap) -> Self {
        Self { address: map.address }
    }
}

intrinsic! {
    /// Fetches a tensor map into the cache that copies read it from.
    ///
    /// # PTX
    /// `prefetch.tensormap [map];` (sm_90)
    ///
    /// # Safety
    /// Safe: a hint.
    pub fn prefetch_tensormap(map: TensorMap) {
        device => { core::arch::asm!("prefetch.tensormap [{0}];", in(reg64) map.address(), options(nostack)); }
        emulator => { memory::tensor_map_prefetch(map.address()) }
    }
}

macro_rules! tensor_copies {
    ($($dimensions:literal, $load:ident, $multicast:ident, $store:ident, $prefetch:ident, [$($c:literal)*], $coordinates:literal;)*) => { $(
        intrinsic! {
            #[doc = concat!("Starts loading a block of a tensor of ", $dimensions, " dimensions; the bytes arrive on `mbarrier`.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.tensor.", $dimensions, "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [shared], [map, {coordinates}], [mbarrier];` (sm_90)")]
            ///
            /// # Safety
            /// `shared` begins the block's bytes in shared memory, aligned as the map's swizzle needs; `mbarrier` is
            /// the shared address of a barrier object that expects them. Until they have arrived nothing uses them or
            /// writes the tensor. The innermost coordinate is a whole number of 16 bytes: an H200 was seen to end
            /// kernels with an illegal instruction at others.
            pub unsafe fn $load(shared: u32, map: TensorMap, coordinates: [i32; $dimensions], mbarrier: u32) {
                device => {
                    core::arch::asm!(
                        concat!("cp.async.bulk.tensor.", $dimensions, "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{shared}], [{map}, {{", $coordinates, "}}], [{mbarrier}];"),
                        $(in(reg32) coordinates[$c],)* shared = in(reg32) shared, map = in(reg64) map.address(), mbarrier = in(reg32) mbarrier, options(nostack),
                    );
                }
                emulator => { memory::tensor_load(shared, map.address(), &coordinates, mbarrier, None) }
            }

            #[doc = concat!("Starts loading a block of a tensor of ", $dimensions, " dimensions into the shared memory of several blocks of the cluster, those whose bit in `ranks` is set, at the same offset in each; the bytes arrive on the mbarrier at the same offset in each.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.tensor.", $dimensions, "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [shared], [map, {coordinates}], [mbarrier], ranks;` (sm_90)")]
            ///
            /// # Safety
            /// As without multicast, in every block that receives; all of them have started and none has ended.
            pub unsafe fn $multicast(shared: u32, map: TensorMap, coordinates: [i32; $dimensions], mbarrier: u32, ranks: u16) {
                device => {
                    core::arch::asm!(
                        concat!("cp.async.bulk.tensor.", $dimensions, "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{shared}], [{map}, {{", $coordinates, "}}], [{mbarrier}], {ranks};"),
                        $(in(reg32) coordinates[$c],)* shared = in(reg32) shared, map = in(reg64) map.address(), mbarrier = in(reg32) mbarrier, ranks = in(reg16) ranks, options(nostack),
                    );
                }
                emulator => { memory::tensor_load(shared, map.address(), &coordinates, mbarrier, Some(ranks)) }
            }

            #[doc = concat!("Starts storing a block of a tensor of ", $dimensions, " dimensions, as part of the thread's current bulk group ([`cp_async_bulk_commit_group`](crate::bulk::cp_async_bulk_commit_group)).")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.tensor.", $dimensions, "d.global.shared::cta.tile.bulk_group [map, {coordinates}], [shared];` (sm_90)")]
            ///
            /// # Safety
            /// `shared` begins the block's bytes in shared memory, aligned as the map's swizzle needs, written before a
            /// [`fence_proxy_async`](crate::fence::fence_proxy_async). Until the group has been waited for nothing
            /// writes them or uses the tensor's. No coordinate is negative: an H200 ends the kernel with an illegal
            /// instruction then, though loads may start in front of the tensor.
            pub unsafe fn $store(map: TensorMap, coordinates: [i32; $dimensions], shared: u32) {
                device => {
                    core::arch::asm!(
                        concat!("cp.async.bulk.tensor.", $dimensions, "d.global.shared::cta.tile.bulk_group [{map}, {{", $coordinates, "}}], [{shared}];"),
                        $(in(reg32) coordinates[$c],)* shared = in(reg32) shared, map = in(reg64) map.address(), options(nostack),
                    );
                }
                emulator => { memory::tensor_store(map.address(), &coordinates, shared) }
            }

            #[doc = concat!("Starts fetching a block of a tensor of ", $dimensions, " dimensions into L2.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.prefetch.tensor.", $dimensions, "d.L2.global.tile [map, {coordinates}];` (sm_90)")]
            ///
            /// # Safety
            /// `map` is a tensor map of this number of dimensions.
            pub unsafe fn $prefetch(map: TensorMap, coordinates: [i32; $dimensions]) {
                device => {
                    core::arch::asm!(
                        concat!("cp.async.bulk.prefetch.tensor.", $dimensions, "d.L2.global.tile [{map}, {{", $coordinates, "}}];"),
                        $(in(reg32) coordinates[$c],)* map = in(reg64) map.address(), options(nostack),
                    );
                }
                emulator => { memory::tensor_prefetch(map.address(), &coordinates) }
            }
        }
    )* };
}

tensor_copies! {
    1, cp_async_bulk_tensor_1d_shared_global, cp_async_bulk_tensor_1d_shared_global_multicast, cp_async_bulk_tensor_1d_global_shared, cp_async_bulk_prefetch_tensor_1d, [0], "{0}";
    2, cp_async_bulk_tensor_2d_shared_global, cp_async_bulk_tensor_2d_shared_global_multicast, cp_async_bulk_tensor_2d_global_shared, cp_async_bulk_prefetch_tensor_2d, [0 1], "{0}, {1}";
    3, cp_async_bulk_tensor_3d_shared_global, cp_async_bulk_tensor_3d_shared_global_multicast, cp_async_bulk_tensor_3d_global_shared, cp_async_bulk_prefetch_tensor_3d, [0 1 2], "{0}, {1}, {2}";
    4, cp_async_bulk_tensor_4d_shared_global, cp_async_bulk_tensor_4d_shared_global_multicast, cp_async_bulk_tensor_4d_global_shared, cp_async_bulk_prefetch_tensor_4d, [0 1 2 3], "{0}, {1}, {2}, {3}";
    5, cp_async_bulk_tensor_5d_shared_global, cp_async_bulk_tensor_5d_shared_global_multicast, cp_async_bulk_tensor_5d_global_shared, cp_async_bulk_prefetch_tensor_5d, [0 1 2 3 4], "{0}, {1}, {2}, {3}, {4}";
}
