//! The kernels of FRB beams by products of matrices: presets, shapes, finer channels of every number, masks and parts;
//! and voltages of beams, in one call too.

use fringes::backend::DeviceError;
use fringes::beamformer::{
    ChordGrid, FrbBeams, FrbProducts, FrbVoltageKernels, FrbVoltageOutput, FrbVoltages, Offset, frb_voltages,
};
use fringes::f16;
use fringes::fft::Sign;
use fringes::{Backend, BeamformerError, Complex, Complex4};
use fringes_gpu::Buffer;
use ndarray::{Array2, Array3};
use num_complex::Complex64 as C64;

use crate::end::End;
use crate::fft_data::Sample;
use crate::frb_data::expected_voltages;
use crate::validate::frb::{BEYOND, Case, POISON, Way, case, chime_beams, numbers};
use crate::validate::session::{Outcome, Session};

type C32 = Complex<f32>;

/// Error of a voltage, relative to its rms: six roundings to f16.
const VOLTAGE: f64 = 6.91e-4;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    presets(session)?;
    if session.quick {
        return Ok(());
    }
    shapes(session)?;
    channels(session)?;
    voltages(session)
}

/// CASM's chain at two frequencies.
fn casm() -> Result<FrbBeams, End> {
    FrbBeams::casm(&[410e6, 490e6], numbers((2, 2, 6, 43), 3)).map_err(End::failed)
}

/// CHORD's grid at two frequencies, with so many beams toward east-west.
fn chord(outs: usize) -> Result<FrbBeams, End> {
    let angles: Vec<f64> = (0..outs).map(|out| (out as f64 - outs as f64 / 2.0) * 2e-3).collect();
    FrbBeams::chord(&[400e6, 1.4e9], numbers((2, 2, 24, 24), 4), &angles, ChordGrid::default()).map_err(End::failed)
}

fn presets(session: &mut Session) -> Result<(), End> {
    case(session, "CASM", &Case::<Complex4>::new(casm()?, 3))?;
    case(session, "CASM, any", &Case::<Complex4> { way: Way::Products(true), ..Case::new(casm()?, 3) })?;
    case(session, "CASM", &Case::<Complex<i8>>::new(casm()?, 2).masked())?;
    case(session, "CASM, odd address", &Case::<Complex4> { gaps: [1, 2], ..Case::new(casm()?, 2) })?;
    case(session, "CHORD", &Case::<Complex4>::new(chord(24)?, 30))?;
    case(session, "CHORD, any", &Case::<Complex4> { way: Way::Products(true), ..Case::new(chord(20)?, 30) })?;
    case(session, "CHORD", &Case::<Complex<i8>>::new(chord(3)?, 30))?;
    let finer = chord(5)?.into_builder().upchannelisation(16).blocks(12).centre(true).build().map_err(End::failed)?;
    case(session, "CHORD, 16 channels", &Case::<Complex4>::new(finer, 2).masked())?;
    let chime = || chime_beams().map(|beams| Case::<Complex4>::new(beams, 1)).map_err(End::failed);
    let way = Way::Products(false);
    case(session, "CHIME, products", &Case { offset: Offset::Offset8, way, ..chime()? })
}

/// Two frequencies of some lines, with some beams along a line.
fn beams(
    [pols, outs, lines, feeds]: [usize; 4],
    [padded, north]: [usize; 2],
    [channels, group, blocks]: [usize; 3],
) -> Result<FrbBeams, End> {
    let matrix = Array3::from_shape_fn((2, outs, lines), |(frequency, out, line)| {
        C32::from_polar(1.0, (1 + frequency + out * 2 + line * line) as f32)
    });
    let map = Array2::from_shape_fn((2, north), |(frequency, b)| {
        ((17 + 6 * frequency) * b / 10 + 400) as u32 % padded as u32
    });
    FrbBeams::builder(numbers((2, pols, lines, feeds), 2), matrix, padded)
        .map(map)
        .upchannelisation(channels)
        .group(group)
        .blocks(blocks)
        .build()
        .map_err(End::failed)
}

