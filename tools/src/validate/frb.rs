//! The kernels of FRB beams: encodings, layouts, lines and feeds of all kinds, groups, masks, parts, signs, against the
//! chain in f64; and `frb_beams()` and `FrbStream` of voltages on the host.
//!
//! Powers are poisoned before, and there is room after the last one that must stay as it was.

use fringes::backend::DeviceError;
use fringes::beamformer::{
    FrbBeams, FrbBeamsBuilder, FrbKernels, FrbLayout, FrbProducts, FrbStream, FrbVoltages, Offset, frb_beams,
};
use fringes::fft::Sign;
use fringes::{Backend, BeamformerError, Complex, Complex4, TypesError};
use fringes_gpu::Buffer;
use ndarray::{Array2, Array3, Array4, Array5, ArrayView5, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::fft_data::Sample;
use crate::frb_data::{expected, judge};
use crate::gpu_report::{Params, params};
use crate::validate::frb_products;
use crate::validate::session::{Outcome, Session};

/// Powers after the last one, which must stay.
pub(super) const BEYOND: usize = 64;
/// What they are filled with.
pub(super) const POISON: u8 = 0x5a;
const AGAINST: &str = "fringes_reference::frb (f64 sums); poison beyond the end";
/// All of a device's shared memory.
const ALL: u32 = u32::MAX;

type Fault = Box<dyn std::error::Error>;
type C32 = Complex<f32>;

/// Beams, voltages and flags, and how they lie.
pub(super) struct Case<V> {
    pub(super) beams: FrbBeams,
    pub(super) voltages: Array5<V>,
    /// `[frequency][block]`.
    pub(super) mask: Option<Array2<bool>>,
    /// Most bytes of shared memory.
    pub(super) shared: u32,
    pub(super) offset: Offset,
    /// Bytes in front, and between lines.
    pub(super) gaps: [usize; 2],
    /// The kernels that are taken.
    pub(super) way: Way,
}

/// Which kernels are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Those that the beams choose.
    Best,
    /// Of one launch, those with a block for each sum over lines.
    OneOut,
    /// Of one launch, that of any lines.
    AnyLines,
    /// Products of matrices, of any lines if true.
    Products(bool),
}

impl<V: Sample> Case<V> {
    /// Noise of the format's whole range, two sums of it.
    pub(super) fn new(beams: FrbBeams, sums: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(beams.feeds() as u64 + 1000 * beams.group() as u64);
        let dim = (sums * beams.sum_times(), beams.frequencies(), beams.pols(), beams.lines(), beams.feeds());
        let voltages = Array5::from_shape_simple_fn(dim, || V::from_random(random.random()));
        Self { beams, voltages, mask: None, shared: ALL, offset: Offset::TwosComplement, gaps: [0, 0], way: Way::Best }
    }

    fn blocks(&self) -> usize {
        self.voltages.dim().0 / self.beams.upchannelisation()
    }

    /// With about a third of the blocks left out, and all of the first sum of the last frequency.
    pub(super) fn masked(mut self) -> Self {
        let (frequencies, blocks) = (self.beams.frequencies(), self.beams.blocks());
        let mask = |(frequency, block): (usize, usize)| {
            (frequency + block) % 3 != 0 && !(frequency + 1 == frequencies && block < blocks)
        };
        self.mask = Some(Array2::from_shape_fn((frequencies, self.blocks()), mask));
        self
    }

    /// Powers in f64, and good blocks.
    fn expected(&self) -> (Array5<f64>, Array2<u32>) {
        let voltages = self.voltages.mapv(Sample::number);
        let mask = self.mask.as_ref().map(|mask| mask.view());
        expected(&self.beams, 0..self.beams.frequencies(), voltages.view(), mask)
    }

    /// Bytes as they lie on the device, after those in front.
    pub(super) fn bytes(&self) -> (Vec<u8>, FrbLayout) {
        let [front, gap] = self.gaps;
        let packed = FrbLayout::packed::<V>(&self.beams, self.offset);
        let line_bytes = packed.line_bytes + gap;
        let pol_bytes = line_bytes * self.beams.lines();
        let frequency_bytes = pol_bytes * self.beams.pols();
        let time_bytes = frequency_bytes * self.beams.frequencies();
        let layout = FrbLayout { offset: self.offset, time_bytes, frequency_bytes, pol_bytes, line_bytes };
        let turned = if self.offset == Offset::Offset8 && size_of::<V>() == 1 { 0x88 } else { 0 };
        let mut bytes = vec![POISON; front];
        for line in self.voltages.rows() {
            bytes.extend(bytemuck::cast_slice::<V, u8>(&line.to_vec()).iter().map(|byte| byte ^ turned));
            bytes.extend(std::iter::repeat_n(POISON, gap));
        }
        bytes.truncate(bytes.len() - gap);
        (bytes, layout)
    }

