//! Cases of clocks: their values are no two runs the same, so what is compared is that they do not go back.

use fringes_device::clock::*;
use fringes_device::index::tid_x;

kernels! {
    /// Later readings are no less; the low half of the long counter is the short one's past or future within a minute.
    #[threads(64)]
    fn clocks(_input, output) covers [clock, clock64, globaltimer, nanosleep_u32]
    with |case| case.output(256) => {
        let i = tid_x() as usize;
        let (cycle, nanosecond) = (clock64(), globaltimer());
        let short = clock();
        nanosleep_u32(i as u32);
        output.store(4 * i, u32::from(clock64() >= cycle));
        output.store(4 * i + 1, u32::from(globaltimer() >= nanosecond));
        output.store(4 * i + 2, u32::from(clock().wrapping_sub(short) < 1 << 31));
        output.store(4 * i + 3, u32::from(short.wrapping_sub(cycle as u32) < 1 << 31));
    }
}
