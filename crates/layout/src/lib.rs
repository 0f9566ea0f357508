//! Where each element of an array lies, on a GPU: in which register of which lane, at which address of a memory.
//! Layouts are checked, drawn, converted by planned programs, and derived for whole chains of tensor-core products.
//!
//! The idea, layouts as maps of index bits, is explained with tables in the essay that opens
//! [`fringes_layout_core`]. Everything there is here too; that crate is the part that kernels use, in `const` and
//! without `std`. What follows continues the essay with programs.
//!
//! # From a layout to a program
//!
//! The essay ends with conversions: for each place of the new layout, the place of the old one that has its element. A
//! GPU has few ways to move elements, and each exchanges some bits of the place:
//!
//! | move | exchanges | a pair of registers takes |
//! |---|---|---|
//! | none: count registers otherwise | register bits with each other | nothing |
//! | local transpose | `b` and a register bit | 2 permutes (`prmt`) |
//! | warp transpose | a lane bit and a register bit | 1 shuffle, 3 selects |
//! | `movmatrix` | `b t0 t1` and `t2 t3 t4` | 2 `movmatrix` |
//! | shared memory | anything | 2 words stored and 2 loaded |
//!
//! Take eight bits, a lane's register holding two of 16 bits, and let the new layout want `b` and two lane bits where
//! registers are:
//!
//! ```
//! use fringes_layout::layout;
//! use fringes_layout::plan::{Costs, Options, plan};
//!
//! let from = layout!("b<->x0  t0 t1 t2 t3 t4<->x1 x2 x3 x4 x5  r<->y0 y1 y2");
//! let to = layout!("b<->y0  t0 t1 t2 t3 t4<->y1 y2 x3 x4 x5  r<->x0 x1 x2");
//! let registers_only = Options { shared: false, ..Options::default() };
//! let plan = plan(&from, &to, &Costs::NOTE, &registers_only)?;
//! assert_eq!((plan.counts.permute, plan.counts.shuffle, plan.counts.select), (8, 8, 24));
//! // The program is run on every element and compared with the two layouts.
//! plan.program.check(&from, &to)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`plan`](mod@plan) finds the cheapest sequence by a table of what instructions [cost](plan::Costs) on a GPU, states
//! a lower bound that holds for any program, and its [`Program`](program::Program) runs on the CPU, counts its
//! instructions and writes itself as Rust for a kernel. On an H200 the conversion above takes another way than on an
//! A40: storing and loading matrices in shared memory is cheaper there than shuffles and selects.
//!
//! # From contractions to layouts
//!
//! A tensor-core instruction multiplies fragments whose [layouts](atoms) are fixed. Written with the bits of row `i`,
//! sum `j` and column `k`, `m16n8k16` of 16-bit elements is
//!
//! | operand | layout |
//! |---|---|
//! | A, 16 x 16 | `b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2` |
//! | B, 16 x 8 | `b<->j0  r<->j3  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2` |
//! | C, 16 x 8 | `b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2` |
//!
//! With the data as B, the bits that a product sums must be in `b t0 t1` and a register bit; the bits in `t2 t3 t4`
//! come out in `b t0 t1`, and the bits that it creates in `t2 t3 t4` and a register bit. So each product moves bits as
//! well as computing, and one product's result may or may not suit the next. [`solve`](mod@solve) searches all
//! assignments of a chain for the one with the least cost, conversions included:
//!
//! ```
//! use fringes_layout::plan::Costs;
//! use fringes_layout::solve::{Fft, Problem, solve};
//!
//! let problem = Problem::new(Fft::new(6, 7).chain()?, Costs::H200);
//! let solution = solve(&problem)?;
//! // 64 inputs, 128 outputs, two factors: what the first creates lies where the second wants it.
//! assert_eq!(solution.totals.counts.shuffle, 0);
//! println!("{solution}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where a created bit of a factor is only the sign of a summed one, the tensor cores compute half of the result and
//! one half2 operation a register gives the other ([splits](solve#splits)); [`solve::best`] tries all factors. For 256
//! inputs and 512 outputs with both ends as memory has them, 16 products and 48 half2 operations remain, and no
//! conversion.
//!
//! [`frb`] is a published assignment of this kind and the verification of all that is said of it.
//!
//! | module | what it does |
//! |---|---|
//! | the root, [`atoms`], [`access`] | layouts, fragments, bank conflicts and sectors (from [`fringes_layout_core`]) |
//! | [`picture`] | layouts as text and SVG |
//! | [`plan`](mod@plan) | conversions: the cheapest program, its counts and bound |
//! | [`program`] | programs: run, check, count, write as Rust |
//! | [`solve`](mod@solve) | layouts for chains of products |
//! | [`frb`] | the register assignments of an FRB beamformer's transform, verified |

pub mod frb;
pub mod picture;
pub mod plan;
pub mod program;
pub mod solve;

pub use fringes_layout_core::*;