    pub(super) fn params(&self) -> Params {
        let beams = &self.beams;
        let sums = self.voltages.dim().0 / beams.sum_times();
        params([
            ("feeds", beams.feeds()),
            ("freqs", beams.frequencies()),
            ("lines", beams.lines()),
            ("pols", beams.pols()),
            ("sums", sums),
        ])
    }

    /// Makes powers on the device and judges them.
    fn run(&self, session: &Session) -> Result<(Outcome, String), Fault> {
        let stream = &session.stream;
        let times = self.voltages.dim().0;
        let kernels = match self.way {
            Way::Products(any) => FrbKernels::<V>::load_grid(&session.device, &self.beams, self.shared, any)?,
            _ => FrbKernels::<V>::load_within(&session.device, &self.beams, self.shared)?,
        };
        let kernels = match self.way {
            Way::AnyLines => kernels.of_any_lines(),
            Way::OneOut => kernels.of_one_out(),
            Way::Best | Way::Products(_) => kernels,
        };
        let (bytes, layout) = self.bytes();
        let bytes = Buffer::from_slice(stream, &bytes)?;
        let flags: Vec<u8> = self.mask.iter().flatten().map(|&good| u8::from(good) * 0x20).collect();
        let flags = Buffer::from_slice(stream, &flags)?;
        let count = kernels.powers(times)?;
        let mut powers = Buffer::<f32>::alloc(&session.device, count + BEYOND)?;
        powers.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let time_ms = session.time(|| {
            let good = self.mask.as_ref().map(|_| flags.view());
            let view = bytes.slice(self.gaps[0]..)?;
            kernels.detect_bytes(stream, view, layout, times, good, &mut powers.view_mut())
        })?;
        let found = powers.to_vec(stream)?;
        let (found, beyond) = found.split_at(count);
        if bytemuck::cast_slice::<f32, u8>(beyond).iter().any(|&byte| byte != POISON) {
            return Err("powers beyond the last one were written".into());
        }
        let (expected, good) = self.expected();
        let found = ArrayView5::from_shape(expected.dim(), found)?;
        let (verdict, error) = judge(&self.beams, kernels.by_products(), found, &expected, &good);
        let value = (bytes.bytes() + size_of::<f32>() * count) as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s", against: AGAINST, verdict }, error))
    }
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants("frb") {
        return Ok(());
    }
    chime(session)?;
    shapes(session)?;
    frb_products::validate(session)?;
    one_call::<Complex4>(session)?;
    one_call::<Complex<i8>>(session)?;
    streams(session)?;
    refusals(session)
}

pub(super) fn case<V: Sample>(session: &mut Session, what: &str, case: &Case<V>) -> Result<(), End> {
    let variant = format!("{}, {what}", V::FORMAT.to_string().replace(" integer", ""));
    session.case_within("frb", variant, case.params(), |session| case.run(session))
}

/// CHIME's chain at two frequencies, with two sums over cylinders.
pub(super) fn chime_beams() -> Result<FrbBeams, BeamformerError> {
    let gains = numbers((2, 2, 4, 256), 1);
    FrbBeams::chime(&[450e6, 700e6], gains, &[0.0, 0.007])
}

/// Gains of various sizes and angles.
pub(super) fn numbers(dim: (usize, usize, usize, usize), seed: u64) -> Array4<C32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array4::from_shape_simple_fn(dim, || {
        C32::from_polar(random.random_range(0.5..2.0), random.random_range(0.0..std::f32::consts::TAU))
    })
}

/// Two frequencies of lines padded to 512, with 200 beams along a line.
fn builder([pols, outs, lines, feeds]: [usize; 4]) -> FrbBeamsBuilder {
    let matrix = Array3::from_shape_fn((2, outs, lines), |(frequency, out, line)| {
        C32::from_polar(1.0, (1 + frequency + out * 2 + line * line) as f32)
    });
    let map = Array2::from_shape_fn((2, 200), |(frequency, b)| ((17 + 6 * frequency) * b / 10 + 400) as u32 % 512);
    FrbBeams::builder(numbers((2, pols, lines, feeds), 2), matrix, 512).map(map).upchannelisation(128).group(8)
}

