//! How many spectra are complete with some samples, and the coarse delays of their windows: sections
//! `[input][section]`, each some consecutive spectra.

use fringes_delay_model::Section;
use rayon::prelude::*;

use super::{Position, Timeline};
use crate::ChannelizerError;

/// Inputs from which on threads share the work of looking at their delays.
const PARALLEL: usize = 16;
/// Most spectra that are looked at at once.
const MOST_AT_ONCE: usize = 1 << 20;

impl Timeline {
    /// The spectra that `times` more samples complete: how many are made now, the sections of their delays, and the
    /// position after them.
    pub(super) fn ready(
        &self,
        mut position: Position,
        times: usize,
        together: bool,
    ) -> Result<(usize, Vec<Vec<Section>>, Position), ChannelizerError> {
        let (window, stride) = (self.plan.window_samples() as i64, self.plan.stride() as u64);
        position.received = position.received.saturating_add(times as u64);
        let received = position.received as i64;
        let (first, mut furthest) = (position.next, position.furthest.clone());
        let mut all: Vec<Vec<Section>> = vec![Vec::new(); self.inputs.len()];
        let mut ready = 0;
        loop {
            // Delays of some spectra at once: by the delays of now, about as many as will be complete.
            let from = first.saturating_add(ready as u64 * stride);
            let latest = furthest.iter().max().map_or(0, |&start| start.max(0));
            let left = received.saturating_sub(latest.saturating_add(window)).max(0) as u64 / stride;
            let stamps = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1).min(MOST_AT_ONCE);
            let sections: Vec<Vec<Section>> = if self.delays.len() < PARALLEL {
                self.delays.iter().map(|delay| delay.sections(from, stride, stamps)).collect()
            } else {
                self.delays.par_iter().map(|delay| delay.sections(from, stride, stamps)).collect()
            };
            // Windows of spectrum `m` begin at `from - coarse + m stride`. The first spectrum that is not complete:
            let end = sections.iter().flatten().filter_map(|section| {
                let over = received - window - (from as i64 - section.coarse);
                let complete = if over < 0 { 0 } else { (over as u64 / stride).saturating_add(1) };
                let end = usize::try_from(complete).unwrap_or(usize::MAX).max(section.spectra.start);
                (end < section.spectra.end).then_some(end)
            });
            let end = end.min();
            self.check_sections((from, end.unwrap_or(stamps - 1)), &sections, &furthest)?;
            let made = end.unwrap_or(stamps);
            for ((all, sections), furthest) in all.iter_mut().zip(sections).zip(&mut furthest) {
                for Section { spectra, coarse } in sections {
                    let spectra = spectra.start..spectra.end.min(made);
                    if spectra.is_empty() {
                        break;
                    }
                    *furthest = (*furthest).max(from as i64 - coarse + ((spectra.end - 1) as u64 * stride) as i64);
                    let spectra = ready + spectra.start..ready + spectra.end;
                    match all.last_mut() {
                        Some(last) if last.coarse == coarse => last.spectra.end = spectra.end,
                        _ => all.push(Section { spectra, coarse }),
                    }
                }
            }
            ready += made;
            if end.is_some() {
                break;
            }
        }
        let spectra = if together { self.together.of(first / stride, ready) } else { ready };
        for (sections, furthest) in all.iter_mut().zip(&mut position.furthest) {
            sections.retain(|section| section.spectra.start < spectra);
            for section in sections {
                section.spectra.end = section.spectra.end.min(spectra);
                let last = (section.spectra.end - 1) as u64 * stride;
                *furthest = (*furthest).max(first as i64 - section.coarse + last as i64);
            }
        }
        position.next = first + spectra as u64 * stride;
        Ok((spectra, all, position))
    }

    /// `Ok` if no delay of the spectra up to `last` is too large, and no window begins too far behind the latest one.
    fn check_sections(
        &self,
        (from, last): (u64, usize),
        sections: &[Vec<Section>],
        furthest: &[i64],
    ) -> Result<(), ChannelizerError> {
        let stride = self.plan.stride() as u64;
        // Of a spectrum, delays come before jumps.
        let mut first: Option<(usize, bool, usize, i64, i64)> = None;
        for (input, (sections, &furthest)) in sections.iter().zip(furthest).enumerate() {
            let mut furthest = furthest;
            for Section { spectra, coarse } in sections.iter().take_while(|section| section.spectra.start <= last) {
                // Windows of a section begin ever later: the first one is the furthest behind.
                let start = from as i64 - coarse + (spectra.start as u64 * stride) as i64;
                let earliest = furthest - self.max_growth as i64;
                let found = if coarse.unsigned_abs() > self.max_delay {
                    Some((spectra.start, false, input, start, earliest))
                } else if start < earliest {
                    Some((spectra.start, true, input, start, earliest))
                } else {
                    None
                };
                first = first.into_iter().chain(found).min();
                furthest = furthest.max(start + ((spectra.len() - 1) as u64 * stride) as i64);
            }
        }
        let Some((spectrum, is_jump, input, start, earliest)) = first else { return Ok(()) };
        let sample = from + spectrum as u64 * stride;
        if is_jump {
            return Err(ChannelizerError::DelayJump { input, sample, start, earliest });
        }
        let (actual, limit) = (self.delays[input].delay_samples(sample), self.max_delay);
        Err(ChannelizerError::DelayTooLarge { input, sample, actual, limit })
    }
}
