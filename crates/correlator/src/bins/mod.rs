//! Which spectra are summed together: several sums of one stream at once.

mod phase;

use std::fmt;
use std::sync::Arc;

use fringes_types::TypesError;

use crate::CorrelatorError;

pub use phase::{PulsePhase, Turns};

/// A function from spectra to *bins*: numbers of sums, each with the spectra that the function gives it.
///
/// | made by | bins are | for |
/// |---|---|---|
/// | [`Bins::table`] | a table that repeats, each entry some spectra long | noise diodes, Walsh states, gates |
/// | [`Bins::fold`] | equal parts of a phase | pulsars |
/// | [`Bins::windows`] | parts of a phase, some of them in no bin | gates on and off a pulse |
/// | [`Bins::function`] | what a function of your own says | the rest |
///
/// Spectra are counted from ADC sample 0: spectrum `n` is stamped from `n` times the spacing of spectra up to the next,
/// as the chunk's clock says. So bins do not depend on chunks, dumps or where a stream begins.
///
/// ```
/// use fringes_correlator::{Bins, PulsePhase, Turns};
///
/// // A noise diode that is on for 10 spectra of 40, from spectrum 5 on.
/// let diode = Bins::table(2, 10, vec![Some(1), Some(0), Some(0), Some(0)])?.beginning_at(5);
/// assert_eq!([4, 5, 14, 15, 44, 45].map(|n| diode.bin(n)), [0, 1, 1, 0, 0, 1].map(Some));
///
/// // A pulsar that turns once in 7.5 spectra, in 3 bins; and a gate of a third of its period. The constant keeps
/// // phases off the edges.
/// let phase = PulsePhase::new(0, vec![Turns::ratio(1, 30)?, Turns::ratio(2, 15)?])?;
/// let folded = Bins::fold(phase.clone(), 3)?;
/// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(|n| folded.bin(n)), [0, 0, 0, 1, 1, 2, 2, 2, 0].map(Some));
/// let gate = Bins::windows(phase, 1, vec![Some(0), None, None])?;
/// assert_eq!([0, 2, 3, 7, 8].map(|n| gate.bin(n)), [Some(0), Some(0), None, None, Some(0)]);
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Clone)]
pub struct Bins {
    count: usize,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Table { first: u64, spectra: u64, entries: Arc<[Option<usize>]> },
    Phase { phase: PulsePhase, entries: Arc<[Option<usize>]> },
    Function(Arc<dyn Fn(u64) -> Option<usize> + Send + Sync>),
}

/// Most parts that a phase is divided into.
const MOST_PARTS: usize = 1 << 24;

impl Bins {
    /// Bins `0..count` by a table that repeats: each entry is the bin of `spectra` spectra, `None` for no bin. The
    /// first entry begins with spectrum 0, or [`Bins::beginning_at`].
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] without bins, entries, or spectra of an entry; [`CorrelatorError::Bin`] for an entry
    /// that is no bin.
    pub fn table(count: usize, spectra: u64, entries: Vec<Option<usize>>) -> Result<Self, CorrelatorError> {
        positive("spectra of an entry of bins", spectra)?;
        let entries = checked(count, entries)?;
        Ok(Self { count, kind: Kind::Table { first: 0, spectra, entries } })
    }

    /// A table's first entry begins with this spectrum, and the ones before it as if it had begun earlier. Of other
    /// bins nothing is changed.
    pub fn beginning_at(mut self, spectrum: u64) -> Self {
        if let Kind::Table { first, .. } = &mut self.kind {
            *first = spectrum;
        }
        self
    }

    /// Bins of equal parts of a turn of a phase: bin `b` of `count` has the phases from `b / count` on.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] without bins, [`TypesError::TooLarge`] for more than 2^24.
    pub fn fold(phase: PulsePhase, count: usize) -> Result<Self, CorrelatorError> {
        if count > MOST_PARTS {
            return Err(TypesError::TooLarge { array: "bins", elements: count.to_string() }.into());
        }
        Self::windows(phase, count, (0..count).map(Some).collect())
    }

    /// Bins `0..count` by parts of a turn of a phase: of `n` entries, entry `k` is the bin of the phases from `k / n`
    /// on, `None` for no bin.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] without bins or entries, [`TypesError::TooLarge`] for more than 2^24 entries,
    /// [`CorrelatorError::Bin`] for an entry that is no bin.
    pub fn windows(phase: PulsePhase, count: usize, entries: Vec<Option<usize>>) -> Result<Self, CorrelatorError> {
        if entries.len() > MOST_PARTS {
            return Err(TypesError::TooLarge { array: "bins", elements: entries.len().to_string() }.into());
        }
        let entries = checked(count, entries)?;
        Ok(Self { count, kind: Kind::Phase { phase, entries } })
    }

    /// Bins `0..count` by a function of the spectrum's number. What it gives beyond the last bin is in no bin.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] without bins.
    pub fn function(
        count: usize,
        function: impl Fn(u64) -> Option<usize> + Send + Sync + 'static,
    ) -> Result<Self, CorrelatorError> {
        positive("number of bins", count as u64)?;
        Ok(Self { count, kind: Kind::Function(Arc::new(function)) })
    }

    /// Number of bins.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bin of a spectrum, `None` for no bin.
    pub fn bin(&self, spectrum: u64) -> Option<usize> {
        match &self.kind {
            Kind::Table { first, spectra, entries } => {
                let offset = i128::from(spectrum) - i128::from(*first);
                let place = offset.div_euclid(i128::from(*spectra)).rem_euclid(entries.len() as i128);
                entries.get(place as usize).copied().flatten()
            }
            Kind::Phase { phase, entries } => entries.get(phase.part(spectrum, entries.len())).copied().flatten(),
            Kind::Function(function) => function(spectrum).filter(|&bin| bin < self.count),
        }
    }
}