fn chime(session: &mut Session) -> Result<(), End> {
    let of = |sums| chime_beams().map(|beams| Case::<Complex4>::new(beams, sums)).map_err(End::failed);
    case(session, "CHIME, offset", &Case { offset: Offset::Offset8, ..of(1)? })?;
    if session.quick {
        return Ok(());
    }
    case(session, "CHIME, offset, any", &Case { offset: Offset::Offset8, way: Way::AnyLines, ..of(1)? })?;
    case(session, "CHIME", &of(2)?)?;
    case(session, "CHIME, mask", &of(2)?.masked())?;
    case(session, "CHIME, a block a sum", &Case { way: Way::OneOut, ..of(2)? })?;
    case(session, "CHIME, a block a sum, mask", &Case { way: Way::OneOut, ..of(2)?.masked() })?;
    let outs =
        |products| builder([2, 4, 4, 256]).products(products).blocks(3).centre(true).build().map_err(End::failed);
    for products in [FrbProducts::StokesI, FrbProducts::PerPol] {
        let case_of = || Ok::<_, End>(Case::<Complex4>::new(outs(products)?, 2).masked());
        case(session, &format!("4 outs, {products:?}, mask"), &case_of()?)?;
        let gaps = Case { gaps: [32, 48], offset: Offset::Offset8, ..case_of()? };
        case(session, &format!("4 outs, {products:?}, mask, gaps"), &gaps)?;
    }
    // More blocks than powers of f16 are sums of.
    for products in [FrbProducts::StokesI, FrbProducts::PerPol] {
        let beams = || builder([2, 4, 4, 256]).products(products).blocks(11).centre(true).build().map_err(End::failed);
        case(session, &format!("4 outs, {products:?}, 11 blocks"), &Case::<Complex4>::new(beams()?, 2))?;
        case(session, &format!("4 outs, {products:?}, 11 blocks, mask"), &Case::<Complex4>::new(beams()?, 2).masked())?;
    }
    case(session, "CHIME, parts, mask", &Case { shared: 48 << 10, ..of(2)?.masked() })?;
    case(session, "CHIME, odd address", &Case { gaps: [1, 0], offset: Offset::Offset8, ..of(1)? })?;
    case(session, "CHIME, gaps", &Case { gaps: [6, 10], offset: Offset::Offset8, ..of(1)? })
}

fn shapes(session: &mut Session) -> Result<(), End> {
    let built = |builder: FrbBeamsBuilder| builder.build().map_err(End::failed);
    let three = || builder([2, 2, 3, 250]);
    case(session, "3 lines", &Case::<Complex4>::new(built(three())?, 2))?;
    case(session, "3 lines", &Case::<Complex<i8>>::new(built(three())?, 2))?;
    let odd = || builder([1, 3, 5, 201]).blocks(2);
    case(session, "odd feeds", &Case::<Complex4>::new(built(odd())?, 1))?;
    case(session, "odd feeds", &Case::<Complex<i8>>::new(built(odd())?, 1))?;
    case(session, "odd feeds, gaps", &Case::<Complex4> { gaps: [3, 5], ..Case::new(built(odd())?, 1) })?;
    case(session, "gaps", &Case::<Complex<i8>> { gaps: [2, 6], ..Case::new(built(three())?, 1) })?;
    case(session, "one line", &Case::<Complex<i8>>::new(built(builder([2, 2, 1, 100]).blocks(2))?, 1))?;
    for feeds in [128, 97, 256, 201] {
        let map = Array2::from_shape_fn((2, 120), |(frequency, b)| ((13 + 4 * frequency) * b / 10 + 200) as u32 % 256);
        let beams = || built(builder([2, 2, 3, feeds]).padded(256).map(map.clone()));
        case(session, &format!("{feeds} padded to 256"), &Case::<Complex4>::new(beams()?, 1))?;
        case(session, &format!("{feeds} padded to 256"), &Case::<Complex<i8>>::new(beams()?, 1))?;
    }
    for group in [1, 2, 4, 16, 32, 64, 128] {
        let beams = || built(builder([2, 1, 4, 256]).group(group).blocks(2));
        case(session, &format!("groups of {group}"), &Case::<Complex4>::new(beams()?, 1))?;
    }
    case(session, "groups of 1, 8 bits", &Case::<Complex<i8>>::new(built(three().group(1))?, 1))?;
    let apart = || builder([2, 2, 4, 256]).products(FrbProducts::PerPol).blocks(3);
    case(session, "per pol, mask", &Case::<Complex4>::new(built(apart())?, 2).masked())?;
    case(session, "per pol, centre", &Case::<Complex<i8>>::new(built(apart().centre(true).group(16))?, 1))?;
    for (conjugate, line, time) in [
        (false, Sign::Negative, Sign::Positive),
        (false, Sign::Positive, Sign::Negative),
        (false, Sign::Negative, Sign::Negative),
        (true, Sign::Positive, Sign::Negative),
        (true, Sign::Negative, Sign::Positive),
    ] {
        let beams = builder([1, 2, 4, 256]).conjugate(conjugate).line_sign(line).time_sign(time).centre(true);
        let name = |sign: Sign| if sign == Sign::Positive { '+' } else { '-' };
        let what = format!("signs {}{}{}", name(line), name(time), if conjugate { ", conjugated" } else { "" });
        case(session, &what, &Case::<Complex4>::new(built(beams)?, 1))?;
        let beams = builder([2, 4, 4, 256]).conjugate(conjugate).line_sign(line).time_sign(time).centre(true);
        case(session, &format!("4 outs, {what}"), &Case::<Complex4>::new(built(beams)?, 1))?;
    }
    Ok(())
}

