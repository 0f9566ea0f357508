//! Arrays that are not `ndarray` ones: elements one after another in pinned or device memory.

use crate::TypesError;

/// Elements of one type, one after another, in memory of any kind: what a chunk's header describes where the chunk does
/// not lie in an `ndarray` array. `Vec` is one; arrays in pinned and in device memory are others.
pub trait LinearArray<T> {
    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> LinearArray<T> for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }
}

/// A linear array that the host reads: `Vec`, and arrays in pinned memory.
pub trait HostArray<T>: LinearArray<T> + Sync + 'static {
    /// The elements.
    fn elements(&self) -> &[T];
}

impl<T: Sync + 'static> HostArray<T> for Vec<T> {
    fn elements(&self) -> &[T] {
        self
    }
}

/// Checks that a linear array has the elements of a shape.
pub(crate) fn check_elements(array: &'static str, shape: &[usize], actual: usize) -> Result<(), TypesError> {
    let elements = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length));
    let too_large = || TypesError::TooLarge { array, elements: format!("{shape:?}") };
    let expected = elements.ok_or_else(too_large)?;
    if actual == expected { Ok(()) } else { Err(TypesError::Elements { array, expected, actual }) }
}