impl fmt::Debug for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bins = f.debug_struct("Bins");
        bins.field("count", &self.count);
        match &self.kind {
            Kind::Table { first, spectra, entries } => {
                bins.field("first", first).field("spectra", spectra).field("entries", &entries.len())
            }
            Kind::Phase { phase, entries } => bins.field("phase", phase).field("entries", &entries.len()),
            Kind::Function(_) => bins.field("function", &".."),
        };
        bins.finish()
    }
}

fn positive(quantity: &'static str, value: u64) -> Result<(), TypesError> {
    if value == 0 { Err(TypesError::NotPositive { quantity, actual: 0.0 }) } else { Ok(()) }
}

/// Entries that are bins below `count`, or none.
fn checked(count: usize, entries: Vec<Option<usize>>) -> Result<Arc<[Option<usize>]>, CorrelatorError> {
    positive("number of bins", count as u64)?;
    positive("number of entries of bins", entries.len() as u64)?;
    for (entry, bin) in entries.iter().enumerate() {
        if let Some(actual) = bin.filter(|&bin| bin >= count) {
            return Err(CorrelatorError::Bin { entry, count, actual });
        }
    }
    Ok(entries.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_repeat_in_both_directions_and_to_the_end_of_the_counter() {
        let bins = Bins::table(3, 4, vec![Some(0), None, Some(2)]).unwrap().beginning_at(100);
        for spectrum in [0u64, 1, 87, 88, 99, 100, 103, 104, 108, 111, 112, u64::MAX] {
            // 12 spectra a period; 100 is 4 more than a multiple.
            let expected = match (u128::from(spectrum) + 8) % 12 / 4 {
                0 => Some(0),
                1 => None,
                _ => Some(2),
            };
            assert_eq!(bins.bin(spectrum), expected, "{spectrum}");
        }
    }

    #[test]
    fn bins_that_are_none_are_errors() {
        let phase = PulsePhase::new(0, vec![Turns::default(), Turns::ratio(1, 3).unwrap()]).unwrap();
        let not_positive =
            |error: CorrelatorError| matches!(error, CorrelatorError::Types(TypesError::NotPositive { .. }));
        assert!(not_positive(Bins::table(0, 1, vec![None]).unwrap_err()));
        assert!(not_positive(Bins::table(1, 0, vec![None]).unwrap_err()));
        assert!(not_positive(Bins::table(1, 1, vec![]).unwrap_err()));
        assert!(not_positive(Bins::fold(phase.clone(), 0).unwrap_err()));
        assert!(not_positive(Bins::function(0, |_| None).unwrap_err()));
        let error = Bins::windows(phase.clone(), 2, vec![None, Some(2)]).unwrap_err();
        assert_eq!(error, CorrelatorError::Bin { entry: 1, count: 2, actual: 2 });
        assert!(matches!(Bins::fold(phase, usize::MAX), Err(CorrelatorError::Types(TypesError::TooLarge { .. }))));
        let wild = Bins::function(2, |spectrum| Some(spectrum as usize)).unwrap();
        assert_eq!([0, 1, 2].map(|spectrum| wild.bin(spectrum)), [Some(0), Some(1), None]);
        assert!(format!("{wild:?}").contains("count: 2"));
    }
}
