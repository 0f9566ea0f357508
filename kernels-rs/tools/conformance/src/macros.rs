//! The macros that declare cases.

/// Items of a case of `elementwise!` in a round.
pub const ITEMS: usize = 512;

/// Declares the cases of a module: kernels of any kind, each with its launch. Makes the kernels and `pub fn cases()`.
///
/// ```text
/// kernels! {
///     /// Sum over the lanes.
///     #[threads(64)]
///     fn sum_of_lanes(input, output) covers [redux_sync_add_u32]
///     with |case| case.input(|random| random.words(64)).output(64) => {
///         let i = tid_x() as usize;
///         output.store(i, redux_sync_add_u32(u32::MAX, input.load(i)));
///     }
/// }
/// ```
macro_rules! kernels {
    ($($(#[doc = $doc:expr])* #[threads($($threads:literal),*)] fn $name:ident($input:ident, $output:ident) covers [$($intrinsic:ident),* $(,)?] with $setup:expr => $body:block)*) => {
        $(fringes_device::kernel! {
            $(#[doc = $doc])*
            ///
            /// # Safety
            /// As launched by its case.
            #[launch(threads($($threads),*))]
            pub unsafe fn $name($input: fringes_device::Global<u32>, $output: fringes_device::GlobalMut<u32>) $body
        })*

        /// The cases of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn cases() -> Vec<$crate::Case> {
            vec![$({
                let setup: fn($crate::Case) -> $crate::Case = $setup;
                setup($crate::Case::new(
                    stringify!($name),
                    &[$(stringify!($intrinsic)),*],
                    <$name as fringes_device::Kernel>::DECLARATION,
                    $crate::three(&[$($threads),*]),
                    $crate::Entry::Plain($name),
                ))
            }),*]
        }
    };
}

/// Declares the cases of a module whose kernels take tensor maps of input and output before them:
/// `=> TENSOR => { body }` behind the settings. Makes the kernels and `pub fn cases()`.
macro_rules! tensor_kernels {
    ($($(#[doc = $doc:expr])* #[threads($($threads:literal),*)] fn $name:ident($source:ident, $target:ident, $input:ident, $output:ident) covers [$($intrinsic:ident),* $(,)?] with $setup:expr => $tensor:expr => $body:block)*) => {
        $(fringes_device::kernel! {
            $(#[doc = $doc])*
            ///
            /// # Safety
            /// As launched by its case.
            #[launch(threads($($threads),*))]
            pub unsafe fn $name($source: fringes_device::TensorMap, $target: fringes_device::TensorMap, $input: fringes_device::Global<u32>, $output: fringes_device::GlobalMut<u32>) $body
        })*

        /// The cases of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn cases() -> Vec<$crate::Case> {
            vec![$({
                let setup: fn($crate::Case) -> $crate::Case = $setup;
                setup($crate::Case::new(
                    stringify!($name),
                    &[$(stringify!($intrinsic)),*],
                    <$name as fringes_device::Kernel>::DECLARATION,
                    $crate::three(&[$($threads),*]),
                    $crate::Entry::Tensor($name, $tensor),
                ))
            }),*]
        }
    };
}

/// Declares the cases of a module whose kernels compute each item from its own words. Makes the kernels and
/// `pub fn cases()`.
///
/// An operand is a word; what stands behind the colon makes it (a function of [`Random`](crate::Random)). The body
/// gives an array of output words. 128 threads take the items of a round in turn.
///
/// ```text
/// elementwise! {
///     fn prmt(a: Random::word, b: Random::word, selector: Random::word) -> 1 covers [prmt_b32] with |case| case => {
///         [prmt_b32(a, b, selector)]
///     }
///     fn add(a: Random::float, b: Random::float) -> 1 covers [add_rn_f32] with |case| case => {
///         [add_rn_f32(f32::from_bits(a), f32::from_bits(b)).to_bits()]
///     }
/// }
/// ```
macro_rules! elementwise {
    ($($(#[doc = $doc:expr])* fn $name:ident($($operand:ident: $generator:expr),* $(,)?) -> $words:literal covers [$($intrinsic:ident),* $(,)?] with $setup:expr => $body:block)*) => {
        $(fringes_device::kernel! {
            $(#[doc = $doc])*
            #[doc = concat!("Case of `", $(stringify!($intrinsic), "` `",)* "` on each item.")]
            ///
            /// # Safety
            /// As launched by its case.
            #[launch(threads(128))]
            pub unsafe fn $name(input: fringes_device::Global<u32>, output: fringes_device::GlobalMut<u32>) {
                let mut item = fringes_device::index::tid_x() as usize;
                while item < $crate::macros::ITEMS {
                    let [$($operand),*] = $crate::macros::load(input, item);
                    let result: [u32; $words] = $body;
                    $crate::macros::store(output, item, result);
                    item += 128;
                }
            }
        })*

        /// The cases of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn cases() -> Vec<$crate::Case> {
            vec![$({
                let setup: fn($crate::Case) -> $crate::Case = $setup;
                let make: fn(&mut $crate::Random) -> Vec<u32> = |random| {
                    (0..$crate::macros::ITEMS).flat_map(|_| [$(($generator)(random)),*]).collect()
                };
                let case = $crate::Case::new(
                    stringify!($name),
                    &[$(stringify!($intrinsic)),*],
                    <$name as fringes_device::Kernel>::DECLARATION,
                    [128, 1, 1],
                    $crate::Entry::Plain($name),
                );
                let operands = [$(stringify!($operand)),*].len();
                setup(case.input(make).output($words * $crate::macros::ITEMS).item(operands, $words))
            }),*]
        }
    };
}

/// The words of an item.
///
/// # Safety
/// The view has the words.
#[inline(always)]
pub unsafe fn load<const N: usize>(input: fringes_device::Global<u32>, item: usize) -> [u32; N] {
    core::array::from_fn(|word| input.load(item * N + word))
}

/// Stores the words of an item.
///
/// # Safety
/// The view has the words, and no other thread uses them.
#[inline(always)]
pub unsafe fn store<const N: usize>(output: fringes_device::GlobalMut<u32>, item: usize, words: [u32; N]) {
    let mut word = 0;
    while word < N {
        output.store(item * N + word, words[word]);
        word += 1;
    }
}
