//! What an instrument is checked for before anything starts.

use fringes_correlator::DumpSchedule;
use fringes_types::Inputs;

use crate::source::Source;
use crate::turn::CornerTurn;
use crate::{StreamError, TimeShares};

/// Checks that there is a source where there must be one, and none behind a corner turn alone.
pub(super) fn has_source(source: bool, turned: bool) -> Result<(), StreamError> {
    if source != turned {
        return Ok(());
    }
    let [expected, actual] = if source { ["none", "one"] } else { ["one", "none"] };
    Err(StreamError::Plan { what: "source", expected: expected.into(), actual: actual.into() })
}

/// Checks that a source has the F-engine's inputs.
pub(super) fn inputs(source: Option<&dyn Source>, inputs: Option<Inputs>) -> Result<(), StreamError> {
    let Some((found, expected)) = source.map(|source| source.info().inputs).zip(inputs) else { return Ok(()) };
    if found == expected {
        return Ok(());
    }
    let say = |of: Inputs| format!("{} antennas of {} polarisations", of.antennas(), of.pols());
    Err(StreamError::Input { expected: say(expected), actual: say(found) })
}

/// Checks that a masker's blocks are of whole frames, of so many spectra.
pub(super) fn blocks(spectra: Option<usize>, per_frame: usize) -> Result<(), StreamError> {
    match spectra {
        Some(spectra) if spectra == 0 || spectra % per_frame.max(1) != 0 => {
            let (what, expected) = ("spectra of a masker's block", format!("a multiple of {per_frame}"));
            Err(StreamError::Plan { what, expected, actual: spectra.to_string() })
        }
        _ => Ok(()),
    }
}

/// Checks that instruments that take turns have whole dumps, of such lengths.
pub(super) fn spans(turns: Option<&(TimeShares, usize)>, lengths: &[u64]) -> Result<(), StreamError> {
    let Some((shares, _)) = turns else { return Ok(()) };
    match lengths.iter().find(|&&length| shares.span() % length != 0) {
        Some(length) => {
            let (what, expected) = ("samples of a span", format!("a multiple of dumps of {length}"));
            Err(StreamError::Plan { what, expected, actual: shares.span().to_string() })
        }
        None => Ok(()),
    }
}

/// Checks that an F-engine is that of this rank in the corner turn's plan.
pub(super) fn turn(
    turn: &CornerTurn,
    inputs: Option<Inputs>,
    channels: usize,
    frame: Option<[u64; 2]>,
) -> Result<(), StreamError> {
    let plan = turn.plan();
    let (share, pols) = (turn.antennas().len(), plan.inputs().pols());
    let Some(of) = inputs else {
        let (what, expected) = ("antennas of a rank without an F-engine", "0".into());
        return if share == 0 { Ok(()) } else { Err(StreamError::Plan { what, expected, actual: share.to_string() }) };
    };
    let say = |antennas: usize, pols: usize, channels: usize, frame: Option<[u64; 2]>| {
        let inputs = format!("{antennas} antennas of {pols} polarisations and {channels} channels");
        match frame {
            Some([samples, spectra]) => format!("{inputs} in frames of {spectra} spectra, {samples} samples apart"),
            None => format!("{inputs} as heaps of a source"),
        }
    };
    let expected = say(share, pols, plan.channels(), Some(plan.frame()));
    let actual = say(of.antennas(), of.pols(), channels, frame);
    let what = "F-engine of this rank of the corner turn";
    if expected == actual { Ok(()) } else { Err(StreamError::Plan { what, expected, actual }) }
}

/// Checks what there is to do.
pub(super) fn plan(
    cadences: &[(DumpSchedule, Option<Vec<usize>>)],
    beams: bool,
    inputs: Inputs,
    frame: Option<[u64; 2]>,
) -> Result<(), StreamError> {
    if cadences.is_empty() && !beams {
        let (what, expected) = ("instrument", "a cadence of dumps, or beams".into());
        return Err(StreamError::Plan { what, expected, actual: "neither".into() });
    }
    for (schedule, antennas) in cadences {
        let actual = [schedule.samples_between_spectra(), schedule.spectra_per_heap()];
        if let Some(expected) = frame
            && expected != actual
        {
            let say = |[samples, spectra]: [u64; 2]| format!("frames of {spectra} spectra, {samples} samples apart");
            let (expected, actual) = (say(expected), say(actual));
            return Err(StreamError::Plan { what: "schedule of dumps", expected, actual });
        }
        let antennas = antennas.as_deref().unwrap_or(&[0]);
        let mut sorted = antennas.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let there = sorted.last().is_some_and(|&last| last < inputs.antennas());
        if !there || sorted.len() != antennas.len() {
            let expected = format!("different antennas of 0..{}", inputs.antennas());
            let actual = format!("{antennas:?}");
            return Err(StreamError::Plan { what: "antennas of a cadence", expected, actual });
        }
    }
    Ok(())
}
