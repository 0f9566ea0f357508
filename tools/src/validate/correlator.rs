//! The 8-bit correlation of rows, at every kind of edge.
//!
//! It gets rows made by definition on the host, with rubbish in the times past the end, so that it is judged by itself.
//! Every output is poisoned before.

use fringes::correlator::internals::{MAX_LAUNCH_TIMES, Shape};
use fringes::correlator::kernels::{CorrelatorKernels, Work};
use fringes::{Complex, Inputs};
use fringes_gpu::{Buffer, PtxTarget};
use ndarray::Array3;

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::validate::data;
use crate::validate::session::{Outcome, Session, compare};

/// Numbers of inputs around those of a tile and a fragment.
const INPUTS: [usize; 12] = [1, 2, 3, 13, 64, 70, 127, 128, 129, 130, 257, 1024];
/// Numbers of times around that of a row.
const TIMES: [usize; 6] = [1, 63, 64, 65, 200, 4096];
/// Numbers of channels, taken in turn.
const CHANNELS: [usize; 4] = [1, 2, 3, 17];
/// Channels, times and inputs of quick runs.
const QUICK: [[usize; 3]; 6] = [[2, 65, 13], [1, 200, 130], [3, 64, 8], [1, 63, 1], [2, 65, 72], [1, 130, 129]];
/// Most voltages of a case.
const MOST_SAMPLES: usize = 1 << 24;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !["correlate_i8", "correlate_i8_add"].iter().any(|name| session.wants(name)) {
        return Ok(());
    }
    for shape in shapes(session.quick) {
        let voltages = data::voltages(shape, (shape.inputs() * 10_000 + shape.times()) as u64);
        correlate(session, shape, &voltages, ("random", true))?;
    }
    largest(session)
}

/// Channels, times and inputs of the cases.
fn shapes(quick: bool) -> Vec<Shape> {
    if quick {
        return QUICK.iter().filter_map(|[channels, times, inputs]| Shape::new(*channels, *times, *inputs)).collect();
    }
    let mut shapes = Vec::new();
    for (i, &inputs) in INPUTS.iter().enumerate() {
        for (j, &times) in TIMES.iter().enumerate() {
            let channels = CHANNELS[(i + j) % CHANNELS.len()].min((MOST_SAMPLES / (times * inputs)).max(1));
            shapes.extend(Shape::new(channels, times, inputs));
        }
    }
    shapes
}

fn sizes(shape: Shape) -> Params {
    params([("channels", shape.channels()), ("inputs", shape.inputs()), ("times", shape.times())])
}

