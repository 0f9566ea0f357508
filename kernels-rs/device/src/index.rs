//! Indices of threads, blocks and lanes.

macro_rules! indices {
    ($($name:ident, $register:literal, $twin:expr, $what:literal;)*) => {
        intrinsic! { $(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`mov.u32 d, ", $register, ";`")]
            ///
            /// # Safety
            /// Safe: reads a special register.
            pub fn $name() -> u32 {
                device => {
                    let d: u32;
                    core::arch::asm!(concat!("mov.u32 {0}, ", $register, ";"), out(reg32) d, options(nomem, pure, nostack));
                    d
                }
                emulator => { $twin }
            }
        )* }
    };
}

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::{cluster, thread};

indices! {
    tid_x, "%tid.x", thread::thread_index()[0], "Index of the thread in its block, x.";
    tid_y, "%tid.y", thread::thread_index()[1], "Index of the thread in its block, y.";
    tid_z, "%tid.z", thread::thread_index()[2], "Index of the thread in its block, z.";
    ntid_x, "%ntid.x", thread::block_size()[0], "Threads of a block, x.";
    ntid_y, "%ntid.y", thread::block_size()[1], "Threads of a block, y.";
    ntid_z, "%ntid.z", thread::block_size()[2], "Threads of a block, z.";
    ctaid_x, "%ctaid.x", thread::block_index()[0], "Index of the block in the grid, x.";
    ctaid_y, "%ctaid.y", thread::block_index()[1], "Index of the block in the grid, y.";
    ctaid_z, "%ctaid.z", thread::block_index()[2], "Index of the block in the grid, z.";
    nctaid_x, "%nctaid.x", thread::grid_size()[0], "Blocks of the grid, x.";
    nctaid_y, "%nctaid.y", thread::grid_size()[1], "Blocks of the grid, y.";
    nctaid_z, "%nctaid.z", thread::grid_size()[2], "Blocks of the grid, z.";
    laneid, "%laneid", thread::lane(), "Index of the lane in its warp.";
    lanemask_eq, "%lanemask_eq", 1 << thread::lane(), "Mask of this lane.";
    lanemask_lt, "%lanemask_lt", (1 << thread::lane()) - 1, "Mask of the lanes below this one.";
    lanemask_le, "%lanemask_le", u32::MAX >> (31 - thread::lane()), "Mask of the lanes up to this one.";
    lanemask_gt, "%lanemask_gt", !(u32::MAX >> (31 - thread::lane())), "Mask of the lanes above this one.";
    lanemask_ge, "%lanemask_ge", u32::MAX << thread::lane(), "Mask of the lanes from this one on.";
    dynamic_smem_size, "%dynamic_smem_size", thread::dynamic_shared_bytes(), "Bytes of the block's dynamic shared memory.";
    clusterid_x, "%clusterid.x", cluster::index()[0], "Index of the cluster in the grid, x (sm_90).";
    clusterid_y, "%clusterid.y", cluster::index()[1], "Index of the cluster in the grid, y (sm_90).";
    clusterid_z, "%clusterid.z", cluster::index()[2], "Index of the cluster in the grid, z (sm_90).";
    nclusterid_x, "%nclusterid.x", thread::grid_size()[0] / cluster::size()[0], "Clusters of the grid, x (sm_90).";
    nclusterid_y, "%nclusterid.y", thread::grid_size()[1] / cluster::size()[1], "Clusters of the grid, y (sm_90).";
    nclusterid_z, "%nclusterid.z", thread::grid_size()[2] / cluster::size()[2], "Clusters of the grid, z (sm_90).";
    cluster_ctaid_x, "%cluster_ctaid.x", cluster::block_in_cluster()[0], "Index of the block in its cluster, x (sm_90).";
    cluster_ctaid_y, "%cluster_ctaid.y", cluster::block_in_cluster()[1], "Index of the block in its cluster, y (sm_90).";
    cluster_ctaid_z, "%cluster_ctaid.z", cluster::block_in_cluster()[2], "Index of the block in its cluster, z (sm_90).";
    cluster_nctaid_x, "%cluster_nctaid.x", cluster::size()[0], "Blocks of the cluster, x (sm_90).";
    cluster_nctaid_y, "%cluster_nctaid.y", cluster::size()[1], "Blocks of the cluster, y (sm_90).";
    cluster_nctaid_z, "%cluster_nctaid.z", cluster::size()[2], "Blocks of the cluster, z (sm_90).";
    cluster_ctarank, "%cluster_ctarank", cluster::rank(), "Rank of the block in its cluster (sm_90).";
    cluster_nctarank, "%cluster_nctarank", cluster::size().iter().product(), "Blocks of the cluster (sm_90).";
}

/// Linear index of the thread in its block, `tid.x + ntid.x (tid.y + ntid.y tid.z)`: what warps and lanes are counted
/// by.
#[inline(always)]
pub fn linear_tid() -> u32 {
    tid_x() + ntid_x() * (tid_y() + ntid_y() * tid_z())
}

/// Number of the warp in its block, from the linear index (PTX's `%warpid` is not this: it may change during a run).
#[inline(always)]
pub fn warp_index() -> u32 {
    linear_tid() / 32
}

/// Number of warps of the block, the last of them maybe partial.
#[inline(always)]
pub fn warp_count() -> u32 {
    (ntid_x() * ntid_y() * ntid_z()).div_ceil(32)
}
