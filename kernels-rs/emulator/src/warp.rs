//! Instructions that lanes of a warp execute together. For the twins of intrinsics.

use std::any::TypeId;
use std::panic::Location;

use crate::FaultKind;
use crate::machine::{Machine, State, suspend, with};

/// What lanes must agree on to execute an instruction together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    site: u16,
    /// Number of the instruction's name.
    number: u16,
    mask: u32,
    types: TypeId,
}

/// A lane's part in a collective: on its stack are its input, and the place for its output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meeting {
    key: Key,
    input: *const (),
    output: *mut (),
    /// The lane is to compute everyone's results.
    resolves: bool,
}

/// Waits until every lane of `mask` executes the same instruction (`name`, and the same source line), then computes all
/// their results at once: `resolve(mask, inputs) -> outputs`, by lane; the input of a lane outside `mask` is
/// `I::default()`.
///
/// A lane of `mask` that returned, does not exist, or waits at something else when nothing more can run, is a fault; so
/// is a caller that is no member of `mask`, and lanes that call with different masks. The instruction is then executed
/// by the lanes that came, except that the launch ends where nothing more can run.
///
/// Does not order memory ([`sync`] does).
#[track_caller]
pub fn collective<I: Copy + Default + 'static, O: Copy + Default + 'static>(
    name: &'static str,
    mask: u32,
    input: I,
    resolve: fn(u32, &[I; 32]) -> [O; 32],
) -> O {
    let at = Location::caller();
    let mut output = O::default();
    let (from, to) = ((&raw const input).cast::<()>(), (&raw mut output).cast::<()>());
    match with(|m| m.meet(name, at, mask, TypeId::of::<(I, O)>(), from, to)) {
        Arrived::Refused => return output,
        Arrived::Last => {}
        Arrived::Waits => {
            suspend();
            if !with(|m| m.thread().meeting.as_ref().is_some_and(|meeting| meeting.resolves)) {
                // SAFETY: the lane that resolved the collective wrote an `O` through the pointer made from this
                // variable; a volatile read because nothing in this function shows that.
                return unsafe { (&raw const output).read_volatile() };
            }
        }
    }
    let members = with(Machine::members);
    let mut inputs = [I::default(); 32];
    for (input, member) in inputs.iter_mut().zip(&members) {
        if let Some((from, _)) = member {
            // SAFETY: the key holds the types, so this is the `I` of a lane that is suspended in this very function, or
            // this lane's own.
            *input = unsafe { from.cast::<I>().read() };
        }
    }
    let outputs = resolve(mask, &inputs);
    for (output, member) in outputs.iter().zip(&members) {
        if let Some((_, to)) = member {
            // SAFETY: as above, the place is an `O` of that lane.
            unsafe { to.cast::<O>().write(*output) };
        }
    }
    with(Machine::part);
    suspend();
    // SAFETY: written above through the pointer.
    unsafe { (&raw const output).read_volatile() }
}

/// `bar.warp.sync`: as [`collective`], and orders the memory accesses of the lanes of `mask`.
#[track_caller]
pub fn sync(name: &'static str, mask: u32) {
    collective::<Ordered, Ordered>(name, mask, Ordered, |_, _| [Ordered; 32]);
}

/// What lanes exchange that order their memory accesses.
#[derive(Debug, Clone, Copy, Default)]
struct Ordered;

/// How a lane's arrival at a collective goes on.
enum Arrived {
    /// It is no member of the mask.
    Refused,
    /// Others are to come.
    Waits,
    /// Everyone is there.
    Last,
}

impl Machine {
    /// The running lane arrives at a collective.
    fn meet(
        &mut self,
        name: &'static str,
        at: &'static Location<'static>,
        mask: u32,
        types: TypeId,
        input: *const (),
        output: *mut (),
    ) -> Arrived {
        let (start, current) = (self.warp_start(), self.current);
        let lane = current - start;
        let key = Key { site: self.sites.number(at), number: self.names.number(name), mask, types };
        self.clock += 1;
        if mask >> lane & 1 == 0 {
            self.fault(FaultKind::Divergence, at, format!("{name}: lane {lane} is no member of its mask {mask:#010x}"));
            return Arrived::Refused;
        }
        let running = self.running_lanes(start);
        if mask & !running != 0 {
            self.fault_missing(current, at, name, mask, mask & !running);
        }
        let thread = self.thread();
        thread.meeting = Some(Meeting { key, input, output, resolves: false });
        (thread.state, thread.at, thread.name) = (State::Collective, at, name);
        let waiting = &mut self.warps[start / 32].waiting;
        *waiting |= 1 << lane;
        let expected = mask & running;
        if *waiting & expected == expected && self.met(start, key) == expected {
            self.thread().state = State::Ready;
            Arrived::Last
        } else {
            Arrived::Waits
        }
    }

    /// Lanes that wait with this key.
    fn met(&self, start: usize, key: Key) -> u32 {
        self.lanes(start, |thread| {
            thread.state == State::Collective && thread.meeting.as_ref().is_some_and(|meeting| meeting.key == key)
        })
    }

