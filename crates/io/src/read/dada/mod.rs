//! PSRDADA files: time-ordered samples behind a text header. The [module of the readers](super) says how its keywords
//! are taken.

mod header;
mod reader;

pub(super) use header::looks_like_dada;
pub(super) use reader::DadaReader;
