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
use fringes_emulator::thread;

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
}
