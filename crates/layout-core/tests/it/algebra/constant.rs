//! The algebra at compile time: each assertion here stops the build if it fails.

use fringes_layout_core::{Layout, Name, Space, conversion, layout};

/// The value of a result in `const`.
macro_rules! get {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(_) => panic!("refused"),
        }
    };
}

const X: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0");
const Z: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 n5 n4 n3  r<->n7 n6 ReIm");
const CONVERSION: Layout = get!(conversion(&X, &Z));

const _: () = assert!(X.is_permutation() && X.is_bijective() && X.rank() == 9);
const _: () = assert!(get!(get!(X.invert()).compose(&X)).same_map(&Layout::identity(*X.logical())));
const _: () = assert!(get!(CONVERSION.compose(&X)).same_map(&Z));
const _: () = assert!(CONVERSION.same_map(&layout!("b<->r0  t0 t1 t2 t3 t4<->r1 r2 t2 t3 t4  r<->t0 t1 b0")));

const ADDRESS: Space = get!(Space::numbered("a", 7));
const SWIZZLE: Layout = get!(layout!("s<->a0 a1 a2 a3^a5 a4^a6 a5 a6").with_logical_order(&ADDRESS));
const TWICE: Layout = get!(SWIZZLE.compose(&get!(SWIZZLE.reshape_physical(&ADDRESS))));
const _: () = assert!(TWICE.same_map(&layout!("s<->a0 a1 a2 a3 a4 a5 a6")) && TWICE.is_permutation());
const _: () = assert!(SWIZZLE.is_bijective() && !SWIZZLE.is_permutation() && SWIZZLE.contiguous_bits(&["s"]) == 3);

const PRODUCT: Layout = get!(layout!("t0 t1<->n0 n1").product(&layout!("r<->m0 m1 + m1")));
const _: () = assert!(get!(PRODUCT.divide_left(&layout!("t0 t1<->n0 n1"))).same_map(&layout!("r<->m0 m1 + m1")));
const _: () = assert!(get!(PRODUCT.divide_right(&layout!("r<->m0 m1 + m1"))).same_map(&layout!("t0 t1<->n0 n1")));
const _: () = assert!(PRODUCT.divide(&layout!("t0<->n1")).is_err());
const _: () = assert!(get!(PRODUCT.restrict_physical(&["r1"], 1)).same_map(&layout!("t0 t1<->n0 n1  r<->m0  0<->m1")));
const _: () = assert!(get!(PRODUCT.restrict_logical(&["m1"], 0)).same_map(&layout!("t0 t1<->n0 n1  r<->m0")));
const _: () = assert!(get!(PRODUCT.project(&["n1", "m0"])).same_map(&layout!("t0 t1<->0 n1  r<->m0 0")));
const _: () = assert!(get!(PRODUCT.drop_logical(&["n0", "m1"])).same_map(&layout!("t0 t1<->0 n1  r<->m0 0")));
const _: () = assert!(
    get!(get!(PRODUCT.rename_physical("t0", "w0")).rename_logical("m0", "q"))
        .same_map(&layout!("w0 t1<->n0 n1  r<->q m1 + m1"))
);
const _: () =
    assert!(get!(PRODUCT.renumber_physical("r", "r", 2)).same_map(&layout!("t0 t1<->n0 n1  r2 r3<->m0 m1 + m1")));

const BROADCAST: Layout = layout!("t0 t1 t2<->n0 n1 0");
const _: () = assert!(BROADCAST.is_surjective() && !BROADCAST.is_injective());
const _: () = assert!(BROADCAST.broadcast_bits().get(0).same(&get!(Name::new("t2"))));
const _: () = assert!(BROADCAST.kernel().columns()[0] == 0b100);
const _: () = assert!(get!(BROADCAST.right_inverse()).same_map(&layout!("n0 n1<->t0 t1  0<->t2")));
// The lowest logical bit is read: n1, the first mentioned.
const _: () = assert!(get!(layout!("t0<->n1^n0").left_inverse()).same_map(&layout!("n1 n0<->t0 0")));

const ARRAY: Layout = get!(Layout::flat("g", &[("col", 2), ("row", 3)]));
const _: () = assert!(ARRAY.apply(5 << 2 | 2) == ARRAY.logical().index(&[("row", 5), ("col", 2)]));
const _: () =
    assert!(get!(ARRAY.reshape_logical(&get!(Space::numbered("n", 5)))).same_map(&layout!("g<->n0 n1 n2 n3 n4")));

// The largest layouts stay below the compiler's limit on the length of an evaluation.
const LARGE: Layout = get!(get!(Layout::flat("physical", &[("logical", 48)])).with_offset(0x8421_8421_8421));
const _: () = assert!(get!(LARGE.compose(&get!(LARGE.invert()))).same_map(&Layout::identity(*LARGE.physical())));
const _: () = assert!(get!(conversion(&LARGE, &LARGE)).is_permutation());
const _: () = assert!(get!(LARGE.divide(&LARGE)).physical().is_empty());
const _: () = assert!(LARGE.contiguous_bits_in_any_order(&["physical"]) == 48);

#[test]
fn constants_are_what_the_same_calls_give_at_run_time() {
    assert_eq!(conversion(&X, &Z), Ok(CONVERSION));
    assert_eq!(Layout::flat("g", &[("col", 2), ("row", 3)]), Ok(ARRAY));
}
