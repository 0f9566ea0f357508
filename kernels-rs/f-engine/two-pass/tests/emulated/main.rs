//! The kernels in the emulator, one after the other as the host launches them, against the reference.

mod case;
mod complex;
mod faults;
mod floats;
mod integers;
mod mixed;
mod real;
mod strided;
mod tensor;
mod tensor_complex;
