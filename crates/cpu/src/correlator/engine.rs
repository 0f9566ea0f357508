//! The loops around the inner loops: jobs, blocks, packing, tiles.

use std::ops::Range;
use std::sync::Mutex;

use fringes_types::VoltageSample;
use ndarray::{ArrayView1, ArrayView2, ArrayView3, Axis, s};
use num_complex::Complex;
use rayon::prelude::*;

use super::Selection;
use super::plan::{GROUP, LANES, Parallel, SEGMENT, Split, groups, groups_of_panel, panels};

/// One step of a panel: the variants for the real and the imaginary part, a lane for each input `a`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Wide<L>(pub(super) [[L; LANES]; 2]);

/// One step of a group: each input `b`.
pub(super) type Narrow<N> = [N; GROUP];

/// Sums of a tile: `[b][re, im][a]`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Tile<S>(pub(super) [[[S; LANES]; 2]; GROUP]);

/// Inputs that are packed together: 12 panels and 16 groups.
const STRIP: usize = 96;
const _: () = assert!(STRIP.is_multiple_of(LANES) && STRIP.is_multiple_of(GROUP));
/// Largest [`Kernel::TIMES`].
const MOST_TIMES: usize = 2;

/// Spectra side by side, padded with zeros.
pub(super) type Rows<X> = [[X; STRIP]; MOST_TIMES];

/// The inner loops of a format on an instruction set.
pub(super) trait Kernel: Copy + Send + Sync {
    /// An unpacked voltage.
    type Voltage: Copy + Default;
    /// A lane of the wide side, 4 bytes.
    type Lane: Copy + Default + Send + Sync;
    /// An input of the narrow side.
    type Narrow: Copy + Default + Send + Sync;
    /// A part of a sum of a segment.
    type Sum: Copy + Default + Send + Sync;
    /// A part of the total.
    type Total: Copy + Send + Sync;
    /// Spectra in a step.
    const TIMES: usize;

    /// Unpacks voltages of any layout.
    fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [Self::Voltage]);

    /// Packs one step of a strip: panel `p` goes to `wide[p * steps + step]`, group `g` to `narrow[g * steps + step]`.
    /// What the tiles will be off by for each input `b` is added to `bias`.
    fn pack(
        self,
        rows: &Rows<Self::Voltage>,
        position: Position,
        wide: &mut [Wide<Self::Lane>],
        narrow: &mut [Narrow<Self::Narrow>],
        bias: &mut [[i32; 2]],
    );

    /// Adds the products of all steps to the tiles of one group or two.
    fn multiply<const N: usize>(
        self,
        wide: &[Wide<Self::Lane>],
        narrow: [&[Narrow<Self::Narrow>]; N],
        tiles: &mut [Tile<Self::Sum>; N],
    );

    /// Adds a sum of a segment to the total.
    fn add(total: &mut Complex<Self::Total>, re: Self::Sum, im: Self::Sum, bias: [i32; 2]);
}

/// Where a step goes in a packed block.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) step: usize,
    pub(super) steps: usize,
}

/// What a step of a packed block goes to: one element for each panel or group.
#[inline(always)]
pub(super) fn at_step<T>(packed: &mut [T], Position { step, steps }: Position) -> impl Iterator<Item = &mut T> {
    packed[step..].iter_mut().step_by(steps)
}

/// What one call correlates.
pub(super) struct Task<'a, V> {
    pub(super) voltages: ArrayView3<'a, V>,
    pub(super) selection: Selection<'a>,
    pub(super) memory_limit_bytes: Option<u64>,
}

/// What a segment of a channel is made of.
struct Segment<'a, V> {
    /// All times of the channel, `[time][input]`.
    voltages: ArrayView2<'a, V>,
    /// Flags of all times.
    presence: Option<ArrayView2<'a, bool>>,
    /// Times of the segment: `times[range]`, or `range` itself.
    times: Option<&'a [usize]>,
    range: Range<usize>,
    /// Which of them are masked; empty if none is.
    masked: Vec<bool>,
}

impl<'a, V> Segment<'a, V> {
    fn new(task: &Task<'a, V>, channel: usize, range: Range<usize>) -> Self {
        let Selection { presence, times, mask } = task.selection;
        let voltages = task.voltages.index_axis_move(Axis(0), channel);
        let mut segment = Self { voltages, presence, times, range, masked: Vec::new() };
        if let Some(mask) = mask {
            let masked: Vec<bool> =
                (0..segment.range.len()).map(|position| mask.is_masked(channel, segment.time(position))).collect();
            if masked.contains(&true) {
                segment.masked = masked;
            }
        }
        segment
    }

