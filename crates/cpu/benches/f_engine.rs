//! The F-engine: 10-bit samples to 8-bit frames with dither, 16 taps, two polarisations; its parts beside it, without
//! dither, as floats, and the filter bank alone. Elements are input samples.

use std::sync::atomic::AtomicU64;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::f_engine::{FramePart, FrameValue, Post, f_engine, row_bytes};
use fringes_cpu::pfb::{PackedSource, Pfb, Rotation, SpectrumInput, Split, Window, pfb_weights, zeroed_output};
use ndarray::{Array2, Array5};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const TAPS: usize = 16;
const BITS: usize = 10;
const SPECTRA_PER_FRAME: usize = 256;

struct Case {
    pfb: Pfb,
    bytes: Array2<u8>,
    spectra: usize,
}

impl Case {
    fn new(channels: usize, spectra: usize) -> Self {
        let step = 2 * channels;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let length = (spectra + TAPS - 1) * step * BITS / 8;
        let bytes = Array2::from_shape_simple_fn((2, length), || rng.random());
        let weights = pfb_weights(Window::Hann, TAPS, step, 1.0).expect("weights that do not vanish");
        Self { pfb: Pfb::new(channels, false, &weights), bytes, spectra }
    }

    fn source(&self) -> PackedSource<'_> {
        PackedSource::new(self.bytes.view(), BITS as u32, self.bytes.ncols() * 8 / BITS)
    }

    fn spectrum(&self, time: usize) -> SpectrumInput {
        let rotation = Rotation { turns: 0.1, turns_per_channel: 1e-5 * (time + 1) as f64 };
        SpectrumInput { start: (time * self.pfb.step()) as i64, shift: 0, rotation }
    }

    fn frames<Q: FrameValue>(&self, dither: Option<u64>) -> Array5<Q> {
        let channels = self.pfb.channels();
        let frames = self.spectra / SPECTRA_PER_FRAME;
        let mut out = Array5::from_elem((frames, 1, channels, SPECTRA_PER_FRAME, 2), Q::zeroed());
        let saturated = [AtomicU64::new(0), AtomicU64::new(0)];
        let parts = out.outer_iter_mut().enumerate().map(|(frame, out)| FramePart {
            first_time: frame * SPECTRA_PER_FRAME,
            out,
            saturated: &saturated,
        });
        let gains = Array2::from_elem((2, channels), Complex::new(0.1, 0.02));
        let present = Array2::from_elem((self.spectra, 2), true);
        let post = Post {
            channels: 0..channels,
            gains: gains.view(),
            dither,
            first_input: 0,
            first_spectrum: 0,
            present: present.view(),
        };
        let split = Split::choose_with(&self.pfb, self.spectra, 2, None, row_bytes::<Q>(channels));
        let parts = parts.collect();
        f_engine(&self.pfb, &self.source(), &|time, _| self.spectrum(time), &post, parts, &split);
        out
    }
}

fn benches(criterion: &mut Criterion) {
    for channels in [1024, 4096, 32768] {
        let case = Case::new(channels, (512 * 4096 / channels).max(SPECTRA_PER_FRAME));
        let mut group = criterion.benchmark_group("f_engine");
        group.sample_size(10).throughput(Throughput::Elements((2 * case.spectra * 2 * channels) as u64));
        group.bench_function(BenchmarkId::new("8 bits, dither", channels), |bencher| {
            bencher.iter(|| case.frames::<Complex<i8>>(Some(1)));
        });
        group.bench_function(BenchmarkId::new("8 bits", channels), |bencher| {
            bencher.iter(|| case.frames::<Complex<i8>>(None));
        });
        group.bench_function(BenchmarkId::new("f32", channels), |bencher| {
            bencher.iter(|| case.frames::<Complex<f32>>(None));
        });
        group.bench_function(BenchmarkId::new("filter bank alone", channels), |bencher| {
            bencher.iter(|| {
                let split = Split::choose(&case.pfb, case.spectra, 2, None);
                let mut out = zeroed_output(channels, case.spectra, 2).expect("memory for the output");
                case.pfb.channelize(&case.source(), &|time, _| case.spectrum(time), out.view_mut(), &split);
                out
            });
        });
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
