//! Collective instructions that lanes do not execute together.

use crate::common;

use common::{only, run};
use fringes_emulator::thread::{lane, lanes_present, lanes_running, linear_index};
use fringes_emulator::warp::{collective, sync};
use fringes_emulator::{FaultKind, GlobalMemory, Report};

#[track_caller]
fn vote(mask: u32) -> u32 {
    collective("vote", mask, 1_u32, |_, inputs| [inputs.iter().sum(); 32])
}

fn on(threads: u32, kernel: impl Fn()) -> Report {
    run(threads, &mut GlobalMemory::new(), kernel)
}

#[test]
fn a_lane_that_returned_is_missed() {
    let report = on(64, || {
        if linear_index() == 40 {
            return;
        }
        // The others go on without it.
        assert_eq!(vote(u32::MAX), if linear_index() < 32 { 32 } else { 31 });
    });
    let fault = only(&report, FaultKind::Divergence, 32, line!() - 2);
    assert!(fault.message.contains("lane 8 of mask 0xffffffff returned"), "{fault}");
    on(64, || {
        if linear_index() != 40 {
            assert_eq!(
                vote(if linear_index() < 32 { u32::MAX } else { !(1 << 8) }) % 31,
                u32::from(linear_index() < 32)
            );
        }
    })
    .assert_clean();
}

#[test]
fn a_lane_that_returns_later_is_missed() {
    // Lane 31 runs last, when the others wait already.
    let report = on(32, || {
        if lane() != 31 {
            assert_eq!(vote(u32::MAX), 31);
        }
    });
    only(&report, FaultKind::Divergence, 0, line!() - 3);
}

#[test]
fn a_lane_that_does_not_exist_is_missed() {
    let kernel = |mask: u32| move || assert_eq!(vote(mask), 8);
    let line = line!() - 1;
    on(40, || assert_eq!(vote(lanes_present()).min(8), 8)).assert_clean();
    on(8, kernel(0xff)).assert_clean();
    let report = on(8, kernel(0xffff));
    let fault = only(&report, FaultKind::Divergence, 0, line);
    assert!(fault.message.contains("lane 8 of mask 0x0000ffff does not exist"), "{fault}");
}

#[test]
fn a_caller_is_a_member_of_its_mask() {
    let report = on(32, || {
        assert_eq!(vote(!(1 << 5)), if lane() == 5 { 0 } else { 31 });
    });
    let fault = only(&report, FaultKind::Divergence, 5, line!() - 2);
    assert!(fault.message.contains("lane 5 is no member of its mask 0xffffffdf"), "{fault}");
}

#[test]
#[allow(clippy::if_same_then_else)] // The lines of the two are what differs.
fn lanes_at_different_lines_wait_for_ever() {
    let report = on(64, || {
        if lane() < 16 {
            vote(u32::MAX);
        } else {
            vote(u32::MAX);
        }
    });
    let line = line!() - 5;
    assert!(report.faults.iter().all(|fault| fault.kind == FaultKind::Divergence), "{report}");
    let places: Vec<_> = report.faults.iter().map(|fault| (fault.thread[0], fault.line)).collect();
    assert_eq!((places, report.fault_total), (vec![(0, line), (16, line + 2)], 4));
    let other = format!("lane 16 waits in vote at {}:{}", file!(), line + 2);
    assert!(report.faults[0].message.contains(&other), "{report}");
    on(64, || {
        if lane() < 16 {
            vote(0xffff);
        } else {
            vote(0xffff_0000);
        }
    })
    .assert_clean();
}

#[test]
fn lanes_with_different_masks_wait_for_ever() {
    let report = on(32, || {
        vote(if lane() == 3 { u32::MAX >> 1 } else { u32::MAX });
    });
    let line = line!() - 2;
    assert_eq!((report.faults[0].kind, report.faults[0].line, report.fault_total), (FaultKind::Divergence, line, 2));
    assert!(
        report.faults[0].message.contains("lane 3 waits in vote")
            && report.faults[0].message.contains("with mask 0x7fffffff"),
        "{report}"
    );
}

#[test]
fn different_instructions_in_one_line_do_not_meet() {
    let report = on(32, || {
        let name = if lane() < 16 { "shfl" } else { "vote" };
        collective::<u32, u32>(name, u32::MAX, 0, |_, inputs| *inputs);
    });
    assert_eq!((report.faults[0].kind, report.fault_total), (FaultKind::Divergence, 2));
}

#[test]
fn a_loop_whose_lanes_leave_at_different_times_needs_the_mask_of_those_that_stay() {
    let kernel = |right: bool| {
        move || {
            for step in 0..=lane() {
                let staying = u32::MAX << step;
                sync("bar_warp_sync", if right { staying } else { u32::MAX });
            }
        }
    };
    let line = line!() - 4;
    on(32, kernel(true)).assert_clean();
    let report = on(32, kernel(false));
    assert!(report.faults.iter().all(|fault| fault.kind == FaultKind::Divergence && fault.line == line));
    assert_eq!(report.faults.len(), 1);
}

#[test]
fn lanes_that_returned_are_told_from_those_that_run() {
    on(48, || {
        assert_eq!(lanes_present(), if linear_index() < 32 { u32::MAX } else { 0xffff });
        if lane() % 2 == 1 {
            return;
        }
        vote(lanes_present() & 0x5555_5555);
        assert_eq!(lanes_running(), lanes_present() & 0x5555_5555);
        vote(lanes_present() & 0x5555_5555);
    })
    .assert_clean();
}