    fn fault_missing(&mut self, thread: usize, at: &'static Location<'static>, name: &str, mask: u32, missing: u32) {
        let start = thread / 32 * 32;
        let lane = missing.trailing_zeros();
        let what =
            if start + lane as usize >= self.threads.len() { "does not exist" } else { "returned from the kernel" };
        let message = format!("{name}: lane {lane} of mask {mask:#010x} {what} (such lanes: {missing:#010x})");
        self.fault_of(thread, FaultKind::Divergence, at, message);
    }

    /// Inputs and outputs of the lanes of the running lane's collective.
    fn members(&mut self) -> [Option<(*const (), *mut ())>; 32] {
        let (start, current) = (self.warp_start(), self.current);
        let Some(key) = self.threads[current].meeting.map(|meeting| meeting.key) else { return [None; 32] };
        let met = self.met(start, key) | 1 << (current - start);
        std::array::from_fn(|lane| {
            let meeting = (met >> lane & 1 == 1).then(|| self.threads[start + lane].meeting)??;
            Some((meeting.input, meeting.output))
        })
    }

    /// Ends the running lane's collective: everyone goes on.
    fn part(&mut self) {
        let (start, current) = (self.warp_start(), self.current);
        let Some(Meeting { key, .. }) = self.threads[current].meeting else { return };
        let all = self.met(start, key) | 1 << (current - start);
        for lane in (0..32).filter(|lane| all >> lane & 1 == 1) {
            self.threads[start + lane].meeting = None;
            self.wake(start + lane);
        }
        self.warps[start / 32].waiting &= !all;
        self.collected(start, all);
        if all == self.running_lanes(start) {
            self.trace.meet(start);
        }
        if key.types == TypeId::of::<(Ordered, Ordered)>() {
            let all = (0..32).filter(|lane| all >> lane & 1 == 1).map(|lane| start + lane);
            self.clocks.meet(all.clone(), all);
        }
    }

    /// Counts the instruction that this collective is part of once for the warp, at its first collective.
    fn collected(&mut self, start: usize, lanes: u32) {
        let instruction = self.thread().instruction;
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            self.threads[start + lane].instruction = None;
        }
        if let Some(number) = instruction.map(usize::from) {
            if self.collectives.len() <= number {
                self.collectives.resize(number + 1, 0);
            }
            self.collectives[number] += 1;
        }
    }

    /// After a thread has returned: collectives of its warp that wait for it go on without it.
    pub(crate) fn leave_collectives(&mut self, gone: usize) {
        let start = gone / 32 * 32;
        let end = self.threads.len().min(start + 32);
        let running = self.running_lanes(start);
        for t in start..end {
            let Some(Meeting { key, resolves: false, .. }) = self.threads[t].meeting else { continue };
            if self.threads[t].state != State::Collective || key.mask >> (gone - start) & 1 == 0 {
                continue;
            }
            let met = self.met(start, key);
            if met.trailing_zeros() as usize == t - start {
                let at = self.threads[t].at;
                let name = self.threads[t].name;
                self.fault_missing(t, at, name, key.mask, 1 << (gone - start));
                if met == key.mask & running {
                    if let Some(meeting) = &mut self.threads[t].meeting {
                        meeting.resolves = true;
                    }
                    self.wake(t);
                }
            }
        }
    }

    /// Reports the collectives that lanes wait in when nothing more can run.
    pub(crate) fn fault_stuck_collectives(&mut self) {
        for t in 0..self.threads.len() {
            let start = t / 32 * 32;
            let (State::Collective, Some(Meeting { key, .. })) = (self.threads[t].state, self.threads[t].meeting)
            else {
                continue;
            };
            let met = self.met(start, key);
            if met.trailing_zeros() as usize != t - start {
                continue;
            }
            let others: Vec<_> = (0..32)
                .filter(|lane| (key.mask & !met) >> lane & 1 == 1 && start + lane < self.threads.len())
                .map(|lane| format!("lane {lane} {}{}", self.activity(start + lane), self.mask_of(start + lane)))
                .collect();
            let (Key { mask, .. }, at, name) = (key, self.threads[t].at, self.threads[t].name);
            let message = format!("{name}: lanes {met:#010x} of mask {mask:#010x} wait for ever: {}", shorten(&others));
            self.fault_of(t, FaultKind::Divergence, at, message);
        }
    }

    /// The mask of the collective that a thread waits in, in words.
    fn mask_of(&self, thread: usize) -> String {
        match self.threads[thread].meeting {
            Some(Meeting { key: Key { mask, .. }, .. }) => format!(" with mask {mask:#010x}"),
            None => String::new(),
        }
    }
}

/// The first few of a list.
pub(crate) fn shorten(list: &[String]) -> String {
    let more = list.len().saturating_sub(4);
    let first = list[..list.len() - more].join(", ");
    if more > 0 { format!("{first}, and {more} more") } else { first }
}
