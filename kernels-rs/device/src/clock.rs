//! Clocks, and waiting.
//!
//! In the emulator all three clocks are one counter that grows with every step; [`nanosleep_u32`] takes no time.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::thread;

intrinsic! {
    /// Low 32 bits of the SM's cycle counter.
    ///
    /// # PTX
    /// `mov.u32 d, %clock;` (sm_80)
    ///
    /// # Safety
    /// Safe: reads a special register.
    pub fn clock() -> u32 {
        device => {
            let d: u32;
            core::arch::asm!("mov.u32 {0}, %clock;", out(reg32) d, options(nostack));
            d
        }
        emulator => { thread::clock() as u32 }
    }

    /// The SM's cycle counter.
    ///
    /// # PTX
    /// `mov.u64 d, %clock64;` (sm_80)
    ///
    /// # Safety
    /// Safe: reads a special register.
    pub fn clock64() -> u64 {
        device => {
            let d: u64;
            core::arch::asm!("mov.u64 {0}, %clock64;", out(reg64) d, options(nostack));
            d
        }
        emulator => { thread::clock() }
    }

    /// The device's nanosecond counter; it moves in steps of up to a microsecond and more.
    ///
    /// # PTX
    /// `mov.u64 d, %globaltimer;` (sm_80)
    ///
    /// # Safety
    /// Safe: reads a special register.
    pub fn globaltimer() -> u64 {
        device => {
            let d: u64;
            core::arch::asm!("mov.u64 {0}, %globaltimer;", out(reg64) d, options(nostack));
            d
        }
        emulator => { thread::clock() }
    }

    /// Lets the thread sleep for about `nanoseconds`: between nothing and twice as long, a millisecond at most.
    ///
    /// # PTX
    /// `nanosleep.u32 nanoseconds;` (sm_80)
    ///
    /// # Safety
    /// Safe: waits.
    pub fn nanosleep_u32(nanoseconds: u32) {
        device => { core::arch::asm!("nanosleep.u32 {0};", in(reg32) nanoseconds, options(nostack)); }
        emulator => {
            let _ = nanoseconds;
        }
    }
}
