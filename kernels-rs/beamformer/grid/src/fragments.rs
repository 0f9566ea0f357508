//! Both matrices as fragments of `m16n8k16`, and how samples lie in shared memory.
//!
//! # Layout
//! `q` counts beams along a line, `n` feeds, `l` lines, `o` outs; bits from 0.
//!
//! ```text
//! x   b<->ReIm  r<->n0     t0 t1 t2 t3 t4<->n1 n2 l0 l1 l2                    8 feeds of 8 lines, from shared memory
//! E   b<->ReIm_in  r<->ReIm_out n0     t0 t1 t2 t3 t4<->n1 n2 q0 q1 q2        the matrix along a line: 8 beams
//! J   b<->l0  r<->ReIm     t0 t1 t2 t3 t4<->l1 l2 q0 q1 q2                    E x, rounded to f16
//! m   b<->l0  r<->ReIm_out ReIm_in     t0 t1 t2 t3 t4<->l1 l2 o0 o1 o2        the matrix of lines: 8 outs
//! K   r<->q0 ReIm          t0 t1 t2 t3 t4<->q1 q2 o0 o1 o2                    m J, in f32
//! ```
//!
//! What one product leaves is what the next one takes: nothing is exchanged between lanes. Columns of 8 lines are lines
//! of several times where there are fewer: 4 lines of 2 times, 2 of 4, 1 of 8. The matrix of lines then has zeros for
//! the other times, and there are as many of it.
//!
//! | table | of |
//! |---|---|
//! | `phases` | `[frequency][8 beams][8 feeds][lane]`, four registers |
//! | `matrix` | `[frequency][time of a tile][8 outs][8 lines][lane]`, four registers |
//!
//! In shared memory 8 feeds of 8 lines are 64 words `[line][feed]` and [`TILE_WORDS`] apart, so that four neighbouring
//! lanes that store four feeds each have all banks.

/// Words from 8 feeds of 8 lines to the next in shared memory.
pub const TILE_WORDS: u32 = 72;

/// Rows or columns of a fragment: beams, feeds, lines, outs.
pub const SIDE: u32 = 8;
