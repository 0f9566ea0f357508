//! Declaration of kernels.

/// What `kernel!` makes beside a kernel's function: a type of the same name.
pub trait Kernel {
    /// Name, parameters and launch bounds, as `fringes-kernel-declaration` reads them.
    const DECLARATION: &'static str;
}

/// A type that kernels take.
pub trait Parameter: Sized {
    /// What the host passes.
    type Passed;

    /// The parameter from what was passed and its generic address.
    fn receive(passed: Self::Passed, address: impl FnOnce() -> u64) -> Self;
}

macro_rules! passed_as_it_is {
    ($([$($generic:tt)*] $type:ty;)*) => { $(
        impl<$($generic)*> Parameter for $type {
            type Passed = Self;

            #[inline(always)]
            fn receive(passed: Self, _: impl FnOnce() -> u64) -> Self {
                passed
            }
        }
    )* };
}

passed_as_it_is! {
    [T: crate::Value] T;
    [T] crate::Global<T>;
    [T] crate::GlobalMut<T>;
}

/// Index of a name among others.
#[doc(hidden)]
pub const fn position(names: &[&str], name: &str) -> usize {
    let mut index = 0;
    while index < names.len() {
        let (one, other) = (names[index].as_bytes(), name.as_bytes());
        let mut at = 0;
        while at < one.len() && at < other.len() && one[at] == other[at] {
            at += 1;
        }
        if at == one.len() && at == other.len() {
            return index;
        }
        index += 1;
    }
    panic!("no such name")
}

/// Declares a kernel: its code, and beside it the bounds that it is compiled for.
///
/// ```ignore
/// fringes_device::kernel! {
///     /// `y[i] = a x[i] + y[i]`.
///     ///
///     /// # Safety
///     /// As every kernel: views of memory that lives as long as the launch.
///     #[launch(threads(256), min_blocks(2))]
///     pub unsafe fn saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) {
///         ...
///     }
/// }
/// ```
///
/// On the device this is a PTX entry with the directives of its bounds and one comment line that carries the
/// declaration; on the host a function that the emulator runs, and a type `saxpy` with `saxpy::DECLARATION`.
///
/// Bounds: `threads(x[, y[, z]])` (the block of every launch), `min_blocks(n)`, `max_registers(n)`,
/// `cluster(x[, y[, z]])`, `shared_bytes(n)` (least dynamic shared memory). All are literals.
///
/// Parameters: `i8` to `u64`, `f32`, `f64`, [`Global<T>`](crate::Global), [`GlobalMut<T>`](crate::GlobalMut),
/// [`TensorMap`](crate::TensorMap).
///
/// A kernel declared `pub fn` instead promises to stay inside its views for any arguments: it checks what it relies on
/// and calls [`trap`](crate::control::trap) otherwise. The host may launch it without `unsafe`.
#[macro_export]
macro_rules! kernel {
    () => {};
    ($(#[doc = $doc:expr])* #[launch($($key:ident($first:literal $(, $more:literal)*)),* $(,)?)] pub unsafe fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::kernel!(@ [$($doc,)*] concat!(stringify!($name), "(", $(stringify!($argument), ": ", stringify!($type), ", ",)* ")", $(" ", stringify!($key), "=", stringify!($first) $(, ",", stringify!($more))*),*), [unsafe] $name($($argument: $type),*) $body);
        $crate::kernel! { $($rest)* }
    };
    ($(#[doc = $doc:expr])* #[launch($($key:ident($first:literal $(, $more:literal)*)),* $(,)?)] pub fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::kernel!(@ [$($doc,)*] concat!(stringify!($name), "(", $(stringify!($argument), ": ", stringify!($type), ", ",)* ")", $(" ", stringify!($key), "=", stringify!($first) $(, ",", stringify!($more))*,)* " safe"), [] $name($($argument: $type),*) $body);
        $crate::kernel! { $($rest)* }
    };
    (@ [$($doc:expr,)*] $declaration:expr, [$($unsafe:tt)?] $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        #[cfg(target_arch = "nvptx64")]
        core::arch::global_asm!(concat!("//@kernel ", $declaration), options(raw));

        $(#[doc = $doc])*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        pub $($unsafe)? extern "ptx-kernel" fn $name($($argument: <$type as $crate::Parameter>::Passed),*) {
            const PARAMETERS: &[&str] = &[$(stringify!($argument)),*];
            $(let $argument: $type = <$type as $crate::Parameter>::receive($argument, || {
                let address: u64;
                // SAFETY: the address of a parameter of this kernel, under the name that LLVM gives it.
                unsafe {
                    core::arch::asm!(
                        "{{ .reg .b64 t; mov.b64 t, {kernel}_param_{index}; cvta.param.u64 {address}, t; }}",
                        kernel = sym $name,
                        index = const $crate::position(PARAMETERS, stringify!($argument)),
                        address = out(reg64) address,
                        options(pure, nomem, nostack),
                    );
                }
                address
            });)*
            $body
        }

        $(#[doc = $doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        // So that the host compiles the kernels that a test runs, and no others.
        #[inline]
        pub $($unsafe)? fn $name($($argument: $type),*) $body

        $(#[doc = $doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_camel_case_types)]
        pub enum $name {}

        #[cfg(not(target_arch = "nvptx64"))]
        impl $crate::Kernel for $name {
            const DECLARATION: &'static str = $declaration;
        }
    };
}
