"""Checks SPEAD streams against the `spead2` package, over loopback.

Usage: python check_spead.py FOLDER_OF_EXAMPLES     (target/debug/examples, which has the program `spead`)

Our sender to spead2's receiver: names, descriptions, shapes, types and values of all items, and the stop. spead2's
sender to our receiver: several substreams in one stream, and spead2's packets in a random order with duplicates, losses
and packets that are none. Everything must be equal; one line is printed for each comparison, and the exit status is 1 if
one fails.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import spead2
import spead2.recv
import spead2.send

FLAVOUR = spead2.Flavour(4, 64, 48, 0)
TIMESTAMP, FREQUENCY = 0x1600, 0x4103
DIGITISER_ID, DIGITISER_STATUS, ADC_SAMPLES = 0x3101, 0x3102, 0x3300
FENG_ID, FENG_RAW, XENG_RAW = 0x4101, 0x4300, 0x1800
# Slow enough that no machine drops packets.
RATE = 2e7
RNG = np.random.default_rng(7)

ANTENNAS, POLS, CHANNELS, SPECTRA, STEP, BATCHES = 3, 2, 16, 64, 32, 4
INPUTS = ANTENNAS * POLS
BASELINES = 2 * ANTENNAS * (ANTENNAS + 1)
HEAP_SAMPLES = 512
DIGITISERS = [700, 701, 32, 33, 18, 19]
SHAPE = {"antennas": ANTENNAS, "pols": POLS, "channels": CHANNELS, "spectra": SPECTRA, "step": STEP, "batches": BATCHES}
ADC = {"antennas": ANTENNAS, "pols": POLS, "batches": BATCHES, "samples-per-heap": HEAP_SAMPLES}
IMMEDIATE = {"timestamp": TIMESTAMP, "frequency": FREQUENCY, "feng_id": FENG_ID, "digitiser_id": DIGITISER_ID}


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, passed, name, text=""):
        self.passed += bool(passed)
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {name}{': ' if text else ''}{text}", flush=True)

    def equal(self, name, actual, expected):
        same = np.array_equal(np.asarray(actual), np.asarray(expected))
        self(same, name, "equal" if same else f"expected {expected!r:.200}, found {actual!r:.200}")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def options(values):
    return [text for name, value in values.items() for text in (f"--{name}", str(value))]


def pack(samples, bits):
    """Integers as two's complement of some bits, the highest first, without padding."""
    ones = (samples[..., None] >> np.arange(bits - 1, -1, -1)) & 1
    return np.packbits(ones.astype(np.uint8).reshape(*samples.shape[:-1], -1), axis=-1)


# Our sender to spead2's receiver.


def spead2_streams(ports):
    """A stream of spead2 for each port."""
    streams = []
    for port in ports:
        config = spead2.recv.StreamConfig(max_heaps=64)
        stream = spead2.recv.Stream(spead2.ThreadPool(), config, spead2.recv.RingStreamConfig(heaps=4096))
        stream.add_udp_reader(port, bind_hostname="127.0.0.1", max_size=9200, buffer_size=4 << 20)
        streams.append(stream)
    return streams


def take(stream):
    """Descriptors of a stream by name, and the values of the items of each heap, until it stops."""
    group, heaps = spead2.ItemGroup(), []
    for heap in stream:
        changed = group.update(heap)
        if changed:
            heaps.append({name: np.array(item.value) for name, item in changed.items()})
    return {item.name: item for item in group.values()}, heaps


