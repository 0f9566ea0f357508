//! Shared memory of the other blocks of a cluster.
//!
//! A block's memory is there from the first barrier of the cluster until the block ends.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::cluster;

intrinsic! {
    /// The cluster address of what has shared address `address` in the block of this rank.
    ///
    /// # PTX
    /// `mapa.shared::cluster.u32 d, address, rank;` (sm_90)
    ///
    /// # Safety
    /// `address` is a shared address, `rank` below the number of blocks of the cluster.
    pub unsafe fn mapa_shared_cluster_u32(address: u32, rank: u32) -> u32 {
        device => {
            let d: u32;
            core::arch::asm!("mapa.shared::cluster.u32 {0}, {1}, {2};", out(reg32) d, in(reg32) address, in(reg32) rank, options(nomem, nostack));
            d
        }
        emulator => { cluster::map_address(address, rank) }
    }

    /// Loads a word of a block of the cluster.
    ///
    /// # PTX
    /// `ld.shared::cluster.u32 d, [address];` (sm_90)
    ///
    /// # Safety
    /// `address` is a cluster address, a multiple of 4, of an initialised word in a block that has started and not
    /// ended.
    pub unsafe fn ld_shared_cluster_u32(address: u32) -> u32 {
        device => {
            let d: u32;
            core::arch::asm!("ld.shared::cluster.u32 {0}, [{1}];", out(reg32) d, in(reg32) address, options(readonly, nostack));
            d
        }
        emulator => {
            let mut bytes = [0; 4];
            cluster::load(address, &mut bytes);
            u32::from_le_bytes(bytes)
        }
    }

    /// Stores a word of a block of the cluster.
    ///
    /// # PTX
    /// `st.shared::cluster.u32 [address], value;` (sm_90)
    ///
    /// # Safety
    /// `address` is a cluster address, a multiple of 4, in a block that has started and not ended; no other thread uses
    /// the word without order.
    pub unsafe fn st_shared_cluster_u32(address: u32, value: u32) {
        device => { core::arch::asm!("st.shared::cluster.u32 [{0}], {1};", in(reg32) address, in(reg32) value, options(nostack)); }
        emulator => { cluster::store(address, &value.to_le_bytes()) }
    }
}
