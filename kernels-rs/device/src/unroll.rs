//! Loops that are certainly unrolled.

/// Repeats a block with a variable that is a constant in each copy: `unroll!(i in 0 1 2 3 { sums[i] = 0; })`.
///
/// Register arrays may be indexed by constants only: an array indexed by a loop variable whose loop the compiler chose
/// not to unroll lies in local memory (ptxas reports a stack frame). The variable has type `usize`.
///
/// On the host it is a loop, as compilers take minutes for what kernels of many registers are else: a block has no
/// `break` or `continue` of a loop around it.
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! unroll {
    ($i:ident in $($n:literal)* $body:block) => { for $i in [$($n as usize),*] $body };
}

/// Repeats a block with a variable that is a constant in each copy.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! unroll {
    ($i:ident in $($n:literal)* $body:block) => { $( { let $i: usize = $n; $body } )* };
}
