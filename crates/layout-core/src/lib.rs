//! Where each element of an array lies, as a map of index bits: checked, composed and inverted in `const`, without
//! `std` or allocation.
//!
//! # Two questions about an array
//!
//! A GPU program holds an array in pieces: each of the 32 lanes of a warp has some elements in its registers, a
//! tensor-core instruction wants them in a pattern of its own, memory has them in yet another. Two questions
//! come up all the time: *which place holds element 13?* and *what moves the array from this pattern to that one?* A
//! **layout** answers the first. With layouts as values that can be inverted and composed, the second is a formula.
//!
//! Take an array of 32 elements `n` and, to keep tables small, a warp of 8 lanes with 4 registers each. If every lane
//! loads four elements in a row from memory, the lanes hold
//!
//! | n | lane 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
//! |---|---|---|---|---|---|---|---|---|
//! | register 0 | 0 | 4 | 8 | 12 | 16 | 20 | 24 | 28 |
//! | register 1 | 1 | 5 | 9 | 13 | 17 | 21 | 25 | 29 |
//! | register 2 | 2 | 6 | 10 | 14 | 18 | 22 | 26 | 30 |
//! | register 3 | 3 | 7 | 11 | 15 | 19 | 23 | 27 | 31 |
//!
//! # Bits instead of indices
//!
//! The table has 32 entries and says very little. Write the lane as bits `t2 t1 t0`, the register as `r1 r0` and the
//! element as `n4 n3 n2 n1 n0`, index 0 being the lowest bit. Going from an even register to the next one flips `r0`,
//! and all along the table it changes the element by 1: it flips `n0`, whatever the other bits are. Every physical bit
//! is tied to a logical one:
//!
//! | flip | r0 | r1 | t0 | t1 | t2 |
//! |---|---|---|---|---|---|
//! | flips | n0 | n1 | n2 | n3 | n4 |
//!
//! Five entries, and the text form of a [`Layout`] is just this list, lane bits first, `t0` leading:
//!
//! ```
//! use fringes_layout_core::{Layout, layout};
//!
//! const LOADED: Layout = layout!("t0 t1 t2<->n2 n3 n4  r<->n0 n1");
//!
//! // The place of lane 3 and register 1, and what it holds, as numbers.
//! let place = LOADED.physical().index(&[("t", 3), ("r", 1)]);
//! let element = LOADED.apply(place);
//! assert_eq!(LOADED.logical().number("n", element), 13);
//!
//! // The other way round.
//! let places = LOADED.invert()?;
//! let place = places.apply(places.physical().index(&[("n", 13)]));
//! assert_eq!(places.logical().number("t", place), 3);
//! assert_eq!(places.logical().number("r", place), 1);
//! # for lane in 0..8 {
//! #     for register in 0..4 {
//! #         let element = LOADED.apply(LOADED.physical().index(&[("t", lane), ("r", register)]));
//! #         assert_eq!(LOADED.logical().number("n", element), 4 * lane + register);
//! #     }
//! # }
//! # Ok::<(), fringes_layout_core::LayoutError>(())
//! ```
//!
//! Bits have names, and names are what is matched: `n3` of one layout is `n3` of every other, in whatever order a
//! layout lists its bits. The order matters where a place or an element is one number, as for [`Layout::apply`].
//! Physical bits get the order of the text, logical bits that of their first mention (here `n2 n3 n4 n0 n1`);
//! [`Space::index`] and [`Space::number`] go by names and spare the reader that, and [`Layout::with_logical_order`]
//! sets another. [`Layout::same_map`] compares two layouts whatever the orders.
//!
//! By custom `t` is the lane, `r` the register, `b` the position of a 16- or 8-bit element inside its register, `w` the
//! warp, `k` the thread block, `s` and `g` a byte address of shared and global memory. Logical bits have any names:
//! `n0`, `q3`, `ReIm`.
//!
//! # Why XOR
//!
//! Nothing says that a physical bit must flip just one logical bit. A layout may tie `t0` to `n2^n0`, both at once;
//! then lanes 0 and 1 hold elements 0 and 5. The rule for a whole place is: **start from the element of place 0, and
//! for each bit of the place that is 1, flip what its bit is tied to.** Flips cancel in pairs, so this is a sum without
//! carry, the XOR:
//!
//! ```text
//! element(place) = offset ^ column(i) ^ column(j) ^ ...       over the bits i, j, ... of the place that are 1
//! ```
//!
//! Mathematicians call this a linear map over the field of two elements, F2 (affine, with the offset), and the list of
//! flips its matrix, one column a physical bit. What makes these maps the right ones:
//!
//! - they are what hardware does: fragments of tensor cores, `shfl.bfly`, power-of-two strides and swizzles of shared
//!   memory are all of this kind;
//! - they are closed: inverses, compositions and parts of them are such maps again;
//! - they are small: 9 columns say where 512 elements are, and whatever holds for the columns holds for all places.
//!   Checks are exact and cost little enough for the compiler to make them: a kernel's assumption about a layout is
//!   `const _: () = assert!(...)`.
//!
//! # The text form
//!
//! | Text | Meaning |
//! |---|---|
//! | `b<->ReIm  t0 t1 t2<->n7 n6 n5  r<->n2 n1` | groups, two spaces or a comma or a line's end between them |
//! | `r<->n2 n1 n0` | short for `r0 r1 r2<->n2 n1 n0` |
//! | `t0<->n7^n3` | a sum: `t0` flips both |
//! | `t4<->0` | a broadcast: lanes that differ in `t4` hold the same |
//! | `0<->n5` | no place has `n5` = 1: only that half of the array is held |
//! | `ReIm.<->b0` | a full stop keeps a physical name without a number; without it, `b` is `b0` |
//! | `... + n3^n1` | place 0 holds element `n3^n1`, and all others are flipped likewise |
//!
//! [`Layout::parse`] reads it, `Display` prints it, [`layout!`](crate::layout!) makes a constant and its faults are
//! errors of compilation.
//!
//! # Held twice, held nowhere
//!
//! Let the 8 lanes hold only 16 elements, `t0 t1 t2<->n2 n3 0  r<->n0 n1`: `t2` flips nothing, lanes 4 to 7 repeat
//! lanes 0 to 3.
//!
//! | n | lane 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
//! |---|---|---|---|---|---|---|---|---|
//! | register 0 | 0 | 4 | 8 | 12 | 0 | 4 | 8 | 12 |
//! | register 1 | 1 | 5 | 9 | 13 | 1 | 5 | 9 | 13 |
//! | register 2 | 2 | 6 | 10 | 14 | 2 | 6 | 10 | 14 |
//! | register 3 | 3 | 7 | 11 | 15 | 3 | 7 | 11 | 15 |
//!
//! A layout is **injective** if no two places hold the same element, **surjective** if every element is held. This one
//! is surjective, not injective: `t2` is a broadcast bit. Broadcasts can hide in sums: in `t0 t1<->n0 n0` each bit
//! matters, but flipping both changes nothing. The [kernel](Layout::kernel) lists all such flips. Elimination on the
//! columns decides all of this, and its errors name the bit:
//!
//! ```
//! use fringes_layout_core::{Layout, layout};
//!
//! const REPEATED: Layout = layout!("t0 t1 t2<->n2 n3 0  r<->n0 n1");
//! const _: () = assert!(REPEATED.is_surjective() && !REPEATED.is_injective());
//!
//! let error = REPEATED.require_injective().unwrap_err();
//! assert_eq!(error.to_string(), "not injective: flipping bit t2 (with lower ones) gives the same element");
//! let error = layout!("t0 t1<->n0 n1^n2").require_surjective().unwrap_err();
//! assert_eq!(error.to_string(), "not surjective: no change of place flips bit n1 alone");
//! // Every element still has a lowest place.
//! assert_eq!(REPEATED.right_inverse()?.to_string(), "n2 n3 n0 n1<->t0 t1 r0 r1  0<->t2");
//! # for lane in 0..8 {
//! #     for register in 0..4 {
//! #         let element = REPEATED.apply(REPEATED.physical().index(&[("t", lane), ("r", register)]));
//! #         assert_eq!(REPEATED.logical().number("n", element), 4 * lane % 16 + register);
//! #     }
//! # }
//! # Ok::<(), fringes_layout_core::LayoutError>(())
//! ```
//!
//! # Moving an array: composition
//!
//! Now suppose that the next step wants lane `l` to hold elements `l`, `l + 8`, `l + 16` and `l + 24`: `t0 t1 t2<->n0
//! n1 n2  r<->n3 n4`. What has to move? Place p of the new layout holds element `new(p)`; the old layout has that
//! element at `old⁻¹(new(p))`. So the map *from each destination to its source* is the new layout followed by the
//! inverse of the old one, again a layout, from places to places:
//!
//! ```
//! use fringes_layout_core::{Layout, conversion, layout};
//!
//! const LOADED: Layout = layout!("t0 t1 t2<->n2 n3 n4  r<->n0 n1");
//! const WANTED: Layout = layout!("t0 t1 t2<->n0 n1 n2  r<->n3 n4");
//!
//! let source = conversion(&LOADED, &WANTED)?;
//! assert_eq!(source.to_string(), "t0 t1 t2<->r0 r1 t0  r<->t1 t2");
//! assert!(source.same_map(&WANTED.compose(&LOADED.invert()?)?));
//! # let lanes = |register| [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| {
//! #     let place = source.apply(source.physical().index(&[("t", lane), ("r", register)]));
//! #     (source.logical().number("t", place), source.logical().number("r", place))
//! # });
//! # assert_eq!(lanes(0), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]);
//! # assert_eq!(lanes(3), [(6, 0), (6, 1), (6, 2), (6, 3), (7, 0), (7, 1), (7, 2), (7, 3)]);
//! # Ok::<(), fringes_layout_core::LayoutError>(())
//! ```
//!
//! As a table, "lane.register" of the source for each destination:
//!
//! | source | lane 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
//! |---|---|---|---|---|---|---|---|---|
//! | register 0 | 0.0 | 0.1 | 0.2 | 0.3 | 1.0 | 1.1 | 1.2 | 1.3 |
//! | register 1 | 2.0 | 2.1 | 2.2 | 2.3 | 3.0 | 3.1 | 3.2 | 3.3 |
//! | register 2 | 4.0 | 4.1 | 4.2 | 4.3 | 5.0 | 5.1 | 5.2 | 5.3 |
//! | register 3 | 6.0 | 6.1 | 6.2 | 6.3 | 7.0 | 7.1 | 7.2 | 7.3 |
//!
//! The text says what the table hides: every bit wanders, two from registers to lanes. One shuffle between lanes
//! exchanges one lane bit with one register bit, so two exchanges are needed at least, and what is left is another
//! numbering of lanes. Finding the cheapest program is the business of the planner in `fringes-layout`; that a program
//! is right is checked here, because programs are layouts too.
//!
//! # A swizzle is a layout
//!
//! Shared memory has banks, and lanes that want different words of one bank wait for each other. Store a 4 x 4 matrix
//! row by row in four banks, and a column lies in one bank: reading a row is fast, reading a column takes four turns.
//! The remedy is to store row `i` with its columns renumbered by `column ^ i`. As a layout of memory, each bit of the
//! line flips a bit of the column as well as its own bit of the row:
//!
//! | row, column | bank 0 | bank 1 | bank 2 | bank 3 |
//! |---|---|---|---|---|
//! | line 0 | 0,0 | 0,1 | 0,2 | 0,3 |
//! | line 1 | 1,1 | 1,0 | 1,3 | 1,2 |
//! | line 2 | 2,2 | 2,3 | 2,0 | 2,1 |
//! | line 3 | 3,3 | 3,2 | 3,1 | 3,0 |
//!
//! Column 0 is now on the diagonal, one element a bank. No special case is needed to see this: where do four lanes go
//! that read a column?
//!
//! ```
//! use fringes_layout_core::{Layout, layout};
//!
//! const PLAIN: Layout = layout!("bank0 bank1<->col0 col1  line0 line1<->row0 row1");
//! const SWIZZLED: Layout = layout!("bank0 bank1<->col0 col1  line0 line1<->row0^col0 row1^col1");
//! const COLUMN: Layout = layout!("t0 t1<->row0 row1  0<->col0 col1"); // lane t takes row t of column 0
//!
//! let banks = |memory: &Layout| COLUMN.compose(&memory.invert()?)?.project(&["bank0", "bank1"]);
//! assert_eq!(banks(&PLAIN)?.to_string(), "t0 t1<->0 0  0<->bank0 bank1"); // all in bank 0
//! assert_eq!(banks(&SWIZZLED)?.to_string(), "t0 t1<->bank0 bank1"); // each in its own
//! # let row = |line| [0, 1, 2, 3].map(|bank| {
//! #     let element = SWIZZLED.apply(SWIZZLED.physical().index(&[("line", line), ("bank", bank)]));
//! #     (SWIZZLED.logical().number("row", element), SWIZZLED.logical().number("col", element))
//! # });
//! # assert_eq!(row(1), [(1, 1), (1, 0), (1, 3), (1, 2)]);
//! # assert_eq!(row(2), [(2, 2), (2, 3), (2, 0), (2, 1)]);
//! # assert_eq!(row(3), [(3, 3), (3, 2), (3, 1), (3, 0)]);
//! # Ok::<(), fringes_layout_core::LayoutError>(())
//! ```
//!
//! Injective into the banks means free of conflicts; the rank tells how many lanes share a bank otherwise. [`access`]
//! counts this for real memories, and [`Swizzle`] has the patterns that the hardware knows.
//!
//! # What there is
//!
//! | To | use |
//! |---|---|
//! | write down a layout | [`layout!`](crate::layout!), [`Layout::parse`], [`Layout::from_columns`], [`Layout::flat`] |
//! | undo it | [`invert`](Layout::invert), [`right_inverse`](Layout::right_inverse), [`left_inverse`](Layout::left_inverse) |
//! | chain two | [`compose`](Layout::compose), [`conversion`] |
//! | build from parts, and take apart | [`product`](Layout::product), [`divide`](Layout::divide), [`divide_left`](Layout::divide_left) |
//! | look at a part | [`restrict_physical`](Layout::restrict_physical), [`restrict_logical`](Layout::restrict_logical), [`project`](Layout::project) |
//! | call bits otherwise | [`rename_physical`](Layout::rename_physical), [`reshape_logical`](Layout::reshape_logical) |
//! | ask | [`is_injective`](Layout::is_injective), [`kernel`](Layout::kernel), [`contiguous_bits`](Layout::contiguous_bits) |
//! | know an instruction's fragments | [`atoms`] |
//! | count bank conflicts and sectors | [`access`] |
//! | put dimensions around it that are no power of two | [`Tiling`] |
//!
//! Everything is `const`. Errors are values of [`LayoutError`] and name the bit that is in the way.
#![no_std]

#[cfg(test)]
extern crate std;

mod compose;
mod error;
mod inverse;
mod layout;
mod matrix;
mod message;
mod name;
mod product;
mod queries;
mod rename;
mod reshape;
mod restrict;
mod space;
mod swizzle;
mod text;
mod tiling;

pub mod access;
pub mod atoms;
pub mod frb;

pub use error::LayoutError;
pub use inverse::conversion;
pub use layout::Layout;
pub use matrix::{Echelon, Matrix};
pub use message::Message;
pub use name::Name;
pub use space::{MAX_BITS, Space};
pub use swizzle::{Swizzle, swizzle};
pub use tiling::{Dimension, MAX_DIMENSIONS, Place, Tiling, TilingError};
