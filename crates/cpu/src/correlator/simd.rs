//! Which instructions the inner loops use, found once at run time; those of the beamformer too.

/// An instruction set that the correlator and tied-array beams have inner loops for. Integer results are the same on
/// all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What the program was compiled for; every machine has it.
    Portable,
    /// AVX2 and FMA (x86-64-v3): products of 16-bit pairs (`vpmaddwd`), fused f32.
    Avx2,
    /// AVX-512 (F, BW, DQ and VL) beside [`Self::Avx2`]: the same in registers of 512 bits.
    Avx512,
    /// AVX-512 VNNI beside [`Self::Avx512`]: products of four 8-bit values (`vpdpbusd`) in registers of 256 bits;
    /// floats as there.
    Avx512Vnni,
}

impl InstructionSet {
    /// Every instruction set, slowest first.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Vnni];

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = || std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
            let avx512 = || {
                avx2()
                    && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
            };
            match self {
                Self::Portable => true,
                Self::Avx2 => avx2(),
                Self::Avx512 => avx512(),
                Self::Avx512Vnni => avx512() && std::is_x86_feature_detected!("avx512vnni"),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Portable
        }
    }

    /// The fastest one that this machine has.
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|set| set.is_available()).unwrap_or(Self::Portable)
    }
}
