//! Where the published numbers are from.

use serde::Serialize;

/// A paper, a page or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Who, what, when.
    pub citation: &'static str,
    /// Where it is.
    pub address: &'static str,
}

/// Sources, numbered from 1.
pub const SOURCES: [Source; 15] = [
    Source {
        citation: "G. Callanan: A GPU based X-Engine for the MeerKAT Radio Telescope. University of Cape Town (abstract, read 2026)",
        address: "https://open.uct.ac.za/items/c2806f86-0756-4cc3-9485-a6613e89594a",
    },
    Source {
        citation: "A. van der Byl et al.: MeerKAT correlator-beamformer. JATIS 8, 011006 (2021; abstract)",
        address: "https://doi.org/10.1117/1.JATIS.8.1.011006",
    },
    Source {
        citation: "SARAO: katgpucbf, documentation of the XB-engine, output heaps (read 2026)",
        address: "https://katgpucbf.readthedocs.io/",
    },
    Source {
        citation: "ASTRON: COBALT, project page (2022)",
        address: "http://old.astron.nl/r-d-laboratory/ska/completed-projects/cobalt/cobalt",
    },
    Source {
        citation: "ASTRON: LOFAR, frequency and subband selection, table 2 (read 2026)",
        address: "http://old.astron.nl/radio-observatory/astronomers/users/technical-information/frequency-selection/station-clocks-and-rcu",
    },
    Source {
        citation: "ASTRON: the LOFAR repository, commit 5e0a8bc0: 64 stations, core stations counted as two (read 2026)",
        address: "https://git.astron.nl/ro/lofar/-/commit/5e0a8bc0c5438c65b515c8c21325348bc453712d",
    },
    Source {
        citation: "Microway: NVIDIA Tesla K10 GPU Accelerator up close (2012): 4.58 TFLOPS of f32, two chips a board",
        address: "http://microway.com/hpc-tech-tips/2012/09/nvidia-tesla-k10-gpu-accelerator-kepler-gk104-up-close/",
    },
    Source {
        citation: "I. S. Morrison et al.: MWAX. PASA (2023), and the MWA's pages on MWAX (read 2026)",
        address: "https://doi.org/10.1017/pasa.2023.15 https://mwatelescope.atlassian.net/wiki/pages/diffpages.action?originalId=24980854&pageId=24980842",
    },
    Source {
        citation: "kotekan: julia/kernels/setup_chord.jl, commit 4dc35b71 (read 2026)",
        address: "https://github.com/kotekan/kotekan/blob/4dc35b71657f03cd97f40e025d3804f38c7edb12/julia/kernels/setup_chord.jl",
    },
    Source {
        citation: "CHORD: instrumentation page, 512 dishes of 6 m, 300 to 1500 MHz (read 2026)",
        address: "https://www.chord-observatory.ca/instrument",
    },
    Source {
        citation: "Peaks as tabulated (read 2026): A40 299 TOPS of 8 bits; H200 66.9 TFLOPS of f32, 3958 TOPS of 8 bits with sparsity",
        address: "https://hmc-tech.com/gpu/nvidia-a100-vs-nvidia-a40 https://hmc-tech.com/gpu/nvidia-h100-vs-nvidia-h200-sxm-vs-nvidia-gb200",
    },
    Source {
        citation: "N. Denman et al.: CHIME Pathfinder X-engine (2015), A. Recnik et al.: its data pipeline (2015; abstracts)",
        address: "https://arxiv.org/abs/1503.06202",
    },
    Source {
        citation: "N. Denman et al.: A GPU Spatial Processing System for CHIME. JAI 9 (2020; abstract)",
        address: "https://arxiv.org/abs/2005.09481",
    },
    Source {
        citation: "DSA-2000: technology page; Kokkos: abstract of a talk on the radio camera (both read 2026); G. Hallinan et al. (2019)",
        address: "https://deepsynoptic.org/technology https://github.com/kokkos/kokkos.github.io/issues/35 https://arxiv.org/abs/1907.07648",
    },
    Source {
        citation: "G. A. Hampson et al.: SKA Low Atomic COTS correlator and beamformer. JATIS 8, 011018 (2022; abstract)",
        address: "https://doi.org/10.1117/1.JATIS.8.1.011018",
    },
];
