//! Ending a kernel.

intrinsic! {
    /// Ends the kernel with an error: every later call to the device reports it.
    ///
    /// For conditions that the host has checked already, where going on would touch memory of others.
    ///
    /// # PTX
    /// `trap;`
    ///
    /// # Safety
    /// Safe: touches nothing.
    pub fn trap() {
        device => { core::arch::asm!("trap;", options(nostack)); }
        emulator => { fringes_emulator::thread::fault(fringes_emulator::FaultKind::Operand, "the kernel trapped".into()); }
    }
}