def our_sender(program, kind, shape, chunks, ports, extra=()):
    destinations = [text for port in ports for text in ("--to", f"127.0.0.1:{port}")]
    command = [program, "send", kind, *options(shape), *destinations, "--rate", str(RATE), *extra, *map(str, chunks)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def check_descriptors(report, name, items, expected):
    """`expected` has, for each name, the identifier, the shape, and the type or the format."""
    report.equal(f"{name} items", sorted(items), sorted(expected))
    for item_name, (identifier, shape, kind) in expected.items():
        item = items.get(item_name)
        if item is None:
            continue
        actual = item.dtype if isinstance(kind, np.dtype) else item.format
        passed = (item.id, tuple(item.shape), actual) == (identifier, tuple(shape), kind) and item.description
        report(passed, f"{name} {item_name}", f"{item.id:#x} {tuple(item.shape)} {actual} {item.description!r}")


def immediates(*names):
    return {name: (IMMEDIATE[name], (), [("u", 48)]) for name in names}


def send_samples(report, program, folder, kind):
    bits = 10 if kind == "packed" else 8
    name = f"our {kind} to spead2,"
    limit = 1 << (bits - 1)
    samples = RNG.integers(-limit, limit, (2, INPUTS, BATCHES * HEAP_SAMPLES))
    presence = np.ones((2, INPUTS, BATCHES), bool)
    presence[1, 2, 3] = presence[1, 5, 0] = False
    first = 1 << 40
    chunks = []
    for number in range(2):
        data = pack(samples[number], bits)
        data = data if kind == "packed" else data.view(np.int8)
        stamp = np.array([first + number * BATCHES * HEAP_SAMPLES], np.uint64)
        chunks.append(save(folder / f"{kind}{number}.npz", data=data, presence=presence[number], first=stamp))
    ports = [free_port()]
    streams = spead2_streams(ports)
    extra = ["--digitisers", ",".join(map(str, DIGITISERS))] if kind == "packed" else []
    our_sender(program, kind, ADC, chunks, ports, extra)
    items, heaps = take(streams[0])
    shape = {
        **immediates("timestamp", "digitiser_id"),
        "digitiser_status": (DIGITISER_STATUS, (), [("u", 48)]),
        "adc_samples": (ADC_SAMPLES, (HEAP_SAMPLES,), [("i", bits)]),
    }
    check_descriptors(report, name, items, shape)
    expected = {}
    for number, input_number, batch in np.argwhere(presence):
        stamp = first + (number * BATCHES + batch) * HEAP_SAMPLES
        values = samples[number, input_number, batch * HEAP_SAMPLES : (batch + 1) * HEAP_SAMPLES]
        expected[int(stamp), DIGITISERS[input_number] if kind == "packed" else int(input_number)] = values
    actual = {(int(heap["timestamp"]), int(heap["digitiser_id"])): heap["adc_samples"] for heap in heaps}
    report.equal(f"{name} heaps", sorted(actual), sorted(expected))
    report.equal(f"{name} values", [actual[key] for key in sorted(actual)], [expected[key] for key in sorted(expected)])


def send_voltages(report, program, folder, extra):
    name = f"our voltages to two substreams of spead2{' '.join(['', *extra])},"
    data = RNG.integers(-127, 128, (BATCHES, ANTENNAS, CHANNELS, SPECTRA, POLS, 2), np.int8)
    presence = np.ones((BATCHES, ANTENNAS), bool)
    presence[1, 2] = False
    first = (1 << 48) - SPECTRA * STEP  # the second batch's timestamp is 0 on the wire
    chunk = save(folder / "voltages.npz", data=data, presence=presence, first=np.array([first], np.uint64))
    ports = [free_port(), free_port()]
    streams = spead2_streams(ports)
    per_heap = CHANNELS // 2
    our_sender(program, "voltages", {**SHAPE, "channels-per-heap": per_heap, "first-channel": 32}, [chunk], ports, extra)
    for part, stream in enumerate(streams):
        items, heaps = take(stream)
        shape = {
            **immediates("timestamp", "feng_id", "frequency"),
            "feng_raw": (FENG_RAW, (per_heap, SPECTRA, POLS, 2), np.dtype(np.int8)),
        }
        check_descriptors(report, f"{name} {part}", items, shape)
        expected = [
            ((first + batch * SPECTRA * STEP) % (1 << 48), antenna, 32 + part * per_heap)
            for batch, antenna in np.argwhere(presence).tolist()
        ]
        actual = [tuple(int(heap[key]) for key in ("timestamp", "feng_id", "frequency")) for heap in heaps]
        report.equal(f"{name} {part} heaps", actual, expected)
        values = data[presence][:, part * per_heap : (part + 1) * per_heap]
        report.equal(f"{name} {part} values", [heap["feng_raw"] for heap in heaps], values)


def send_visibilities(report, program, folder, big_endian):
    name = f"our visibilities to spead2, {'big' if big_endian else 'little'} endian,"
    data = RNG.integers(-(1 << 33), 1 << 33, (CHANNELS, BASELINES, 2))
    valid = np.full(BASELINES, SPECTRA, np.uint64)
    valid[[0, 5]] = [SPECTRA - 1, 0]
    arrays = {"data": data, "valid": valid, "presence": np.array([True]), "first": np.array([77 * SPECTRA * STEP], np.uint64)}
    chunk = save(folder / "visibilities.npz", **arrays)
    ports = [free_port()]
    streams = spead2_streams(ports)
    extra = ["--marks", *(["--big-endian"] if big_endian else [])]
    per_heap = CHANNELS // 4
    our_sender(program, "visibilities", {**SHAPE, "channels-per-heap": per_heap}, [chunk], ports, extra)
    items, heaps = take(streams[0])
    kind = np.dtype(">i4" if big_endian else "<i4")
    shape = {**immediates("timestamp", "frequency"), "xeng_raw": (XENG_RAW, (per_heap, BASELINES, 2), kind)}
    check_descriptors(report, name, items, shape)
    report.equal(f"{name} channels", [int(heap["frequency"]) for heap in heaps], np.arange(0, CHANNELS, per_heap))
    limit = (1 << 31) - 1
    expected = data.clip(-limit, limit)
    expected[:, valid < SPECTRA] = [-(1 << 31), 1]
    report.equal(f"{name} values", np.concatenate([heap["xeng_raw"] for heap in heaps]), expected)


# spead2's sender to our receiver.


def immediate(identifier, value):
    return spead2.Item(identifier, "", "", (), format=[("u", 48)], value=value)


def heap_of(numbers, identifier, data, repeat=True):
    heap = spead2.send.Heap(FLAVOUR)
    for item, value in numbers.items():
        heap.add_item(immediate(item, value))
    heap.add_item(spead2.Item(identifier, "", "", shape=data.shape, dtype=data.dtype, value=data))
    heap.repeat_pointers = repeat
    return heap


class OurReceiver:
    """Our program; what it saved and counted."""

    def __init__(self, program, kind, shape, folder, sockets=1, extra=()):
        self.folder = folder
        listen = ["--listen", "127.0.0.1:0"] * sockets
        command = [program, "receive", kind, *options(shape), *listen, "--out", str(folder), *map(str, extra)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        if not words:
            raise RuntimeError(self.process.stderr.read().strip())
        self.addresses = [(host, int(port)) for host, port in (word.rsplit(":", 1) for word in words[2:])]

    def end(self):
        out, error = self.process.communicate(timeout=60)
        if self.process.returncode != 0:
            raise RuntimeError(error.strip())
        chunks = [np.load(path) for path in sorted(self.folder.glob("chunk_*.npz"))]
        return chunks, json.loads(out.splitlines()[-1])


def spead2_sender(addresses, packet_bytes):
    config = spead2.send.StreamConfig(max_packet_size=packet_bytes, rate=RATE, max_heaps=4096)
    return spead2.send.UdpStream(spead2.ThreadPool(), addresses, config)


def stop():
    heap = spead2.send.Heap(FLAVOUR)
    heap.add_end()
    return heap


def check_counters(report, name, counters, **expected):
    report.equal(f"{name} counters", {key: counters[key] for key in expected}, expected)


def voltage_heaps(data, first, per_heap, repeat=True):
    """Heaps of `[chunk][batch][antenna][channel][spectrum][pol][2]`, by substream."""
    parts = []
    for part in range(data.shape[3] // per_heap):
        channels = slice(part * per_heap, (part + 1) * per_heap)
        heaps = []
        for batch, antenna in np.ndindex(data.shape[0] * data.shape[1], data.shape[2]):
            values = data.reshape(-1, *data.shape[2:])[batch, antenna, channels]
            numbers = {TIMESTAMP: first + batch * SPECTRA * STEP, FENG_ID: antenna, FREQUENCY: part * per_heap}
            heaps.append(heap_of(numbers, FENG_RAW, np.ascontiguousarray(values), repeat))
        parts.append(heaps)
    return parts


def receive_substreams(report, program, folder, repeat):
    name = f"spead2's voltages of four substreams to us{'' if repeat else ', pointers once a heap'},"
    data = RNG.integers(-127, 128, (3, BATCHES, ANTENNAS, CHANNELS, SPECTRA, POLS, 2), np.int8)
    per_heap, first = CHANNELS // 4, 12 * BATCHES * SPECTRA * STEP
    shape = {**SHAPE, "channels-per-heap": per_heap}
    receiver = OurReceiver(program, "voltages", shape, folder, 4, ["--stops", 4, "--first", first, "--window", 3])
    sender = spead2_sender(receiver.addresses, 1472)
    parts = voltage_heaps(data, first, per_heap, repeat)
    group = spead2.send.ItemGroup(flavour=FLAVOUR)
    group.add_item(FENG_RAW, "feng_raw", "voltages", shape=data.shape[3:], dtype=np.int8)
    for part in range(4):
        sender.send_heap(group.get_heap(descriptors="all", data="none"), substream_index=part)
    references = [spead2.send.HeapReference(heap, substream_index=part) for part, heaps in enumerate(parts) for heap in heaps]
    # Packets of all heaps take turns.
    sender.send_heaps(references, spead2.send.GroupMode.ROUND_ROBIN)
    for part in range(4):
        sender.send_heap(stop(), substream_index=part)
    chunks, counters = receiver.end()
    report.equal(f"{name} values", [chunk["data"] for chunk in chunks], data)
    report(all(chunk["presence"].all() for chunk in chunks), f"{name} presence", "all")
    length = BATCHES * SPECTRA * STEP
    report.equal(f"{name} times", [chunk["first"][0] for chunk in chunks], first + np.arange(3) * length)
    heaps = 3 * BATCHES * ANTENNAS * 4
    check_counters(report, name, counters, heaps_stored=heaps, heaps_other=8, stops=4, malformed=0, heaps_incomplete=0)


def receive_disorder(report, program, folder, repeat):
    name = f"spead2's packets in disorder to us{'' if repeat else ', pointers once a heap'},"
    data = RNG.integers(-127, 128, (2, BATCHES, ANTENNAS, CHANNELS, SPECTRA, POLS, 2), np.int8)
    shape = {**SHAPE, "channels-per-heap": CHANNELS}
    receiver = OurReceiver(program, "voltages", shape, folder, 1, ["--first", 0, "--window", 2])
    heaps = voltage_heaps(data, 0, CHANNELS, repeat)[0]
    packets = [
        [bytes(packet) for packet in spead2.send.PacketGenerator(heap, number + 1, 712)] for number, heap in enumerate(heaps)
    ]
    lost_heaps, lost_packet = [4, 17], 9
    kept = [packet for number, heap in enumerate(packets) for packet in heap if number not in lost_heaps]
    kept.remove(packets[lost_packet][3])
    again = [kept[index] for index in RNG.choice(len(kept), 40, replace=False) if kept[index] not in packets[lost_packet]]
    malformed = [b"", b"\x53\x04", kept[0][:50], kept[1][:-1], bytes(600)]
    sent = kept + again + malformed
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for number, index in enumerate(RNG.permutation(len(sent))):
            udp.sendto(sent[index], receiver.addresses[0])
            if number % 16 == 0:
                time.sleep(0.002)
        for packet in spead2.send.PacketGenerator(stop(), 1000, 712):
            udp.sendto(bytes(packet), receiver.addresses[0])
    chunks, counters = receiver.end()
    expected, presence = data.copy(), np.ones((2, BATCHES, ANTENNAS), bool)
    for number in [*lost_heaps, lost_packet]:
        expected.reshape(-1, *data.shape[3:])[number] = 0
        presence.reshape(-1)[number] = False
    report.equal(f"{name} values", [chunk["data"] for chunk in chunks], expected)
    report.equal(f"{name} presence", [chunk["presence"] for chunk in chunks], presence)
    expected = {"packets": len(sent) + 1, "malformed": len(malformed), "heaps_stored": presence.sum()}
    check_counters(report, name, counters, **expected, heaps_incomplete=1, duplicate_packets=len(again), packets_dropped=0)


def receive_samples(report, program, folder):
    name = "spead2's packed samples of six substreams to us,"
    samples = RNG.integers(-512, 512, (INPUTS, 2 * BATCHES * HEAP_SAMPLES))
    receiver = OurReceiver(
        program, "packed", ADC, folder, 2, ["--digitisers", ",".join(map(str, DIGITISERS)), "--stops", 2, "--first", 0]
    )
    sender = spead2_sender(receiver.addresses, HEAP_SAMPLES * 10 // 8 + 72)
    packed, step = pack(samples, 10), HEAP_SAMPLES * 10 // 8
    for batch in range(2 * BATCHES):
        for number, digitiser in enumerate(DIGITISERS):
            numbers = {TIMESTAMP: batch * HEAP_SAMPLES, DIGITISER_ID: digitiser, DIGITISER_STATUS: 0}
            values = np.ascontiguousarray(packed[number, batch * step : (batch + 1) * step])
            sender.send_heap(heap_of(numbers, ADC_SAMPLES, values), substream_index=number % 2)
    for part in range(2):
        sender.send_heap(stop(), substream_index=part)
    chunks, counters = receiver.end()
    report.equal(f"{name} values", np.concatenate([chunk["data"] for chunk in chunks], axis=1), packed)
    check_counters(report, name, counters, heaps_stored=2 * BATCHES * INPUTS, malformed=0, packets=2 * BATCHES * INPUTS + 2)


def receive_visibilities(report, program, folder, big_endian):
    kind = np.dtype(">i4" if big_endian else "<i4")
    name = f"spead2's visibilities to us, {kind.str},"
    data = RNG.integers(-(1 << 31) + 1, 1 << 31, (CHANNELS, BASELINES, 2)).astype(kind)
    data[3, 7] = [-(1 << 31), 1]
    per_heap = CHANNELS // 2
    extra = ["--big-endian"] if big_endian else []
    receiver = OurReceiver(program, "visibilities", {**SHAPE, "channels-per-heap": per_heap}, folder, 1, extra)
    sender = spead2_sender(receiver.addresses, 1024)
    for channel in range(0, CHANNELS, per_heap):
        numbers = {FREQUENCY: channel, TIMESTAMP: 5 * SPECTRA * STEP}
        values = np.ascontiguousarray(data[channel : channel + per_heap])
        sender.send_heap(heap_of(numbers, XENG_RAW, values))
    sender.send_heap(stop())
    chunks, _ = receiver.end()
    expected, valid = data.astype(np.int64), np.full(BASELINES, SPECTRA)
    expected[3, 7], valid[7] = 0, 0
    report.equal(f"{name} integrations", len(chunks), 1)
    report.equal(f"{name} values", chunks[0]["data"], expected)
    report.equal(f"{name} valid samples", chunks[0]["valid"], valid)
    report.equal(f"{name} time", chunks[0]["first"], [5 * SPECTRA * STEP])


def main(examples):
    program = str(pathlib.Path(examples) / "spead")
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for kind in ("packed", "samples"):
            send_samples(report, program, scratch, kind)
        for extra in ([], ["--packet-bytes", "1472"], ["--packet-bytes", "512", "--pointers-once"]):
            send_voltages(report, program, scratch, extra)
        for big_endian in (False, True):
            send_visibilities(report, program, scratch, big_endian)
            receive_visibilities(report, program, scratch / f"received_visibilities_{big_endian}", big_endian)
        receive_samples(report, program, scratch / "received_samples")
        for repeat in (True, False):
            receive_substreams(report, program, scratch / f"received_substreams_{repeat}", repeat)
            receive_disorder(report, program, scratch / f"received_disorder_{repeat}", repeat)
    print(f"{report.passed} passed, {report.failed} failed")
    return 0 if report.failed == 0 and report.passed else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