    /// Number of times.
    fn len(&self) -> usize {
        self.range.len()
    }

    fn time(&self, position: usize) -> usize {
        let position = self.range.start + position;
        self.times.map_or(position, |times| times[position])
    }

    fn is_masked(&self, position: usize) -> bool {
        self.masked.get(position).is_some_and(|&masked| masked)
    }
}

/// Memory of one job.
struct Job<K: Kernel> {
    wide: Vec<Wide<K::Lane>>,
    narrow: Vec<Narrow<K::Narrow>>,
    tiles: Vec<Vec<Tile<K::Sum>>>,
    bias: Vec<[i32; 2]>,
}

impl<K: Kernel> Job<K> {
    fn new(inputs: usize, block: usize) -> Self {
        let steps = block.div_ceil(K::TIMES);
        let tiles_of = |panel| vec![Tile([[[K::Sum::default(); LANES]; 2]; GROUP]); groups_of_panel(inputs, panel)];
        Self {
            wide: vec![Wide([[K::Lane::default(); LANES]; 2]); panels(inputs) * steps],
            narrow: vec![[K::Narrow::default(); GROUP]; groups(inputs) * steps],
            tiles: (0..panels(inputs)).map(tiles_of).collect(),
            bias: vec![[0; 2]; inputs],
        }
    }

    /// Correlates one segment `[time][input]` of a channel from zero.
    fn segment<V: VoltageSample>(&mut self, kernel: K, segment: &Segment<'_, V>, split: Split) {
        let inputs = segment.voltages.ncols();
        self.tiles.iter_mut().flatten().for_each(|tile| *tile = Tile([[[K::Sum::default(); LANES]; 2]; GROUP]));
        self.bias.fill([0; 2]);
        for start in (0..segment.len()).step_by(split.block) {
            let times = start..segment.len().min(start + split.block);
            let steps = times.len().div_ceil(K::TIMES);
            let wide = &mut self.wide[..panels(inputs) * steps];
            let narrow = &mut self.narrow[..groups(inputs) * steps];
            let strips = wide
                .chunks_mut(STRIP / LANES * steps)
                .zip(narrow.chunks_mut(STRIP / GROUP * steps))
                .zip(self.bias.chunks_mut(STRIP))
                .map(|((wide, narrow), bias)| Strip::<K> { wide, narrow, bias });
            let pack = |(strip, packed)| {
                let columns = strip * STRIP..inputs.min((strip + 1) * STRIP);
                pack_strip(kernel, segment, times.clone(), columns, packed);
            };
            if split.parallel == Parallel::Panels {
                let strips: Vec<_> = strips.enumerate().collect();
                strips.into_par_iter().for_each(pack);
            } else {
                strips.enumerate().for_each(pack);
            }
            let wide = &*wide;
            let multiply = |(panel, tiles): (usize, &mut Vec<Tile<K::Sum>>)| {
                let wide = &wide[panel * steps..(panel + 1) * steps];
                let (pairs, last) = tiles.as_chunks_mut::<2>();
                let (of_pairs, of_last) = narrow.split_at(2 * pairs.len() * steps);
                for (tiles, narrow) in pairs.iter_mut().zip(of_pairs.chunks_exact(2 * steps)) {
                    kernel.multiply(wide, narrow.split_at(steps).into(), tiles);
                }
                if let [tile] = last {
                    kernel.multiply(wide, [&of_last[..steps]], std::array::from_mut(tile));
                }
            };
            if split.parallel == Parallel::Panels {
                self.tiles.par_iter_mut().enumerate().for_each(multiply);
            } else {
                self.tiles.iter_mut().enumerate().for_each(multiply);
            }
        }
    }

    /// Adds the segment's sums to a channel's totals.
    fn add_to(&self, totals: &mut [Complex<K::Total>]) {
        let mut rest = totals;
        for a in 0..self.bias.len() {
            let (row, tail) = rest.split_at_mut(a + 1);
            rest = tail;
            let (tiles, lane) = (&self.tiles[a / LANES], a % LANES);
            for ((totals, bias), tile) in row.chunks_mut(GROUP).zip(self.bias.chunks(GROUP)).zip(tiles) {
                for ((total, bias), sums) in totals.iter_mut().zip(bias).zip(&tile.0) {
                    K::add(total, sums[0][lane], sums[1][lane], *bias);
                }
            }
        }
    }
}