/// `frb_beams()` on the GPU: whole and in steps the same bits, within the bound of the reference; and what it refuses.
fn one_call<V: Sample>(session: &mut Session) -> Result<(), End> {
    let beams = builder([2, 2, 3, 250]).blocks(2).centre(true).build().map_err(End::failed)?;
    let case = Case::<V>::new(beams, 3).masked();
    session.case_within("frb", format!("frb_beams(), {}", V::FORMAT), case.params(), |session| {
        let backend = Backend::on(session.device.clone());
        let voltages = FrbVoltages::from_checked(case.voltages.view());
        let mask = case.mask.as_ref().map(|mask| mask.view());
        let start = std::time::Instant::now();
        let found = frb_beams(&backend, &case.beams, &voltages, mask)?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let (expected, good) = case.expected();
        let (mut verdict, error) = judge(&case.beams, false, found.data.view(), &expected, &good);
        if verdict.is_ok() && found.good_blocks != good {
            verdict = Err("other counts of good blocks".into());
        }
        let step = (case.voltages.len() * size_of::<V>() + 4 * found.data.len()) as u64 / 3;
        // Flags are a few bytes.
        for limit in [step + 64, 2 * step + 64] {
            let stepped = frb_beams(&backend.clone().with_memory_limit(limit), &case.beams, &voltages, mask)?;
            if verdict.is_ok() && stepped != found {
                verdict = Err(format!("other powers with a limit of {limit} bytes"));
            }
        }
        let short = frb_beams(&backend.clone().with_memory_limit(step - 1), &case.beams, &voltages, mask);
        let small = case.beams.gains().mapv(|gain| gain * 1e-30);
        let other = case.beams.clone().into_builder().gains(small).build()?;
        let other = frb_beams(&backend, &other, &voltages, None);
        let refused = matches!(short, Err(BeamformerError::Device(DeviceError::MemoryLimit { .. })))
            && matches!(other, Err(BeamformerError::Device(DeviceError::NotOnGpu { .. })));
        if verdict.is_ok() && !refused {
            verdict = Err("too little memory, or beams without a kernel, were not refused as they should be".into());
        }
        let value = (3 * step) as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s, with copies", against: AGAINST, verdict }, error))
    })
}

/// Streams on the GPU: chunks of any length give the bits of one call.
fn streams(session: &mut Session) -> Result<(), End> {
    stream(session, "FrbStream", 2)?;
    stream(session, "FrbStream, 4 outs", 4)
}

