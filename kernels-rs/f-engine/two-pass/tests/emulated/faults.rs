//! Jobs that do not keep to the buffers.

use fringes_channelizer::internals::Job;
use fringes_kernels_f_engine_two_pass::filter::columns_b10_m1_r8;
use fringes_kernels_f_engine_two_pass::strided_filter::strided_b12_r8;

use crate::case::{Case, Device, Made, columns};

/// Runs the first kernel with a second group that is not as it should be: the kernel traps, does nothing else that is
/// wrong, and stores nothing of that group.
fn traps(what: &str, missing: usize, change: impl Fn(&mut Job)) {
    let case = Case { of_job: 2, ..Case::new(256, 4) };
    traps_of(&case, what, missing, &change);
    traps_of(&Case { strided: Some((32, 27)), ..case }, what, missing, &change);
}

fn traps_of(case: &Case, what: &str, missing: usize, change: impl Fn(&mut Job)) {
    let mut made = case.make();
    if let Some(job) = made.jobs.last_mut() {
        change(job);
    }
    let mut device = Device::<[f32; 2]>::new(case, &made, missing);
    let report = if case.strided.is_some() {
        let ([a, b, c, d, e], _) = case.first().told();
        columns!(*case, made, device, (0, 2), strided_b12_r8, a, b, c, d, e)
    } else {
        columns!(*case, made, device, (0, 2), columns_b10_m1_r8)
    };
    let other = report.faults.iter().find(|fault| !fault.to_string().contains("trapped"));
    assert!(!report.faults.is_empty() && other.is_none(), "{what}: {other:?}");
    let points = device.memory.download(device.workspace);
    let (well, ill) = points.split_at(case.shape().workspace_of_group());
    assert!(well.iter().all(Option::is_some) && ill.iter().all(Option::is_none), "{what}");
}

#[test]
fn a_job_beyond_the_samples_traps_and_stores_nothing() {
    traps("no words behind the last one", 4, |_| {});
    traps("a job further on", 0, |job| job.first_bit += 128);
    traps("the end of the counter", 0, |job| job.first_bit = u64::MAX - 7);
}

#[test]
fn a_job_beyond_the_other_buffers_traps_and_stores_nothing() {
    traps("an input without gains", 0, |job| job.input = 2);
    traps("a count that is not there", 0, |job| job.count = 2);
    traps("more spectra than slots", 0, |job| job.spectra = 65);
    traps("a place beyond the output", 0, |job| job.place += 1);
    traps("a time beyond the output", 0, |job| job.time += 1);
    traps("the last place", 0, |job| job.place = u64::MAX);
}

#[test]
fn too_many_taps_trap() {
    let case = Case::new(256, 2);
    let made: Made = case.make();
    for taps in [0, 17] {
        let mut device = Device::<[f32; 2]>::new(&case, &made, 0);
        let wrong = Case { taps, ..case.clone() };
        let report = columns!(wrong, made, device, (0, 1), columns_b10_m1_r8);
        assert!(!report.faults.is_empty() && device.memory.download(device.workspace).iter().all(Option::is_none));
    }
}

#[test]
fn other_sizes_of_spectra_at_any_distance_trap() {
    let case = Case { strided: Some((32, 27)), taps: 4, ..Case::new(256, 2) };
    let made: Made = case.make();
    let [bits, little_endian, stride, unit, width] = case.first().told().0;
    let wrong = [
        [17, little_endian, stride, unit, width],
        [bits, little_endian, stride + 1, unit, width],
        [bits, little_endian, 0, unit, width],
        [bits, little_endian, stride, 2 * unit, width],
        [bits, little_endian, stride, 0, width],
        // Units that a block has no room for.
        [bits, little_endian, stride, 2, 2],
        [bits, little_endian, stride, unit, 1],
        [bits, little_endian, stride, unit, 2 * width],
    ];
    for [a, b, c, d, e] in wrong {
        let mut device = Device::<[f32; 2]>::new(&case, &made, 0);
        let report = columns!(case, made, device, (0, 1), strided_b12_r8, a, b, c, d, e);
        let trapped = report.faults.iter().all(|fault| fault.to_string().contains("trapped"));
        assert!(!report.faults.is_empty() && trapped, "{a} {b} {c} {d} {e}");
        assert!(device.memory.download(device.workspace).iter().all(Option::is_none));
    }
}