fn shapes(session: &mut Session) -> Result<(), End> {
    for (lines, feeds, padded, north, outs) in [
        (1, 64, 64, 64, 1),
        (1, 1000, 1024, 100, 3),
        (2, 512, 512, 300, 2),
        (3, 41, 128, 50, 7),
        (4, 256, 512, 256, 4),
        (5, 9, 64, 8, 40),
        (8, 48, 64, 64, 24),
        (17, 17, 64, 9, 25),
        (32, 32, 64, 64, 32),
        (64, 20, 128, 40, 9),
    ] {
        let what = format!("{lines} lines of {feeds}, {outs} x {north} of {padded}");
        let of = || beams([2, outs, lines, feeds], [padded, north], [1, 1, 5]);
        case(session, &what, &Case::<Complex4>::new(of()?, 2))?;
        case(session, &what, &Case::<Complex<i8>>::new(of()?, 2).masked())?;
    }
    let few = || beams([2, 5, 6, 43], [128, 50], [1, 1, 7]);
    case(session, "one group of tiles", &Case::<Complex4> { shared: 26 << 10, ..Case::new(few()?, 3) })?;
    let apart = few()?.into_builder().products(FrbProducts::PerPol).conjugate(true).line_sign(Sign::Negative).build();
    case(session, "per pol, conjugated", &Case::<Complex4>::new(apart.map_err(End::failed)?, 40).masked())
}

fn channels(session: &mut Session) -> Result<(), End> {
    for bits in 1..=10 {
        let channels = 1 << bits;
        let group = if bits % 2 == 0 { 2 } else { 1 };
        let of = |lines, feeds| beams([2, 3, lines, feeds], [64, 20], [channels, group, 2]);
        case(session, &format!("{channels} channels"), &Case::<Complex4>::new(of(6, 43)?, 2))?;
        let centred = of(3, 32)?.into_builder().centre(bits > 1).time_sign(Sign::Negative).build();
        case(
            session,
            &format!("{channels} channels, -"),
            &Case::<Complex<i8>>::new(centred.map_err(End::failed)?, 2).masked(),
        )?;
    }
    let long = || beams([1, 2, 4, 100], [128, 30], [32, 8, 1]);
    // More sums than are made at once.
    case(session, "32 channels of 400 sums", &Case::<Complex4>::new(long()?, 400))?;
    let conjugated = long()?.into_builder().conjugate(true).products(FrbProducts::PerPol).build();
    case(session, "conjugated", &Case::<Complex4> { gaps: [3, 5], ..Case::new(conjugated.map_err(End::failed)?, 2) })
}

fn voltages(session: &mut Session) -> Result<(), End> {
    let all: Vec<usize> = (0..24 * 128).collect();
    of_voltages::<Complex4, C32>(session, "CASM", &Case::new(casm()?, 1), &all, 0.0)?;
    of_voltages::<Complex<i8>, Complex<f16>>(session, "CASM, f16", &Case::new(casm()?, 1), &all, 2.82e-4)?;
    let chime = || chime_beams().map_err(End::failed);
    let short = |mut case: Case<Complex4>| {
        case.voltages.slice_axis_inplace(ndarray::Axis(0), (0..33).into());
        case
    };
    let offset = Case { offset: Offset::Offset8, ..short(Case::new(chime()?, 1)) };
    of_voltages::<_, C32>(session, "CHIME, chosen", &offset, &[500, 3, 3, 0, 299, 255], 0.0)?;
    let gaps = Case { gaps: [3, 5], ..short(Case::new(chime()?, 1)) };
    of_voltages::<_, Complex<f16>>(session, "CHIME, f16, gaps", &gaps, &(0..512).collect::<Vec<_>>(), 2.82e-4)?;
    // All beams in their order have a kernel of their own: 9e-4, and another rounding.
    let offset = Case { offset: Offset::Offset8, ..short(Case::new(chime()?, 1)) };
    of_voltages::<_, Complex<f16>>(session, "CHIME, all as f16", &offset, &(0..512).collect::<Vec<_>>(), 6.4e-4)?;
    let turned = chime()?.into_builder().conjugate(false).line_sign(Sign::Negative).build().map_err(End::failed)?;
    let even = Case { gaps: [6, 10], ..short(Case::new(turned, 1)) };
    of_voltages::<_, Complex<f16>>(session, "CHIME, all as f16, even", &even, &(0..512).collect::<Vec<_>>(), 6.4e-4)?;
    in_one_call(session)
}