/// A stream of beams with so many outs.
fn stream(session: &mut Session, what: &str, outs: usize) -> Result<(), End> {
    let beams = builder([2, outs, 4, 256]).blocks(2).build().map_err(End::failed)?;
    let case = Case::<Complex4>::new(beams, 3);
    session.case("frb", what, case.params(), |session| {
        let backend = Backend::on(session.device.clone());
        let expected = frb_beams(&backend, &case.beams, &FrbVoltages::from_checked(case.voltages.view()), None)?;
        let mut stream = FrbStream::new(backend, case.beams.clone());
        let (mut verdict, mut sums, mut from) = (Ok(()), 0, 0);
        let start = std::time::Instant::now();
        for length in [100, 1, 300, 111, 256] {
            let chunk = case.voltages.slice(s![from..from + length, .., .., .., ..]);
            let found = stream.push(&FrbVoltages::from_checked(chunk), None)?.data;
            let many = found.dim().2;
            if verdict.is_ok() && found != expected.data.slice(s![.., .., sums..sums + many, .., ..]) {
                verdict = Err(format!("other powers of the chunk that begins with time {from}"));
            }
            (from, sums) = (from + length, sums + many);
        }
        if verdict.is_ok() && sums != 3 {
            verdict = Err(format!("expected 3 sums, found {sums}"));
        }
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Outcome { time_ms, value: 0.0, unit: "", against: "one call", verdict })
    })
}

/// Bad calls are refused with their typed errors, and nothing is written.
fn refusals(session: &mut Session) -> Result<(), End> {
    session.case("frb", "refusals", params([]), |session| {
        let stream = &session.stream;
        let beams = builder([2, 1, 3, 250]).blocks(2).build()?;
        let kernels = FrbKernels::<Complex<i8>>::load(&session.device, &beams)?;
        let packed = FrbLayout::packed::<Complex<i8>>(&beams, Offset::TwosComplement);
        let (size, count, flagged) = (256 * packed.time_bytes, kernels.powers(256)?, 4);
        let bytes = Buffer::<u8>::zeroed(stream, size + 2)?;
        let flags = Buffer::<u8>::zeroed(stream, flagged)?;
        let mut powers = Buffer::<f32>::alloc(&session.device, count)?;
        powers.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let mut attempt = |bytes_at: [usize; 2], flagged: usize, count: usize, times: usize, layout: FrbLayout| {
            let bytes = bytes.slice(bytes_at[0]..bytes_at[1])?;
            let good = Some(flags.slice(..flagged)?);
            kernels.detect_bytes(stream, bytes, layout, times, good, &mut powers.slice_mut(..count)?)
        };
        let device = |result: Result<(), BeamformerError>, wanted: fn(&DeviceError) -> bool| {
            matches!(result, Err(BeamformerError::Device(error)) if wanted(&error))
        };
        let length = |error: &DeviceError| matches!(error, DeviceError::Length { .. });
        let alignment = |error: &DeviceError| matches!(error, DeviceError::Alignment { .. });
        let large = |error: &DeviceError| matches!(error, DeviceError::TooLarge { .. });
        let far = FrbLayout { time_bytes: 1 << 24, ..packed };
        let odd = FrbLayout { line_bytes: packed.line_bytes + 1, ..packed };
        let refused = [
            device(attempt([0, size - 1], flagged, count, 256, packed), length),
            device(attempt([0, size], flagged - 1, count, 256, packed), length),
            device(attempt([0, size], flagged, count - 1, 256, packed), length),
            device(attempt([1, size + 1], flagged, count, 256, packed), alignment),
            device(attempt([0, size], flagged, count, 256, odd), alignment),
            device(attempt([0, size], flagged, count, 256, far), large),
            matches!(
                attempt([0, size], flagged, count, 255, packed),
                Err(BeamformerError::Types(TypesError::Multiple { expected: 256, actual: 255, .. }))
            ),
            // No times are no error, and no work.
            attempt([0, 0], 0, 0, 0, packed).is_ok(),
        ];
        let no_kernel = |builder: FrbBeamsBuilder| -> Result<bool, Fault> {
            let error = FrbKernels::<Complex4>::load(&session.device, &builder.build()?).err();
            Ok(matches!(error, Some(BeamformerError::Device(DeviceError::NoKernel { .. }))))
        };
        let without = [
            no_kernel(builder([1, 1, 1, 257]).matrix(Array3::from_elem((2, 1, 1), C32::new(1e-30, 0.0))))?,
            no_kernel(builder([1, 1, 1, 256]).gains(Array4::from_elem((2, 1, 1, 256), C32::new(1e-30, 0.0))))?,
            no_kernel(builder([1, 1, 64, 512]))?,
        ];
        let whole = powers.view().cast::<u8>()?.to_vec(stream)?.iter().all(|&byte| byte == POISON);
        let verdict = match refused.iter().chain(&without).position(|refused| !refused) {
            Some(index) => Err(format!("call {index} was not refused as it should be")),
            None if !whole => Err("a refused call wrote powers".into()),
            None => Ok(()),
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed errors", verdict })
    })
}
