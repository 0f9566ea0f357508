"""Our SPEAD receiver beside spead2's, on loopback, in one run.

    cargo build --release -p fringes-io --example spead
    python benches/spead.py target/release/examples/spead --json spead.json

The same sender, ours, sends the same streams to each receiver, in turn: voltages of F-engines (heaps of 128 KiB in 16
packets of 8 KiB, and in packets of 1472 bytes) and 10-bit samples of digitisers (a heap of 4096 samples a packet). It
sends as fast as the system takes packets. Receivers put chunks together with presence and let them go; spead2's is a
`ChunkRingStream` with a compiled function that places heaps and chunks that are used again, as katgpucbf's engines have
it. Both ask for a socket buffer of 4 MiB.

A rate is what came in over the time in which it was sent. Processor time is that of the whole receiving process from
just before the first packet to its end, so that a rate by processor time says what one core could take if the sender
did not hold it up. Medians of some rounds. Then our sender sends for a minute at half of the rate that our receiver
took, and the heaps that did not come are counted; there the socket's buffer is 64 MiB, where the system gives it, as
other programs may keep the processors for some time.

Needs numpy, spead2, numba and scipy (for spead2's receiver). Exit status 1 if a heap is lost in that minute.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys

TIMESTAMP, FENG_ID, DIGITISER_ID, HEAP_LENGTH = 0x1600, 0x4101, 0x3101, 0x02
SOCKET_BUFFER, STEADY_BUFFER = 4 << 20, 64 << 20
WINDOW, CHUNKS = 2, 8

STREAMS = {
    "voltages, 8192": {
        "kind": "voltages", "antennas": 16, "pols": 2, "channels": 128, "spectra": 256, "step": 256, "batches": 8,
        "packet-bytes": 8192 + 72, "heap_bytes": 128 * 256 * 4,
    },
    "voltages, 1400": {
        "kind": "voltages", "antennas": 16, "pols": 2, "channels": 128, "spectra": 256, "step": 256, "batches": 8,
        "packet-bytes": 1472, "heap_bytes": 128 * 256 * 4,
    },
    "packed samples, 5120": {
        "kind": "packed", "antennas": 1, "pols": 2, "samples-per-heap": 4096, "bits": 10, "batches": 1024,
        "packet-bytes": 5120 + 72, "heap_bytes": 5120,
    },
}  # fmt: skip


def peer(stream, port):
    """Receives with spead2 until the stream stops, and prints counts."""
    import numba
    import numpy as np
    import scipy
    import spead2
    import spead2.recv
    from numba import types
    from spead2.numba import intp_to_voidptr
    from spead2.recv.numba import chunk_place_data

    heap_bytes, batches = stream["heap_bytes"], stream["batches"]
    voltages = stream["kind"] == "voltages"
    slots = stream["antennas"] if voltages else stream["antennas"] * stream["pols"]
    step = stream["spectra"] * stream["step"] if voltages else stream["samples-per-heap"]

    @numba.cfunc(types.void(types.CPointer(chunk_place_data), types.uintp), nopython=True)
    def place(data_ptr, _):
        data = numba.carray(data_ptr, 1)
        items = numba.carray(intp_to_voidptr(data[0].items), 3, dtype=np.int64)
        timestamp, slot, length = items[0], items[1], items[2]
        if length != heap_bytes or timestamp < 0 or slot < 0 or slot >= slots:
            data[0].chunk_id = -1
            return
        batch = timestamp // step
        data[0].chunk_id = batch // batches
        # As ours: [batch][antenna] of voltages, [input][heap] of samples.
        inside = batch % batches
        data[0].heap_index = inside * slots + slot if voltages else slot * batches + inside
        data[0].heap_offset = data[0].heap_index * heap_bytes

    full, free = spead2.recv.ChunkRingbuffer(CHUNKS), spead2.recv.ChunkRingbuffer(CHUNKS)
    receiver = spead2.recv.ChunkRingStream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(max_heaps=64, allow_out_of_order=True),
        spead2.recv.ChunkStreamConfig(
            items=[TIMESTAMP, FENG_ID if voltages else DIGITISER_ID, HEAP_LENGTH],
            max_chunks=WINDOW,
            place=scipy.LowLevelCallable(place.ctypes, signature="void (void *, size_t)"),
        ),
        full,
        free,
    )
    for _ in range(CHUNKS):
        data = np.zeros(batches * slots * heap_bytes, np.uint8)
        receiver.add_free_chunk(spead2.recv.Chunk(data=data, present=np.zeros(batches * slots, np.uint8)))
    receiver.add_udp_reader(port, bind_hostname="127.0.0.1", buffer_size=SOCKET_BUFFER, max_size=9200)
    print(f"listening {2 * SOCKET_BUFFER} 127.0.0.1:{port}", flush=True)
    stored = 0
    for chunk in full:
        stored += int(np.count_nonzero(chunk.present))
        chunk.present.fill(0)
        receiver.add_free_chunk(chunk)
    stats = receiver.stats
    print(json.dumps({"packets": stats["packets"], "heaps_stored": stored}))


def options(stream):
    names = [name for name in stream if name not in ("kind", "heap_bytes", "packet-bytes")]
    return [stream["kind"], *(text for name in names for text in (f"--{name}", str(stream[name])))]


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(program, name, who, seconds, rate=None, buffer=SOCKET_BUFFER):
    """One receiver and the sender; counts and rates."""
    stream = STREAMS[name]
    port = free_port()
    if who == "ours":
        command = [program, "receive", *options(stream), "--listen", f"127.0.0.1:{port}", "--first", "0"]
        command += ["--socket-buffer", str(buffer), "--window", str(WINDOW), "--queue", str(CHUNKS - WINDOW)]
    else:
        command = [sys.executable, __file__, "--peer", name, "--port", str(port)]
    receiver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    given = receiver.stdout.readline().split()[1]
    before = processor_seconds(receiver.pid)
    command = [program, "generate", *options(stream), "--to", f"127.0.0.1:{port}", "--seconds", str(seconds)]
    command += ["--packet-bytes", str(stream["packet-bytes"]), *(["--rate", str(rate)] if rate else [])]
    sent = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])
    out = receiver.stdout.read()
    _, status, usage = os.wait4(receiver.pid, 0)
    receiver.returncode = os.waitstatus_to_exitcode(status)
    if receiver.returncode != 0:
        raise RuntimeError(f"{who}: status {receiver.returncode}")
    received = json.loads(out.splitlines()[-1])
    processor = usage.ru_utime + usage.ru_stime - before
    # Descriptors and three stops are heaps too.
    heaps = sent["heaps"] - 4
    packets = received["packets"]
    size = sent["bytes"] / sent["packets"]
    return {
        "sent_packets_per_s": sent["packets"] / sent["seconds"],
        "packets_per_s": packets / sent["seconds"],
        "bytes_per_s": packets * size / sent["seconds"],
        "bytes_per_processor_s": packets * size / processor,
        "packets_per_processor_s": packets / processor,
        "seconds": sent["seconds"],
        "sent_heaps": heaps,
        "lost_heaps": heaps - received["heaps_stored"],
        "lost_packets": sent["packets"] - packets,
        "socket_buffer_bytes": int(given),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="the built example `spead`")
    parser.add_argument("--json", type=pathlib.Path, help="write a record")
    parser.add_argument("--seconds", type=float, default=4, help="of one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steady", type=float, default=60, help="seconds at half of the rate")
    parser.add_argument("--only", help="a regular expression of streams")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        return peer(STREAMS[arguments.peer], arguments.port)
    if not arguments.program:
        parser.error("the program is needed")
    import numba
    import spead2

    rows, lost, before = [], 0, os.getloadavg()[1]
    for name in STREAMS:
        if arguments.only and not re.search(arguments.only, name):
            continue
        rounds = {"ours": [], "spead2": []}
        for number in range(arguments.rounds):
            order = ["ours", "spead2"] if number % 2 == 0 else ["spead2", "ours"]
            for who in order:
                rounds[who].append(measure(arguments.program, name, who, arguments.seconds))
        medians = {
            who: {key: statistics.median(values[key] for values in list_) for key in list_[0]}
            for who, list_ in rounds.items()
        }
        for who, median in medians.items():
            print(
                f"{name:>22} {who:>7}: {median['packets_per_s'] / 1e3:7.1f} of {median['sent_packets_per_s'] / 1e3:.1f} "
                f"kpackets/s sent, {median['bytes_per_s'] / 1e9:.3f} GB/s, "
                f"{median['bytes_per_processor_s'] / 1e9:.3f} GB a processor second",
                flush=True,
            )
        # A tenth more than half: a sender that waits for a processor falls behind, and the mean counts.
        half = 1.1 * medians["ours"]["bytes_per_s"] / 2
        steady = measure(arguments.program, name, "ours", arguments.steady, half, STEADY_BUFFER)
        lost += steady["lost_heaps"]
        print(
            f"{name:>22}    ours: {steady['lost_heaps']} of {steady['sent_heaps']} heaps lost in {steady['seconds']:.0f} s "
            f"at {steady['bytes_per_s'] / 1e9:.3f} GB/s",
            flush=True,
        )
        params = {key: value for key, value in STREAMS[name].items() if isinstance(value, int)}
        for who, median in medians.items():
            other = medians["spead2" if who == "ours" else "ours"]
            check = (
                f"{steady['lost_heaps']} of {steady['sent_heaps']} heaps lost in {steady['seconds']:.0f} s "
                f"at {steady['bytes_per_s'] / 1e9:.3f} GB/s, socket buffer {steady['socket_buffer_bytes'] >> 20} MiB"
            )
            rows.append({
                "kernel": "spead receive",
                "variant": f"{name}, {'Fringes' if who == 'ours' else 'spead2'}",
                "params": params,
                "time_ms": round(1e3 * median["seconds"], 1),
                "value": round(median["bytes_per_s"] / 1e9, 4),
                "unit": "GB/s",
                "floor": round(other["bytes_per_s"] / 1e9, 4),
                "bound_by": "peer: spead2 ChunkRingStream" if who == "ours" else "peer: Fringes SpeadReceiver",
                "check": check if who == "ours" else "the same streams by the same sender",
                **{key: round(median[key]) for key in median if key.endswith("_s")},
                "lost_packets": round(median["lost_packets"]),
            })  # fmt: skip
    if arguments.json:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        record = {
            "date": datetime.date.today().isoformat(),
            "machine": f"{model[1] if model else 'processor'}, {os.cpu_count()} threads",
            "commit": commit,
            "note": f"Loopback, benches/spead.py beside spead2 {spead2.__version__} and numba {numba.__version__}, in turn "
            f"in one run, medians of {arguments.rounds} rounds of {arguments.seconds:g} s. "
            f"Load averages of the machine before and after: {before:.1f}, {os.getloadavg()[1]:.1f}.",
            "rows": rows,
        }
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
