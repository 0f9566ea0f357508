//! Dumps in 32 bits, as they are sent and stored.

use fringes_backend::{DeviceArray, ToHost, UploadError};
use fringes_types::{
    BaselineOrder, Frequencies, Inputs, MaskedSamples, SpectrumClock, TypesError, ValidSamples, Visibilities,
};
use ndarray::{Array2, ArrayView1, ArrayView2};
use num_complex::Complex;

/// Largest magnitude of a part of a 32-bit visibility: `2^31 - 1`.
const LIMIT: i64 = i32::MAX as i64;

/// What a 32-bit visibility holds where data is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MissingData {
    /// The sum of what is present; [`Dump32::valid_samples`] says how much that is.
    #[default]
    Sum,
    /// MeerKAT's mark [`MISSING_MARK`] in every channel of a baseline of which any spectrum is missing. What a
    /// [`ChannelMask`](fringes_types::ChannelMask) left out is not missing: [`Dump32::valid`] has it taken off.
    Mark,
}

/// MeerKAT's mark of a baseline that is affected by missing data. No clamped sum equals it.
pub const MISSING_MARK: Complex<i32> = Complex::new(i32::MIN, 1);

/// A dump of 32-bit visibilities `[channel][baseline]`: sums clamped to `+-(2^31 - 1)` in each part.
///
/// `D` is the array and `C` the count of what did not fit: on the host, or on a device ([`DeviceDump32`]).
///
/// Source of the clamping, the count and the mark: the katgpucbf manual, "Correlation".
#[derive(Debug, Clone, PartialEq)]
pub struct Dump32<D = Array2<Complex<i32>>, C = u64> {
    data: D,
    saturated: C,
    marked_baselines: usize,
    header: Header,
}

/// A dump of 32-bit visibilities on a device.
pub type DeviceDump32 = Dump32<DeviceArray<'static, Complex<i32>>, DeviceArray<'static, u64>>;

/// What a dump is of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) channels: usize,
    pub(crate) inputs: Inputs,
    pub(crate) order: BaselineOrder,
    pub(crate) valid_samples: ValidSamples,
    pub(crate) masked_samples: Option<MaskedSamples>,
    pub(crate) times: u64,
    pub(crate) frequencies: Frequencies,
    pub(crate) clock: SpectrumClock,
}

impl Dump32 {
    /// The sums clamped to 32 bits, with a count of those that did not fit.
    pub fn new(visibilities: &Visibilities<Complex<i64>>, missing: MissingData) -> Self {
        let times = visibilities.times();
        let marked: Vec<bool> =
            visibilities.valid_samples().iter().map(|&valid| missing == MissingData::Mark && valid < times).collect();
        let mut saturated = 0;
        let sums = visibilities.data();
        let data = Array2::from_shape_fn(sums.dim(), |(channel, baseline)| {
            if marked[baseline] {
                return MISSING_MARK;
            }
            let sum = sums[(channel, baseline)];
            let clamped = Complex::new(sum.re.clamp(-LIMIT, LIMIT), sum.im.clamp(-LIMIT, LIMIT));
            saturated += u64::from(clamped != sum);
            // Both fit after clamping.
            Complex::new(clamped.re as i32, clamped.im as i32)
        });
        let header = Header {
            channels: visibilities.channels(),
            inputs: visibilities.inputs(),
            order: visibilities.order(),
            valid_samples: visibilities.valid_counts().clone(),
            masked_samples: visibilities.masked_samples().cloned(),
            times,
            frequencies: visibilities.frequencies(),
            clock: visibilities.clock(),
        };
        Self::of(data, saturated, missing, header)
    }

    /// The visibilities `[channel][baseline]`.
    pub fn data(&self) -> ArrayView2<'_, Complex<i32>> {
        self.data.view()
    }

    /// Takes the array.
    pub fn into_data(self) -> Array2<Complex<i32>> {
        self.data
    }

    /// Number of visibilities that did not fit 32 bits, one per complex value. Marked ones are not counted.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }
}

impl DeviceDump32 {
    /// Number of visibilities that did not fit 32 bits, one per complex value, on the device. Marked ones are not
    /// counted.
    pub fn saturated_array(&self) -> &DeviceArray<'static, u64> {
        &self.saturated
    }
}

impl ToHost for DeviceDump32 {
    type Host = Dump32;

    fn to_host(&self) -> Result<Dump32, UploadError> {
        let (header, elements) = (self.header.clone(), self.data.to_vec()?);
        let shape = (header.channels, header.valid_samples.len());
        let too_large = |_| TypesError::TooLarge { array: "visibilities", elements: format!("{shape:?}") };
        let data = Array2::from_shape_vec(shape, elements).map_err(too_large)?;
        let saturated = self.saturated.to_vec()?.first().copied().unwrap_or(0);
        Ok(Dump32 { data, saturated, marked_baselines: self.marked_baselines, header })
    }
}