/// Both correlation kernels on rows of these voltages, with or without room in 32-bit sums for twice their products and
/// for other sums.
fn correlate(
    session: &mut Session,
    shape: Shape,
    voltages: &Array3<Complex<i8>>,
    (variant, has_room): (&'static str, bool),
) -> Result<(), End> {
    let (kernels, work) = kernels(session, shape)?;
    let (expected, against) = data::sums(shape, voltages.view(), None);
    let rows = data::rows(shape, voltages.view(), 0x55);
    let rate = |time_ms: f64| shape.operations() / time_ms / 1e9;
    let count = shape.visibilities();
    session.case("correlate_i8", variant, sizes(shape), |session| {
        let stream = &session.stream;
        let rows = Buffer::from_slice(stream, &rows)?;
        // One sum more than there are: it must stay.
        let poison = Complex::new(0x5a5a_5a5ai32, 0x5a5a_5a5a);
        let mut sums = Buffer::<Complex<i32>>::alloc(&session.device, count + 1)?;
        sums.view_mut().cast::<i32>()?.fill(stream, poison.re)?;
        let time_ms = session.time(|| kernels.correlate(stream, &work, rows.view().cast()?, &mut sums.view_mut()))?;
        let actual: Vec<_> = sums.to_vec(stream)?.into_iter().map(wide).collect();
        let mut expected = expected.clone();
        expected.push(wide(poison));
        Ok(Outcome {
            time_ms,
            value: rate(time_ms),
            unit: "useful TOPS",
            against,
            verdict: compare(&expected, &actual),
        })
    })?;
    // Kernels of the other target always write.
    if kernels.target() == PtxTarget::Sm90a {
        session.case("correlate_i8", format!("{variant}, no output"), sizes(shape), |session| {
            let stream = &session.stream;
            let rows = Buffer::from_slice(stream, &rows)?;
            let before = vec![Complex::new(0x5a5a_5a5ai32, -7); count + 1];
            let mut sums = Buffer::from_slice(stream, &before)?;
            let time_ms =
                session.time(|| kernels.multiply(stream, &work, rows.view().cast()?, &mut sums.view_mut()))?;
            let verdict = compare(&before, &sums.to_vec(stream)?);
            Ok(Outcome { time_ms, value: rate(time_ms), unit: "useful TOPS", against: "the sums before", verdict })
        })?;
    }
    session.case("correlate_i8_add", variant, sizes(shape), |session| {
        let stream = &session.stream;
        let rows = Buffer::from_slice(stream, &rows)?;
        // Different for every visibility, and large.
        let large = |i: i32| Complex::new((1 << 30) - 7 * (i % 100_000), (i % 77_777) - (1 << 30));
        let of = |i| if has_room { large(i) } else { Complex::default() };
        let initial: Vec<_> = (0..=count as i32).map(of).collect();
        let additions = if has_room { 2 } else { 1 };
        let mut sums = Buffer::from_slice(stream, &initial)?;
        for _ in 0..additions {
            kernels.accumulate(stream, &work, rows.view().cast()?, &mut sums.view_mut(), 1)?;
        }
        let actual: Vec<_> = sums.to_vec(stream)?.into_iter().map(wide).collect();
        let time_ms =
            session.time(|| kernels.accumulate(stream, &work, rows.view().cast()?, &mut sums.view_mut(), 1))?;
        let sums = expected.iter().zip(&initial).map(|(sum, &start)| wide(start) + sum * additions);
        let expected: Vec<_> = sums.chain(initial.last().copied().map(wide)).collect();
        Ok(Outcome {
            time_ms,
            value: rate(time_ms),
            unit: "useful TOPS",
            against,
            verdict: compare(&expected, &actual),
        })
    })
}

/// The kernels of a shape, and what they are asked for.
fn kernels(session: &Session, shape: Shape) -> Result<(CorrelatorKernels<Complex<i8>>, Work), End> {
    let inputs = Inputs::single_pol(shape.inputs()).map_err(End::failed)?;
    let kernels = CorrelatorKernels::load(&session.device, inputs).map_err(End::failed)?;
    Ok((kernels, Work::rows(shape.channels(), shape.times())))
}

fn wide(value: Complex<i32>) -> Complex<i64> {
    Complex::new(value.re.into(), value.im.into())
}

/// As many times as 32-bit sums can hold, every product at its largest; and one more, which is refused.
fn largest(session: &mut Session) -> Result<(), End> {
    if session.quick {
        return Ok(());
    }
    for (variant, value) in [
        ("all 127-127i: largest sums", Complex::new(127i8, -127)),
        ("all -127-127i: largest sums", Complex::new(-127, -127)),
    ] {
        let Some(shape) = Shape::new(2, MAX_LAUNCH_TIMES, 5) else { return Err(End::failed("no such shape")) };
        let mut voltages = Array3::from_elem((2, MAX_LAUNCH_TIMES, 5), value);
        // One input turned by a quarter: the imaginary part is the largest, and negative in one order.
        voltages.slice_mut(ndarray::s![.., .., 3]).fill(Complex::new(-value.im, value.re));
        correlate(session, shape, &voltages, (variant, false))?;
    }
    let Some(shape) = Shape::new(1, MAX_LAUNCH_TIMES + 1, 3) else { return Err(End::failed("no such shape")) };
    session.case("correlate_i8", "one time too many", sizes(shape), |session| {
        let rows = Buffer::<u8>::zeroed(&session.stream, shape.row_bytes())?;
        let mut sums = Buffer::<Complex<i32>>::zeroed(&session.stream, shape.visibilities())?;
        let (kernels, work) = kernels(session, shape).map_err(|_| "the kernels cannot be loaded")?;
        let answer = kernels.correlate(&session.stream, &work, rows.view().cast()?, &mut sums.view_mut());
        let verdict = match answer {
            Err(fringes::CorrelatorError::TooManyTimes { .. }) => Ok(()),
            other => Err(format!("expected a refusal, got {other:?}")),
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "a typed refusal", verdict })
    })
}
