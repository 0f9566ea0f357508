//! Power sums of chunks, pieces and layouts.

use fringes_backend::{Backend, DeviceError};
use fringes_interference::{InterferenceError, PowerSums, power_sums};
use fringes_types::{Complex, Dimension, Heaps, Inputs, Rows, SpectrumClock, TypesError, Voltages};
use ndarray::{Array2, Array3, Array5, Axis, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;

const CLOCK: SpectrumClock = SpectrumClock { first_sample: 1003, samples_between_spectra: 10, sample_rate_hz: 1e6 };

/// 90 spectra of 3 channels and 4 inputs from spectrum 100 on, some of them absent.
fn data() -> (Array3<C8>, Array2<bool>) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut part = || generator.random_range(-127..=127i8);
    let data = Array3::from_shape_simple_fn((3, 90, 4), || C8::new(part(), part()));
    (data, Array2::from_shape_fn((90, 4), |(time, input)| (time / 9 + input) % 4 != 0))
}

fn at(spectrum: u64) -> SpectrumClock {
    SpectrumClock { first_sample: CLOCK.first_sample + 10 * (spectrum - 100), ..CLOCK }
}

fn voltages(times: std::ops::Range<usize>) -> Voltages<C8> {
    let (data, presence) = data();
    let data = data.slice(s![.., times.clone(), ..]).to_owned();
    let presence = presence.slice(s![times.clone(), ..]).to_owned();
    let voltages = Voltages::from_received(data, Inputs::new(2, 2).unwrap(), presence).unwrap();
    voltages.with_clock(at(100 + times.start as u64)).unwrap()
}

fn sums(times: std::ops::Range<usize>, spectra: usize) -> PowerSums<u64> {
    power_sums(&Backend::cpu(), &voltages(times), spectra).unwrap()
}

#[test]
fn blocks_lie_on_the_grid_of_the_spectra_and_are_the_references() {
    // Spectrum 100 is the fifth of block 6 of 16 spectra, which begins at 96.
    let sums = sums(0..90, 16);
    assert_eq!((sums.clock(), sums.blocks(), sums.spectra_per_block()), (at(100).earlier(4), 6, 16));
    assert_eq!(sums.spectra(), [12, 16, 16, 16, 16, 14]);
    let (data, presence) = data();
    let wide = data.mapv(|x| Complex::new(f64::from(x.re), f64::from(x.im)));
    let expected = fringes_reference::interference::power_sums(wide.view(), Some(presence.view()), 16, 4);
    assert_eq!(sums.count(), expected.count);
    assert_eq!(sums.first().mapv(|sum| sum as f64), expected.first);
    assert_eq!(sums.second().mapv(|sum| sum as f64), expected.second);
    let kurtosis = sums.spectral_kurtosis();
    for ((channel, block, input), &value) in kurtosis.indexed_iter() {
        let (first, second) = (expected.first[(channel, block, input)], expected.second[(channel, block, input)]);
        let of = fringes_reference::interference::spectral_kurtosis(expected.count[(block, input)], first, second);
        assert!((value - of).abs() <= 1e-12 * of.abs() || value.is_nan() && of.is_nan());
    }
}

trait Earlier {
    fn earlier(self, spectra: u64) -> Self;
}

impl Earlier for SpectrumClock {
    fn earlier(self, spectra: u64) -> Self {
        Self { first_sample: self.first_sample - spectra * self.samples_between_spectra, ..self }
    }
}

#[test]
fn pieces_put_together_are_the_whole_however_they_are_cut() {
    for spectra in [1, 7, 16, 1000] {
        let whole = sums(0..90, spectra);
        for cuts in [vec![0, 12, 90], vec![0, 1, 2, 50, 89, 90], vec![0, 0, 28, 44, 90, 90]] {
            let pieces = cuts.windows(2).map(|cut| sums(cut[0]..cut[1], spectra));
            let joined = pieces.reduce(|sums, next| sums.followed_by(next).unwrap()).unwrap();
            assert_eq!(joined, whole, "{spectra} {cuts:?}");
        }
    }
}