impl<D, C> Dump32<D, C> {
    /// What a device or [`Dump32::new`] has clamped, counted and marked.
    pub(crate) fn of(data: D, saturated: C, missing: MissingData, header: Header) -> Self {
        let affected = |&&valid: &&u64| missing == MissingData::Mark && valid < header.times;
        let marked_baselines = header.valid_samples.view().iter().filter(affected).count();
        Self { data, saturated, marked_baselines, header }
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &D {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> D {
        self.data
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.header.channels
    }

    /// Number of baselines that hold the mark.
    pub fn marked_baselines(&self) -> usize {
        self.marked_baselines
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.header.inputs
    }

    /// Order of the baselines.
    pub fn order(&self) -> BaselineOrder {
        self.header.order
    }

    /// Number of spectra of each baseline in which both inputs were present, in all channels alike.
    pub fn valid_samples(&self) -> ArrayView1<'_, u64> {
        self.header.valid_samples.view()
    }

    /// What masks took of [`Dump32::valid_samples`]; `None` if nothing was masked.
    pub fn masked_samples(&self) -> Option<&MaskedSamples> {
        self.header.masked_samples.as_ref()
    }

    /// Number of spectra that a sum is made of, as [`Visibilities::valid`].
    pub fn valid(&self, channel: usize, baseline: usize) -> u64 {
        let Header { channels, valid_samples, masked_samples, .. } = &self.header;
        let present = if channel < *channels { valid_samples.get(baseline) } else { None };
        let masked = masked_samples.as_ref().map_or(0, |masked| masked.masked(channel, baseline));
        present.map_or(0, |present| present.saturating_sub(masked))
    }

    /// Number of spectra that the dump covers, present or not.
    pub fn times(&self) -> u64 {
        self.header.times
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.header.frequencies
    }

    /// Time axis: the stamp of the dump, the spacing of spectra and the sample rate.
    pub fn clock(&self) -> SpectrumClock {
        self.header.clock
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    fn visibilities(values: &[Complex<i64>], valid: &[u64], times: u64) -> Visibilities<Complex<i64>> {
        let inputs = Inputs::single_pol(2).unwrap();
        Visibilities::new(
            Array2::from_shape_vec((values.len() / 3, 3), values.to_vec()).unwrap(),
            inputs,
            BaselineOrder::Triangle,
            Array1::from(valid.to_vec()),
            times,
            Frequencies::default(),
            SpectrumClock::default(),
        )
        .unwrap()
    }

    #[test]
    fn values_that_fit_are_kept_and_others_clamped_and_counted_once() {
        let values = [
            Complex::new(LIMIT, -LIMIT),
            Complex::new(LIMIT + 1, 0),
            Complex::new(0, -LIMIT - 1),
            Complex::new(i64::MAX, i64::MIN),
            Complex::new(-1, 1),
            Complex::new(0, 0),
        ];
        let dump = Dump32::new(&visibilities(&values, &[5, 5, 5], 5), MissingData::Mark);
        let limit = i32::MAX;
        let expected = [(limit, -limit), (limit, 0), (0, -limit), (limit, -limit), (-1, 1), (0, 0)];
        assert!(dump.data().iter().copied().eq(expected.map(|(re, im)| Complex::new(re, im))));
        assert_eq!((dump.saturated(), dump.marked_baselines()), (3, 0));
    }

    #[test]
    fn clamping_and_marking_are_the_references() {
        let values: Vec<_> = (0..30i64).map(|i| Complex::new((i - 15) << 28, (7 - i) << 29)).collect();
        let source = visibilities(&values, &[8, 7, 0], 8);
        let reference = fringes_reference::dump::Dump {
            timestamp: 0,
            sums: source.data().to_owned(),
            valid: source.valid_samples().to_owned(),
        };
        for (missing, covered) in [(MissingData::Sum, None), (MissingData::Mark, Some(8))] {
            let dump = Dump32::new(&source, missing);
            let (data, saturated) = fringes_reference::dump::to_32_bits(&reference, covered);
            assert_eq!((dump.data(), dump.saturated()), (data.view(), saturated));
        }
    }

    #[test]
    fn only_affected_baselines_are_marked() {
        let values = [Complex::new(LIMIT + 1, 0); 3];
        let source = visibilities(&values, &[8, 7, 0], 8);
        let marked = Dump32::new(&source, MissingData::Mark);
        let limit = Complex::new(i32::MAX, 0);
        assert!(marked.data().iter().eq(&[limit, MISSING_MARK, MISSING_MARK]));
        assert_eq!((marked.saturated(), marked.marked_baselines()), (1, 2));
        let summed = Dump32::new(&source, MissingData::Sum);
        assert!(summed.data().iter().eq(&[limit; 3]));
        assert_eq!((summed.saturated(), summed.marked_baselines()), (3, 0));
        assert_eq!(summed.valid_samples().to_vec(), [8, 7, 0]);
    }
}
