//! Large zeroed vectors whose pages are taken in parallel, and few of them.
//!
//! An output of tens of megabytes in pages of 4 KiB costs thousands of page faults: three quarters of the time of FFT
//! beams, a quarter of that of tied-array beams. The vector here comes from the system zeroed and untouched, so that
//! the threads that fill it take its pages; on Linux its pages may be of 2 MiB (`madvise`).

use bytemuck::Zeroable;

/// `length` zeros, or `None` if there is no memory for them.
pub fn try_zeroed_vec<T: Zeroable>(length: usize) -> Option<Vec<T>> {
    let mut values = bytemuck::try_zeroed_vec(length).ok()?;
    advise_large_pages(&mut values);
    Some(values)
}

/// Whether there is memory for `bytes` bytes in one piece, now. It is not touched, and given back.
pub fn is_there_memory(bytes: u64) -> bool {
    let mut probe = Vec::<u8>::new();
    // (Else the compiler may leave out the allocation, and take it for granted.)
    usize::try_from(bytes).is_ok_and(|bytes| std::hint::black_box(&mut probe).try_reserve_exact(bytes).is_ok())
}

/// `length` zeros.
///
/// # Panics
/// Aborts if there is no memory for them.
pub fn zeroed_vec<T: Zeroable>(length: usize) -> Vec<T> {
    let mut values = bytemuck::zeroed_vec(length);
    advise_large_pages(&mut values);
    values
}

/// Asks for pages of 2 MiB in the part of the vector that is made of whole ones.
#[cfg(target_os = "linux")]
fn advise_large_pages<T>(values: &mut [T]) {
    const LARGE: usize = 2 << 20;
    let bytes = size_of_val(values);
    let skip = values.as_ptr().cast::<u8>().align_offset(LARGE);
    let length = bytes.saturating_sub(skip) / LARGE * LARGE;
    if length == 0 {
        return;
    }
    // SAFETY: `skip + length <= bytes`, so the range lies within the slice, which is borrowed mutably. The advice
    // changes neither contents nor access; if it is refused, the pages stay as they are.
    #[allow(unsafe_code)]
    unsafe {
        libc::madvise(values.as_mut_ptr().cast::<u8>().add(skip).cast(), length, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_large_pages<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_any_size_are_zero_and_writable() {
        for length in [0, 1, 1000, 1 << 18, (1 << 19) + 3, 3 << 20] {
            let mut values = zeroed_vec::<u64>(length);
            assert_eq!(values.len(), length);
            assert!(values.iter().all(|&value| value == 0));
            values.iter_mut().enumerate().for_each(|(index, value)| *value = index as u64);
            assert!(values.iter().enumerate().all(|(index, &value)| value == index as u64));
        }
    }

    #[test]
    fn too_much_is_none() {
        assert!(try_zeroed_vec::<u64>(usize::MAX).is_none());
        assert!(try_zeroed_vec::<u64>(1 << 58).is_none());
        assert_eq!(try_zeroed_vec::<u64>(3), Some(vec![0; 3]));
        assert!(!is_there_memory(u64::MAX) && !is_there_memory(1 << 62));
        assert!(is_there_memory(0) && is_there_memory(1000));
    }
}