#[test]
fn coarser_blocks_are_those_of_longer_blocks() {
    for (spectra, factor) in [(7, 3), (16, 2), (1, 16), (5, 1000)] {
        assert_eq!(sums(0..90, spectra).coarser(factor).unwrap(), sums(0..90, spectra * factor));
    }
    assert!(matches!(sums(0..90, 7).coarser(0), Err(InterferenceError::Types(TypesError::NotPositive { .. }))));
}

#[test]
fn heaps_and_rows_have_the_sums_of_voltages() {
    let voltages = voltages(0..90);
    let (data, _) = data();
    let heaps = Array5::from_shape_fn((10, 2, 3, 9, 2), |(batch, antenna, channel, spectrum, pol)| {
        data[(channel, batch * 9 + spectrum, antenna * 2 + pol)]
    });
    let presence = Array2::from_shape_fn((10, 2), |(batch, antenna)| (batch + antenna) % 3 != 0);
    let heaps = Heaps::from_received(heaps, presence.clone()).unwrap().with_clock(at(100)).unwrap();
    let of_times = Array2::from_shape_fn((90, 4), |(time, input)| presence[(time / 9, input / 2)]);
    let same = Voltages::from_received(data, voltages.inputs(), of_times).unwrap().with_clock(at(100)).unwrap();
    for spectra in [9, 16, 4] {
        let sums = |chunk: &Voltages<C8>| power_sums(&Backend::cpu(), chunk, spectra).unwrap();
        assert_eq!(power_sums(&Backend::cpu(), &heaps, spectra).unwrap(), sums(&same));
        assert_eq!(power_sums(&Backend::cpu(), &Rows::from_voltages(&voltages), spectra).unwrap(), sums(&voltages));
    }
}

#[test]
fn what_does_not_follow_is_an_error() {
    let whole = sums(0..40, 16);
    for next in [sums(0..40, 16), sums(60..90, 16)] {
        let error = whole.clone().followed_by(next).unwrap_err();
        assert!(matches!(error, InterferenceError::Continuation { .. }), "{error}");
    }
    let error = whole.clone().followed_by(sums(40..90, 8)).unwrap_err();
    let expected =
        TypesError::Dimension { array: "power sums that follow", dimension: Dimension::Time, expected: 16, actual: 8 };
    assert_eq!(error, expected.into());
    let one = Voltages::new(data().0.index_axis(Axis(0), 0).insert_axis(Axis(0)).to_owned(), whole.inputs()).unwrap();
    let error = whole.followed_by(power_sums(&Backend::cpu(), &one, 16).unwrap()).unwrap_err();
    assert!(matches!(error, InterferenceError::Types(TypesError::Dimension { dimension: Dimension::Channel, .. })));
}

#[test]
fn blocks_of_nothing_are_an_error_and_no_spectra_make_no_blocks() {
    let error = power_sums(&Backend::cpu(), &voltages(0..90), 0).unwrap_err();
    assert!(matches!(error, InterferenceError::Types(TypesError::NotPositive { .. })), "{error}");
    let none = sums(5..5, 16);
    assert_eq!((none.blocks(), none.first().dim()), (0, (3, 0, 4)));
    assert_eq!(none.followed_by(sums(5..90, 16)).unwrap(), sums(5..90, 16));
    let huge = power_sums(&Backend::cpu(), &voltages(0..90), usize::MAX).unwrap();
    assert_eq!((huge.blocks(), huge.spectra()), (1, &[90u64][..]));
}

#[test]
fn a_backend_that_is_a_gpu_and_nothing_else_is_an_error() {
    let Ok(backend) = Backend::gpu(0) else { return };
    let error = power_sums(&backend, &voltages(0..90), 16).unwrap_err();
    assert!(matches!(error, InterferenceError::Device(DeviceError::NotOnGpu { .. })), "{error}");
}
