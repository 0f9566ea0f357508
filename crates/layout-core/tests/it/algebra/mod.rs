//! Tests of the layout algebra against tables that are filled place by place.
#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

mod constant;
mod exhaustive;
mod golden;
mod inverses;
mod laws;
mod parts;
mod questions;
mod table;
mod text_form;
