//! Arguments of a launch: scalars, views and tensor maps, each with what it is.

use std::marker::PhantomData;

use bytemuck::Pod;
use fringes_kernel_declaration::{Access, Element, ParameterKind};

use crate::context::Context;
use crate::{Buffer, BufferView, BufferViewMut, TensorMap, TensorView};

/// A type that kernels know as an element of buffers, under the same name.
///
/// Other plain data goes through [`BufferView::cast`]: complex numbers as `[f32; 2]` or `i8`, half floats as `u16`.
///
/// # Safety
/// `ELEMENT` has the size, alignment and meaning of the type.
pub unsafe trait KernelElement: Pod {
    /// The kernels' name for it.
    const ELEMENT: Element;
}

macro_rules! elements {
    ($($type:ty => $element:ident),*) => {$(
        // SAFETY: the element is this type.
        unsafe impl KernelElement for $type {
            const ELEMENT: Element = Element::$element;
        }
        // SAFETY: the element is an array of two of this type.
        unsafe impl KernelElement for [$type; 2] {
            const ELEMENT: Element = Element::Vector { scalar: &Element::$element, length: 2 };
        }
        // SAFETY: the element is an array of four of this type.
        unsafe impl KernelElement for [$type; 4] {
            const ELEMENT: Element = Element::Vector { scalar: &Element::$element, length: 4 };
        }
        impl From<$type> for Argument<'_> {
            fn from(value: $type) -> Self {
                let mut words = [0u64; 2];
                bytemuck::bytes_of_mut(&mut words)[..size_of::<$type>()].copy_from_slice(bytemuck::bytes_of(&value));
                Self::new(ParameterKind::Scalar(Element::$element), Value::Words(words), None)
            }
        }
    )*};
}

elements!(i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64);

/// An argument of a launch. It borrows what it names until the launch is queued.
///
/// Made with `From` of scalars, of `&Buffer` and [`BufferView`] (to be read), of `&mut Buffer` and [`BufferViewMut`]
/// (to be written), of `&TensorView` and `&TensorMap`; [`args!`](crate::args) makes a list of them.
#[derive(Debug, Clone)]
pub struct Argument<'a> {
    pub(crate) kind: ParameterKind,
    pub(crate) value: Value,
    /// The context whose memory it names.
    pub(crate) context: Option<&'a Context>,
    /// Whether the memory that it names is borrowed until the launch is queued.
    pub(crate) borrows: bool,
    _borrow: PhantomData<&'a mut ()>,
}

/// The bytes of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// A scalar in the first bytes; or address and length.
    Words([u64; 2]),
    /// A tensor map.
    TensorMap(cudarc::driver::sys::CUtensorMap),
}

impl<'a> Argument<'a> {
    fn new(kind: ParameterKind, value: Value, context: Option<&'a Context>) -> Self {
        Self { kind, value, context, borrows: true, _borrow: PhantomData }
    }

    fn buffer<T: KernelElement>(view: BufferView<'a, T>, access: Access) -> Self {
        let kind = ParameterKind::Buffer { element: T::ELEMENT, access };
        Self::new(kind, Value::Words([view.address(), view.len() as u64]), Some(&*view.device().context))
    }

    /// What the argument is.
    #[must_use]
    pub fn kind(&self) -> ParameterKind {
        self.kind
    }
}

impl<'a, T: KernelElement> From<BufferView<'a, T>> for Argument<'a> {
    fn from(view: BufferView<'a, T>) -> Self {
        Self::buffer(view, Access::Read)
    }
}

impl<'a, T: KernelElement> From<BufferViewMut<'a, T>> for Argument<'a> {
    fn from(view: BufferViewMut<'a, T>) -> Self {
        Self::buffer(view.into(), Access::ReadWrite)
    }
}

impl<'a, T: KernelElement> From<&'a Buffer<T>> for Argument<'a> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view().into()
    }
}

impl<'a, T: KernelElement> From<&'a mut Buffer<T>> for Argument<'a> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.view_mut().into()
    }
}

impl<'a> From<&'a TensorMap> for Argument<'a> {
    fn from(map: &'a TensorMap) -> Self {
        let argument = Self::new(ParameterKind::TensorMap, Value::TensorMap(*map.raw()), Some(map.context()));
        Self { borrows: false, ..argument }
    }
}

impl<'a> From<&'a TensorView<'_>> for Argument<'a> {
    fn from(view: &'a TensorView<'_>) -> Self {
        Self { borrows: true, ..view.map().into() }
    }
}

/// A list of [`Argument`]s for [`Kernel::launch`](crate::Kernel::launch): `args![2.0f32, &x, &mut y]`.
#[macro_export]
macro_rules! args {
    ($($argument:expr),* $(,)?) => { &[$($crate::Argument::from($argument)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_travels_in_the_first_bytes_and_with_its_type() {
        let argument = Argument::from(-2i8);
        assert_eq!(argument.kind, ParameterKind::Scalar(Element::I8));
        let Value::Words(words) = argument.value else { panic!("a scalar is words") };
        assert_eq!(bytemuck::bytes_of(&words)[0], 0xfe);
        let argument = Argument::from(1.5f64);
        assert_eq!(argument.kind, ParameterKind::Scalar(Element::F64));
        let Value::Words(words) = argument.value else { panic!("a scalar is words") };
        assert_eq!(words[0], 1.5f64.to_bits());
    }

    #[test]
    fn an_elements_size_is_its_types() {
        fn same<T: KernelElement>() {
            assert_eq!(T::ELEMENT.bytes(), size_of::<T>());
        }
        same::<u8>();
        same::<f32>();
        same::<[u32; 4]>();
        same::<[i16; 2]>();
        same::<f64>();
    }
}
