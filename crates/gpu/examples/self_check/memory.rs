//! Buffers, views, copies, fills, pinned memory, pools.

use fringes_gpu::{Buffer, BufferPool, GpuError, PinnedBuffer};

use super::{Bench, Check, Outcome, equal, fails, holds};

pub(crate) const CHECKS: &[Check] = &[
    ("what is copied to the device and back is the same, at any length", round_trips),
    ("a copy of a wrong length fails before anything is overwritten", wrong_lengths),
    ("parts of buffers are copied to their places", parts),
    ("a fill writes every element and nothing else, at any element size", fills),
    ("a cast shows the same bytes", casts),
    ("memory that is not there is a typed error, and the device goes on", too_much),
    ("pinned memory carries copies in both directions", pinned),
    ("pinned memory is not shown before a copy into it is done", pinned_waits_for_writes),
    ("pinned memory is not changed before a copy from it is done", pinned_waits_for_reads),
    ("a warm pool allocates nothing", warm_pool),
    ("a pool's memory is used again only after its last work", pool_order),
];

fn numbers(length: usize) -> Vec<u32> {
    (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

fn round_trips(bench: &Bench) -> Outcome {
    for length in [0, 1, 3, 1000, 1 << 20] {
        let expected = numbers(length);
        let buffer = Buffer::from_slice(&bench.stream, &expected)?;
        equal("length", buffer.len(), length)?;
        holds("the same elements", buffer.to_vec(&bench.stream)? == expected)?;
        let mut copy = Buffer::alloc(&bench.device, length)?;
        copy.view_mut().copy_from(&bench.stream, buffer.view())?;
        holds("the same elements after a copy on the device", copy.to_vec(&bench.stream)? == expected)?;
    }
    let zeros = Buffer::<f64>::zeroed(&bench.stream, 777)?.to_vec(&bench.stream)?;
    equal("zeros", zeros, vec![0.0; 777])?;
    Ok(None)
}

fn wrong_lengths(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let expected = numbers(10);
    let mut buffer = Buffer::from_slice(stream, &expected)?;
    let wrong = |error: &GpuError| matches!(error, GpuError::Length { expected: 10, actual: 9 | 11, .. });
    fails("9 from the host", buffer.copy_from_slice(stream, &[0; 9]), wrong)?;
    fails("11 from the host", buffer.copy_from_slice(stream, &[0; 11]), wrong)?;
    let mut host = [7u32; 9];
    fails("9 to the host", buffer.copy_to_slice(stream, &mut host), wrong)?;
    equal("the host's elements", host, [7; 9])?;
    let short = Buffer::<u32>::zeroed(stream, 9)?;
    fails("9 on the device", buffer.view_mut().copy_from(stream, short.view()), wrong)?;
    let mut pinned = PinnedBuffer::<u32>::zeroed(&bench.device, 20)?;
    fails("9 pinned", buffer.view_mut().copy_from_pinned(stream, &pinned, 3..12), wrong)?;
    fails("11 to pinned", buffer.view().copy_to_pinned(stream, &mut pinned, 3..14), wrong)?;
    let outside = |error: &GpuError| matches!(error, GpuError::Range { start: 15, end: 25, length: 20 });
    fails("beyond pinned", buffer.view_mut().copy_from_pinned(stream, &pinned, 15..25), outside)?;
    fails("a slice beyond", buffer.slice(5..11), |error| matches!(error, GpuError::Range { length: 10, .. }))?;
    equal("the elements", buffer.to_vec(stream)?, expected)?;
    Ok(None)
}

fn parts(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let mut buffer = Buffer::from_slice(stream, &[1u16, 2, 3, 4, 5, 6])?;
    buffer.slice_mut(1..3)?.copy_from_slice(stream, &[20, 30])?;
    let other = Buffer::from_slice(stream, &[40u16, 50])?;
    buffer.slice_mut(3..=4)?.copy_from(stream, other.view())?;
    equal("all", buffer.to_vec(stream)?, vec![1, 20, 30, 40, 50, 6])?;
    equal("a part", buffer.slice(2..)?.slice(..2)?.to_vec(stream)?, vec![30, 40])?;
    let (mut left, right) = buffer.view_mut().split_at(2)?;
    left.copy_from(stream, right.as_view().slice(2..)?)?;
    equal("halves", buffer.to_vec(stream)?, vec![50, 6, 30, 40, 50, 6])?;
    Ok(None)
}

fn fill<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(bench: &Bench, old: T, new: T) -> Outcome {
    let mut buffer = Buffer::from_slice(&bench.stream, &[old; 70])?;
    buffer.slice_mut(1..68)?.fill(&bench.stream, new)?;
    let mut expected = vec![new; 70];
    for outside in [0, 68, 69] {
        expected[outside] = old;
    }
    equal("elements", buffer.to_vec(&bench.stream)?, expected)?;
    Ok(None)
}

fn fills(bench: &Bench) -> Outcome {
    fill(bench, 1u8, 0xfe)?;
    fill(bench, 1u16, 0x1234)?;
    fill(bench, [1u8; 3], [4, 5, 6])?;
    fill(bench, 1.0f32, -2.5)?;
    fill(bench, [1u16; 3], [0x1234, 0x5678, 0x9abc])?;
    fill(bench, 1.0f64, std::f64::consts::PI)?;
    fill(bench, [1u32; 5], [1, 2, 3, 4, 5])?;
    Ok(None)
}

fn casts(bench: &Bench) -> Outcome {
    let buffer = Buffer::from_slice(&bench.stream, &[[1i8, -1], [2, -2], [3, -3], [4, -4]])?;
    let words = buffer.view().cast::<u32>()?;
    let expected = [[1i8, -1, 2, -2], [3, -3, 4, -4]].map(|bytes| u32::from_ne_bytes(bytes.map(i8::cast_unsigned)));
    equal("words", words.to_vec(&bench.stream)?, expected.to_vec())?;
    let cut = buffer.slice(1..)?;
    fails("an odd start", cut.cast::<u32>(), |error| matches!(error, GpuError::Alignment { expected: 4, .. }))?;
    let rest = buffer.slice(..3)?;
    fails("an odd length", rest.cast::<u32>(), |error| matches!(error, GpuError::Cast { bytes: 6, element_bytes: 4 }))?;
    Ok(None)
}

fn too_much(bench: &Bench) -> Outcome {
    let total = bench.device.memory()?.total_bytes;
    let elements = usize::try_from(total).unwrap_or(usize::MAX / 2);
    fails("more than there is", Buffer::<[u8; 2]>::alloc(&bench.device, elements), |error| {
        matches!(error, GpuError::OutOfMemory { requested_bytes, total_bytes, .. }
            if *requested_bytes == 2 * total && *total_bytes == total)
    })?;
    let pool = BufferPool::new(&bench.device);
    fails("more than there is, from a pool", pool.take::<[u8; 2]>(&bench.stream, elements), |error| {
        matches!(error, GpuError::OutOfMemory { .. })
    })?;
    fails("more than can be counted", Buffer::<u64>::alloc(&bench.device, usize::MAX / 4), |error| {
        matches!(error, GpuError::TooLarge { element_bytes: 8, .. })
    })?;
    round_trips(bench)
}

fn pinned(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let from = PinnedBuffer::from_slice(&bench.device, &numbers(1000))?;
    let mut to = PinnedBuffer::<u32>::zeroed(&bench.device, 1000)?;
    let mut buffer = Buffer::<u32>::alloc(&bench.device, 900)?;
    buffer.view_mut().copy_from_pinned(stream, &from, 50..950)?;
    buffer.view().copy_to_pinned(stream, &mut to, 100..)?;
    holds("the part", to.as_slice()?[100..] == numbers(1000)[50..950])?;
    holds("the rest", to.as_slice()?[..100].iter().all(|word| *word == 0))?;
    Ok(None)
}

fn pinned_waits_for_writes(bench: &Bench) -> Outcome {
    let buffer = Buffer::from_slice(&bench.stream, &numbers(1000))?;
    let mut to = PinnedBuffer::<u32>::zeroed(&bench.device, 1000)?;
    bench.spin(&bench.stream, 30)?;
    buffer.view().copy_to_pinned(&bench.stream, &mut to, ..)?;
    holds("the copy is still to come", !bench.stream.is_done()?)?;
    holds("the elements", to.as_slice()? == numbers(1000))?;
    Ok(None)
}

fn pinned_waits_for_reads(bench: &Bench) -> Outcome {
    let mut from = PinnedBuffer::from_slice(&bench.device, &numbers(1000))?;
    let mut buffer = Buffer::<u32>::alloc(&bench.device, 1000)?;
    bench.spin(&bench.stream, 30)?;
    buffer.view_mut().copy_from_pinned(&bench.stream, &from, ..)?;
    holds("the copy is still to come", !bench.stream.is_done()?)?;
    equal("what can be read meanwhile", from.as_slice()?[1], numbers(2)[1])?;
    holds("reading did not wait", !bench.stream.is_done()?)?;
    from.as_mut_slice()?.fill(0);
    holds("the elements", buffer.to_vec(&bench.stream)? == numbers(1000))?;
    Ok(None)
}

fn warm_pool(bench: &Bench) -> Outcome {
    let pool = BufferPool::new(&bench.device);
    let round = || -> Result<(), GpuError> {
        let large = pool.take::<u32>(&bench.stream, 100_000)?;
        let mut small = pool.take_zeroed::<f32>(&bench.stream, 100)?;
        small.fill(&bench.stream, 1.0)?;
        drop(large);
        let _again = pool.take::<u8>(&bench.stream, 399_000)?;
        let _empty = pool.take::<u8>(&bench.stream, 0)?;
        Ok(())
    };
    for _ in 0..10 {
        round()?;
    }
    let statistics = pool.statistics();
    equal("allocated", statistics.allocated, 2)?;
    equal("reused", statistics.reused, 28)?;
    equal("used bytes", statistics.used_bytes, 0)?;
    holds("most used bytes", statistics.most_used_bytes >= 400_400)?;
    equal("free bytes", statistics.free_bytes, statistics.most_used_bytes)?;
    pool.trim();
    equal("free bytes after trimming", pool.statistics().free_bytes, 0)?;
    let buffer = pool.take::<u32>(&bench.stream, 10)?;
    drop(pool);
    equal("a buffer that outlives its pool", buffer.len(), 10)?;
    Ok(None)
}

fn pool_order(bench: &Bench) -> Outcome {
    let pool = BufferPool::new(&bench.device);
    let other = bench.device.new_stream()?;
    let mut first = pool.take::<u32>(&bench.stream, 1000)?;
    let address = first.address();
    bench.spin(&bench.stream, 30)?;
    first.fill(&bench.stream, 1)?;
    drop(first);
    let mut second = pool.take::<u32>(&other, 1000)?;
    equal("address", second.address(), address)?;
    second.fill(&other, 2)?;
    holds("taking did not wait", !bench.stream.is_done()?)?;
    equal("elements", second.to_vec(&other)?, vec![2; 1000])?;
    holds("the first work came before", bench.stream.is_done()?)?;
    Ok(None)
}