/// Memory that one strip is packed into.
struct Strip<'a, K: Kernel> {
    wide: &'a mut [Wide<K::Lane>],
    narrow: &'a mut [Narrow<K::Narrow>],
    bias: &'a mut [[i32; 2]],
}

/// Packs a strip of a block: some times of a segment, and some inputs.
fn pack_strip<K: Kernel, V: VoltageSample>(
    kernel: K,
    segment: &Segment<'_, V>,
    times: Range<usize>,
    columns: Range<usize>,
    packed: Strip<'_, K>,
) {
    let steps = times.len().div_ceil(K::TIMES);
    let width = columns.len();
    let mut rows: Rows<K::Voltage> = [[K::Voltage::default(); STRIP]; MOST_TIMES];
    let voltages = segment.voltages.slice(s![.., columns.clone()]);
    let flags = segment.presence.map(|flags| flags.slice_move(s![.., columns]));
    let mut times = times;
    for step in 0..steps {
        for row in &mut rows[..K::TIMES] {
            let row = &mut row[..width];
            let Some(position) = times.next().filter(|&position| !segment.is_masked(position)) else {
                row.fill(K::Voltage::default());
                continue;
            };
            let time = segment.time(position);
            K::load(voltages.row(time), row);
            if let Some(flags) = &flags {
                for (value, present) in row.iter_mut().zip(flags.row(time)) {
                    *value = if *present { *value } else { K::Voltage::default() };
                }
            }
        }
        kernel.pack(&rows, Position { step, steps }, packed.wide, packed.narrow, packed.bias);
    }
}

/// Adds the task's products to `totals [channel][baseline]`.
pub(super) fn run<K: Kernel, V: VoltageSample>(kernel: K, task: &Task<'_, V>, totals: &mut [Complex<K::Total>]) {
    let (channels, all_times, inputs) = task.voltages.dim();
    let times = task.selection.times.map_or(all_times, <[usize]>::len);
    let threads = rayon::current_num_threads();
    let split = Split::new(V::FORMAT, channels, times, inputs, threads, task.memory_limit_bytes);
    let baselines = inputs * (inputs + 1) / 2;
    let segments = times.div_ceil(SEGMENT);
    // Memory of finished jobs, for the next.
    let pool: Mutex<Vec<Job<K>>> = Mutex::new(Vec::new());
    let take = || {
        let job = pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        job.unwrap_or_else(|| Job::new(inputs, split.block))
    };
    let give = |job| pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(job);
    let correlate = |job: &mut Job<K>, channel: usize, segment: usize| {
        let range = segment * SEGMENT..times.min((segment + 1) * SEGMENT);
        job.segment(kernel, &Segment::new(task, channel, range), split);
    };
    let whole_channel = |(channel, totals): (usize, &mut [Complex<K::Total>])| {
        let mut job = take();
        for segment in 0..segments {
            correlate(&mut job, channel, segment);
            job.add_to(totals);
        }
        give(job);
    };
    match split.parallel {
        Parallel::Panels => totals.chunks_exact_mut(baselines).enumerate().for_each(whole_channel),
        Parallel::Channels if split.jobs < threads.min(channels) => {
            for (wave, totals) in totals.chunks_mut(baselines * split.jobs).enumerate() {
                let first = wave * split.jobs;
                let channels = totals.par_chunks_exact_mut(baselines).enumerate();
                channels.for_each(|(channel, totals)| whole_channel((first + channel, totals)));
            }
        }
        Parallel::Channels => totals.par_chunks_exact_mut(baselines).enumerate().for_each(whole_channel),
        Parallel::Segments => {
            let at_a_time = (split.jobs / channels).max(1);
            for first in (0..segments).step_by(at_a_time) {
                let wave: Vec<_> = (0..channels)
                    .flat_map(|channel| (first..segments.min(first + at_a_time)).map(move |segment| (channel, segment)))
                    .collect();
                let jobs: Vec<_> = wave
                    .into_par_iter()
                    .map(|(channel, segment)| {
                        let mut job = take();
                        correlate(&mut job, channel, segment);
                        (channel, job)
                    })
                    .collect();
                // In order of time, so that float sums do not depend on how many jobs there are.
                for (channel, job) in jobs {
                    job.add_to(&mut totals[channel * baselines..(channel + 1) * baselines]);
                    give(job);
                }
            }
        }
    }
}