/// Voltages of beams on the device, as `O`; `more` is the error that this adds.
fn of_voltages<V: Sample, O: FrbVoltageOutput + Number>(
    session: &mut Session,
    what: &str,
    case: &Case<V>,
    chosen: &[usize],
    more: f64,
) -> Result<(), End> {
    session.case_within("frb", format!("voltages, {what}"), case.params(), |session| {
        let stream = &session.stream;
        let times = case.voltages.dim().0;
        let kernels = FrbVoltageKernels::<V>::load(&session.device, &case.beams, chosen)?;
        let (bytes, layout) = case.bytes();
        let bytes = Buffer::from_slice(stream, &bytes)?;
        let count = kernels.voltages(times);
        let mut out = Buffer::<O>::alloc(&session.device, count + BEYOND)?;
        out.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let time_ms = session
            .time(|| kernels.form_bytes(stream, bytes.slice(case.gaps[0]..)?, layout, times, &mut out.view_mut()))?;
        let found = out.to_vec(stream)?;
        let (found, beyond) = found.split_at(count);
        if bytemuck::cast_slice::<O, u8>(beyond).iter().any(|&byte| byte != POISON) {
            return Err("voltages beyond the last one were written".into());
        }
        let (verdict, text) = judge(case, chosen, found.iter().map(|voltage| voltage.number()), VOLTAGE.hypot(more));
        let value = (bytes.bytes() + size_of::<O>() * count) as f64 / time_ms / 1e6;
        Ok((
            Outcome {
                time_ms,
                value,
                unit: "GB/s",
                against: "fringes_reference::frb (f64 sums); poison beyond the end",
                verdict,
            },
            text,
        ))
    })
}

/// Voltages of beams as numbers.
trait Number {
    fn number(&self) -> C64;
}

impl Number for C32 {
    fn number(&self) -> C64 {
        C64::new(self.re.into(), self.im.into())
    }
}

impl Number for Complex<f16> {
    fn number(&self) -> C64 {
        C64::new(self.re.to_f64(), self.im.to_f64())
    }
}

/// Whether the rms error of voltages is within a bound, relative to their rms.
fn judge<V: Sample>(
    case: &Case<V>,
    chosen: &[usize],
    found: impl Iterator<Item = C64>,
    bound: f64,
) -> (Result<(), String>, String) {
    let expected = expected_voltages(&case.beams, chosen, case.voltages.mapv(Sample::number).view());
    let (mut errors, mut squares) = (0.0, 0.0);
    for (found, expected) in found.zip(&expected) {
        errors += (found - expected).norm_sqr();
        squares += expected.norm_sqr();
    }
    let error = (errors / squares).sqrt();
    let text = format!("rms {error:.2e} of the voltages' rms");
    // NaN is within nothing.
    if error <= bound { (Ok(()), text) } else { (Err(format!("expected {bound:.2e} at most, found {text}")), text) }
}

/// `frb_voltages()` on the GPU: whole and in steps the same bits, within the bound; and what it refuses.
fn in_one_call(session: &mut Session) -> Result<(), End> {
    let case = Case::<Complex4>::new(casm()?, 1);
    let chosen = [3000, 0, 77];
    session.case_within("frb", "frb_voltages()", case.params(), |session| {
        let backend = Backend::on(session.device.clone());
        let voltages = FrbVoltages::from_checked(case.voltages.view());
        let start = std::time::Instant::now();
        let found = frb_voltages(&backend, &case.beams, &voltages, &chosen)?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let (mut verdict, text) = judge(&case, &chosen, found.iter().map(Number::number), VOLTAGE);
        let stepped = frb_voltages(&backend.clone().with_memory_limit(20_000), &case.beams, &voltages, &chosen)?;
        if verdict.is_ok() && stepped != found {
            verdict = Err("other voltages in steps".into());
        }
        let short = frb_voltages(&backend.with_memory_limit(1000), &case.beams, &voltages, &chosen);
        if verdict.is_ok() && !matches!(short, Err(BeamformerError::Device(DeviceError::MemoryLimit { .. }))) {
            verdict = Err("too little memory was not refused".into());
        }
        Ok((Outcome { time_ms, value: 0.0, unit: "", against: "fringes_reference::frb (f64 sums)", verdict }, text))
    })
}
