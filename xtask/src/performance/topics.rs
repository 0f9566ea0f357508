//! What each topic's page shows: kernels, and how their tables are laid out.

use super::record::Record;

/// A page.
pub(super) struct Topic {
    /// File without `.md`, and `topic` of peers.
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    /// What the page holds and what its words mean.
    pub(super) about: &'static str,
    pub(super) kernels: &'static [Kernel],
    /// Whether it has what runs on CPUs.
    pub(super) cpu: bool,
}

/// Rows of a kernel.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    /// What it does.
    pub(super) what: &'static str,
    /// The parameter whose values are columns, with the value alone in a cell.
    pub(super) across: Option<&'static str>,
}

const fn kernel(name: &'static str, what: &'static str) -> Kernel {
    Kernel { name, what, across: None }
}

const fn across(name: &'static str, what: &'static str, param: &'static str) -> Kernel {
    Kernel { name, what, across: Some(param) }
}

/// All pages.
pub(super) const TOPICS: &[Topic] = &[
    Topic {
        file: "correlator",
        title: "Correlator",
        about: "Useful TOPS count 8 operations for each product of a pair of inputs that is asked for. Variants \
                of `wgmma` and `mma` begin with the number of stations of two polarisations; `*` marks the one \
                that the library takes, `parts` are parts that time is cut into, `raw` counts all products that \
                are computed, and `norm` is the rate of the xGPU paper (section 6.1). How it works: [the \
                X-engine](../xengine.md).",
        kernels: &[
            kernel(
                "correlate_device",
                "chunks in device memory, sums in 64 bits: by hand, by kernels, by `Correlator`",
            ),
            kernel("correlate_link", "`correlate()` of voltages in host memory"),
            kernel("correlate_wgmma_i8", "8-bit rows, compute capability 9.0"),
            kernel("correlate_wgmma_i4", "4-bit rows, compute capability 9.0"),
            kernel("correlate_wgmma_f16", "f16 rows, compute capability 9.0"),
            kernel("correlate_wgmma_heaps_i8_add", "8-bit heaps added to 64-bit sums, 9.0"),
            kernel("correlate_wgmma_heaps_i4_add", "4-bit heaps added to 64-bit sums, 9.0"),
            kernel("correlate_wgmma_heaps_f16_add", "f16 heaps added to sums, 9.0"),
            kernel("mma_rows", "rows, the code of compute capability 8.0"),
            kernel("mma_heaps_add", "heaps added to sums, the code of compute capability 8.0"),
            kernel("correlate_f32", "f32 rows, plain f32 arithmetic"),
            kernel("correlate_f32_add", "the same, added to sums"),
            kernel("correlate_f32_tf32", "f32 rows as three products of TF32, 8.0"),
            kernel("correlate_f32_tf32_wgmma", "the same, 9.0"),
            kernel("correlate_f32_tf32_wgmma_add", "the same, added to sums"),
            kernel("instrument_stream", "F-engine and X-engine through the public streams"),
            kernel("instrument", "F-engine and X-engine, kernels alone and from pinned memory"),
            kernel("instrument_link", "instruments (`Fx`) whose voltages come from host memory, dumps to the host"),
            kernel("instrument_bins", "X-engine by two bins beside one, heaps on the device"),
        ],
        cpu: false,
    },
    Topic {
        file: "several-gpus",
        title: "Several GPUs",
        about: "F-engines have all channels of some antennas, correlators all antennas of some channels; between them \
                is the corner turn. A speed-up is against one GPU that does all of it without a turn. How to use \
                them: [several GPUs](../several-gpus.md).",
        kernels: &[
            kernel("scale", "F- and X-engine on the GPUs of one host, and the turn alone"),
            kernel("scale_speed_up", "what more GPUs give"),
            kernel("scale_hidden", "share of the turn behind F- and X-engine"),
        ],
        cpu: false,
    },
    Topic {
        file: "conversions",
        title: "Layouts and dumps",
        about: "Rows are what the correlator's kernels take; a dump is what is made of its sums. Rates count the \
                bytes that must be read and written. `conversion` is the exchange of registers in a warp, in \
                SM-cycles for 16 registers a lane.",
        kernels: &[
            kernel("pack_heaps", "heaps to rows"),
            kernel("pack", "voltages `[channel][time][input]` to rows"),
            kernel("pack_xgpu", "xGPU's order to rows"),
            kernel("pack_tcc", "libtcc's order to rows"),
            kernel("reduce", "parts of sums to a dump"),
            kernel("clamp", "64-bit sums to a dump of 32 bits"),
            kernel("reorder", "a dump to another order of baselines"),
            kernel("add_parts", "parts of sums added to one"),
            kernel("conversion", "registers of a warp to another layout"),
        ],
        cpu: false,
    },
    Topic {
        file: "f-engine",
        title: "F-engine",
        about: "Packed samples to channels, two inputs, Gsamples/s of all inputs. `channelize` is kernels alone \
                on device buffers: the two-pass kernels, or where `general` is said the one-pass ones; \
                `f_engine_stream` is `FEngine::push` of chunks in device memory. The record `one-pass` has \
                kernels that have been replaced, for comparison. `down_convert` is `DownConverterStream::push` of \
                chunks in device memory, one input; `down_convert_bank` is eight bands of such chunks, Gsamples/s of \
                all bands; `down_convert_mma` is launches of its kernels for compute capability 8.0 and higher, on \
                the GPU at hand. How it works: [the F-engine](../fengine.md).",
        kernels: &[
            across("f_engine_stream", "the public stream", "channels"),
            across("f_engine_half", "the public stream, half precision", "channels"),
            kernel("f_engine_strided", "the public stream: oversampled plans, long filters, other widths"),
            across("channelize", "kernels alone", "channels"),
            across("filter", "the filter alone", "channels"),
            kernel("down_convert", "down-conversion through the public stream"),
            kernel("down_convert_bank", "eight bands of one stream, together and each by itself"),
            kernel("down_convert_mma", "down-conversion by kernels for compute capability 8.0 and higher"),
            kernel("down_convert_general", "down-conversion of other formats, and to other outputs"),
            kernel("f_engine_complex", "complex samples through the public stream"),
            kernel("narrowband", "the narrowband F-engine through its public stream"),
        ],
        cpu: false,
    },
    Topic {
        file: "transforms",
        title: "Transforms",
        about: "`fft` is from device memory to device memory: GB/s of the bytes that must move, and nanoseconds \
                a transform. `fft_cycles` is from registers to registers, SM-cycles a transform by the number of \
                warps an SM. How it works: [the microkernel](../fft.md).",
        kernels: &[
            kernel("fft", "arrays in device memory"),
            kernel("cuFFT", "the peer, its input padded in memory beforehand"),
            across("fft_cycles", "in registers", "warps"),
        ],
        cpu: false,
    },
    Topic {
        file: "beams",
        title: "Beams",
        about: "`tied_array` is `BeamformerStream::push` and `TiedArrayDetector::push` of rows in device memory: useful \
                operations, eight a complex multiply-add; its bound is that of the bytes of samples and beams. \
                `fft_beams` are beams with gains on the way in, of voltages `[channel][time][input]`. `frb` is \
                `FrbKernels::detect_bytes`, the chains of CHIME, CASM and CHORD from bytes to powers, with \
                `FrbVoltageKernels` and `FrbInterpolationKernels`. The CPU's are [there](cpu.md).",
        kernels: &[
            kernel("tied_array", "tied-array beams by weights"),
            kernel("cuBLAS", "the peer, batched f16 products of a library, with and without conversion from 8 bits"),
            kernel("fft_beams", "FFT beams of lines of feeds"),
            kernel("frb", "beams for fast radio bursts"),
        ],
        cpu: false,
    },
    Topic {
        file: "delays",
        title: "Delays",
        about: "`shift` is the coarse delay of packed samples; `rotate` the fine delay and phase of voltages, of \
                heaps, or to rows. Rates count bytes read and written.",
        kernels: &[
            kernel("shift", "coarse delay"),
            kernel("rotate", "fine delay and phase of voltages"),
            kernel("rotate_heaps", "the same of heaps"),
            kernel("rotate_rows", "the same of heaps, to the correlator's rows"),
        ],
        cpu: false,
    },
    Topic {
        file: "interference",
        title: "Interference",
        about: "Heaps `[batch][antenna][channel][spectrum][pol]` of two polarisations. `power_sums` reads every voltage \
                once, `mask` copies what is not masked; rates count bytes read and written.",
        kernels: &[kernel("power_sums", "sums of powers and of their squares"), kernel("mask", "masked copies")],
        cpu: false,
    },
    Topic {
        file: "quantiser",
        title: "Quantiser",
        about: "`quantise` of f32 voltages by itself. In the F-engine it is a part of the last pass.",
        kernels: &[kernel("quantise", "f32 voltages to 8 and 4 bits")],
        cpu: false,
    },
    Topic {
        file: "cpu",
        title: "CPU",
        about: "Calls of the library beside what numpy and scipy users write, in turn in one run, medians. \
                *peer* is the rate of the way that the record names; [the summary](README.md) takes the fastest \
                of all ways.",
        kernels: &[
            kernel("correlate", "correlation of 8-bit voltages"),
            kernel("channelize", "polyphase filter bank"),
            kernel("down_convert", "mixer, filter and decimation"),
            kernel("beamform", "tied-array beams by weights"),
        ],
        cpu: true,
    },
    Topic {
        file: "ceilings",
        title: "Ceilings",
        about: "What the chip does when nothing else is asked of it, measured in the runs whose figures it \
                bounds.",
        kernels: &[
            kernel("copy", "device memory to device memory, bytes read and written"),
            kernel("host_to_device", "the link from pinned memory"),
            kernel("mma_s8", "8-bit `mma.sync` m16n8k32"),
            kernel("l2_write_read", "a ring written and read back in the L2"),
            kernel("l2_write", "the same, written alone"),
            kernel("l2_read", "the same, read alone"),
            kernel("l2_table", "a table read from the L2"),
            kernel("saxpy", "the smallest kernel, through the whole way from Rust to the GPU"),
            kernel("rate", "a warp instruction, SM-cycles that its pipe is taken"),
        ],
        cpu: false,
    },
];

impl Topic {
    /// Whether rows of a record are among what the page shows.
    pub(super) fn takes(&self, record: &Record) -> bool {
        self.cpu == record.is_cpu()
    }
}

/// Kernels with rows that no page shows.
pub(super) fn without_topic(records: &[Record]) -> Vec<String> {
    let mut lost = Vec::new();
    for record in records {
        let shown = |name: &str| {
            TOPICS
                .iter()
                .filter(|topic| topic.takes(record))
                .flat_map(|topic| topic.kernels)
                .any(|kernel| kernel.name == name)
        };
        for row in record.rows.iter().filter(|row| !shown(&row.kernel)) {
            let name = format!("`{}` in {}", row.kernel, record.file);
            if !lost.contains(&name) {
                lost.push(name);
            }
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{record, row};
    use super::*;

    #[test]
    fn rows_that_no_page_shows_are_named() {
        let rows = vec![row("fft", "", &[], 1.0, "GB/s"), row("new", "", &[], 1.0, "GB/s")];
        assert_eq!(without_topic(&[record("2026-11-23-a.json", rows)]), ["`new` in 2026-11-23-a.json"]);
    }
}
