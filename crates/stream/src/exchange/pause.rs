//! Waits between two looks at what is under way.

use std::time::Duration;

/// Looks that only yield the processor between them; later ones sleep.
const EAGER: u32 = 2000;
/// The shortest and the longest sleep between two looks.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(200)];

/// Sleeps that become longer.
#[derive(Default)]
pub(super) struct Pause(u32);

impl Pause {
    pub(super) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.0 <= EAGER {
            std::thread::yield_now();
        } else {
            std::thread::sleep((SLEEPS[0] * (self.0 - EAGER).div_ceil(10)).min(SLEEPS[1]));
        }
    }
}
