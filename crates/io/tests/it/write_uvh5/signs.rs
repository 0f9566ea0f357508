//! The coordinates of a file are those that the phases of its visibilities have.

use fringes_delay_model::{Geometry, SPEED_OF_LIGHT_M_PER_S, Source};
use fringes_io::write::Uvh5Writer;
use fringes_types::{BaselineOrder, Complex, Inputs, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};

use super::{EPOCH_SAMPLE, FIRST, RATE_HZ, Read, SPACING, SPECTRA, array, frequencies, geometry, header, middle};

/// The correlator's sums `sum x_a conj(x_b)` of a source beside the phase centre, from voltages
/// `x_a = s exp(2 pi i f (tau'_a - tau_a))`: what a wave is that comes `tau'` early, stopped on the phase centre.
fn sums(geometry: &Geometry, source: &Geometry, channels: usize) -> Array2<Complex<f64>> {
    let antennas = geometry.antennas();
    let (centre, beside) = (geometry.uvw(middle(0)).unwrap(), source.uvw(middle(0)).unwrap());
    let inputs = Inputs::new(antennas, 1).unwrap();
    let mut sums = Array2::zeros((channels, inputs.triangle_len()));
    for channel in 0..channels {
        let frequency = frequencies().channel_hz(channel);
        let voltage = |antenna: usize, time: usize| {
            let early = (beside[antenna][2] - centre[antenna][2]) / SPEED_OF_LIGHT_M_PER_S;
            let wave = Complex::from_polar(1.0 + (time % 3) as f64, 0.37 * time as f64);
            wave * Complex::from_polar(1.0, std::f64::consts::TAU * frequency * early)
        };
        for a in 0..antennas {
            for b in 0..=a {
                let products = (0..9).map(|time| voltage(a, time) * voltage(b, time).conj());
                sums[(channel, a * (a + 1) / 2 + b)] = products.sum();
            }
        }
    }
    sums
}

#[test]
fn coordinates_are_those_of_the_phases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let (antennas, channels) = (4, 3);
    let header = header(antennas, 1, channels);
    let centre = geometry(antennas);
    let source = Source::RaDec { ra_rad: 1.25 + 0.013, dec_rad: -0.7 + 0.004 };
    let source = Geometry::new(&array(antennas), source, centre.pointing().epoch()).unwrap();
    let clock = SpectrumClock { first_sample: FIRST, samples_between_spectra: SPACING, sample_rate_hz: RATE_HZ };
    let valid = Array1::from_elem(header.inputs.triangle_len(), SPECTRA);
    let sums = sums(&centre, &source, channels);
    let order = BaselineOrder::Triangle;
    let dump = Visibilities::new(sums, header.inputs, order, valid, SPECTRA, frequencies(), clock).unwrap();
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    writer.append_dump(&dump, &centre, EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();

    // Where the source is among the axes of the phase centre.
    let axes = centre.pointing().direction(middle(0)).unwrap().uvw_axes();
    let toward = source.pointing().direction(middle(0)).unwrap().itrf();
    let [l, m, n] = axes.map(|axis| axis.iter().zip(toward).map(|(a, b)| a * b).sum::<f64>());
    assert!(l > 0.009 && m > 0.003, "{l} {m}");
    let file = Read::open(&path);
    let (uvw, visibilities) = (file.floats("uvw_array"), file.visibilities());
    let mut turned = 0.0f64;
    for (uvw, spectrum) in uvw.chunks(3).zip(visibilities.chunks(channels)) {
        let metres = uvw[0] * l + uvw[1] * m + uvw[2] * (n - 1.0);
        for (channel, value) in spectrum.iter().enumerate() {
            let turns = frequencies().channel_hz(channel) * metres / SPEED_OF_LIGHT_M_PER_S;
            let expected = Complex::from_polar(1.0, std::f64::consts::TAU * turns);
            let phase = Complex::new(f64::from(value.re), f64::from(value.im)) * expected.conj();
            // Sums in f32; coordinates to 1e-10 of 100 m, in wavelengths of 0.2 m.
            assert!(phase.arg().abs() < 1e-5, "{uvw:?} {phase}");
            turned = turned.max((turns - turns.round()).abs());
        }
    }
    assert!(turned > 0.1, "the other sign would do as well");
}
