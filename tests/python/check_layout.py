"""Compares the layout algebra with Triton's LinearLayout, CuTe's pycute and tables that numpy builds from definitions.

    python check_layout.py target/debug/fringes-tools
    python check_layout.py --self-test target/debug/fringes-tools

Runs the example, whose JSON holds layouts and what the library made of them, and works everything out again:

- text forms, with a parser of their own; tables, composition, inverses, conversions, products and quotients, from the definitions in
  numpy, place by place, and (without offsets, which it lacks) with Triton's LinearLayout;
- fragments of mma, wgmma and ldmatrix from the formulas of the PTX ISA, and from the strides that CuTe publishes, through pycute;
- swizzles and the atoms of wgmma's operands through pycute's Swizzle;
- costs of accesses and tilings by counting.

Prints how many values were compared, then spoils one value of each kind and checks that this is found (`--self-test` does only this). Exit
status 1 if a comparison fails or a spoilt value is not found. Triton and pycute are needed in CI (tests/python/layout-requirements.txt);
elsewhere what needs them is left out, and the output says so.
"""

import copy
import json
import os
import re
import subprocess
import sys

import numpy as np

try:
    import pycute
except ImportError:
    pycute = None
try:
    from triton._C.libtriton.linear_layout import LinearLayout
except ImportError:
    LinearLayout = None


class Checks:
    """Counts comparisons, and the failures among them."""

    def __init__(self):
        self.compared, self.failures = 0, []

    def equal(self, actual, expected, what):
        actual, expected = np.asarray(actual), np.asarray(expected)
        self.compared += max(expected.size, 1)
        if actual.shape != expected.shape or not np.array_equal(actual, expected):
            self.failures.append(f"{what}: {actual.tolist()} instead of {expected.tolist()}"[:300])

    def true(self, holds, what):
        self.compared += 1
        if not holds:
            self.failures.append(what)


# Layouts as tables.


def parsed(text):
    """Physical names, logical names, columns and offset of a text form."""
    text, _, offset = text.partition(" + ") if not text.startswith("+") else ("", "", text[1:])
    physical, logical, columns = [], [], []

    def index(sum_of_names):
        value = 0
        for name in sum_of_names.split("^"):
            if name != "0":
                if name not in logical:
                    logical.append(name)
                value ^= 1 << logical.index(name)
        return value

    for group in filter(None, text.split("  ")):
        left, right = (side.split() for side in group.split("<->"))
        if left == ["0"]:
            for name in right:
                index(name)
            continue
        if len(left) == 1 and not re.search(r"[0-9.]$", left[0]):
            # A name without a number stands for numbered ones, unless a full stop says that it is all of the name.
            left = [f"{left[0]}{number}" for number in range(len(right))]
        assert len(left) == len(right), group
        physical += [name.rstrip(".") for name in left]
        columns += [index(name) for name in right]
    return physical, logical, columns, index(offset.strip()) if offset.strip() else 0


def table(columns, offset):
    """What every place holds, from the columns."""
    values = np.array([offset], dtype=np.int64)
    for column in columns:
        values = np.concatenate([values, values ^ column])
    return values


def held(layout):
    return np.array(layout["table"], dtype=np.int64)


def renamed(indices, source, target):
    """Indices into a space of names as indices into another with the same names."""
    result = np.zeros_like(indices)
    for bit, name in enumerate(source):
        result |= (indices >> bit & 1) << target.index(name)
    return result


def picked(indices, source, target):
    """As `renamed`, of the names that are in the target."""
    result = np.zeros_like(indices)
    for bit, name in enumerate(source):
        if name in target:
            result |= (indices >> bit & 1) << target.index(name)
    return result


def rank(columns):
    """Dimension of the span, by counting it."""
    return int(np.log2(len(set(table(columns, 0).tolist()))))


def linear(layout):
    """Triton's layout with a dimension of two for every bit, without the offset."""
    names = layout["logical"]
    bases = [
        (name, [[column >> bit & 1 for bit in range(len(names))]]) for name, column in zip(layout["physical"], layout["columns"])
    ]
    return LinearLayout.from_bases(bases, names, [2] * len(names), False)


def columns_of(triton_layout, physical, logical):
    """Columns of Triton's layout, for spaces in this order."""
    bases, names = dict(triton_layout.bases), [name for name, _ in triton_layout.out_dims]
    assert set(bases) == set(physical) and set(names) == set(logical), (bases, names, physical, logical)
    value = lambda basis: sum(1 << logical.index(name) for name, bit in zip(names, basis) if bit)
    return [value(bases[name][0]) for name in physical]


def has_triton(*layouts):
    """Triton's layouts have at least one input and one output."""
    return LinearLayout is not None and all(layout["physical"] and layout["logical"] for layout in layouts)


def check_layout(checks, layout, what):
    """A dumped layout is what its text, its columns and Triton say."""
    spaces = [layout["physical"], layout["logical"], layout["columns"], layout["offset"]]
    physical, logical, columns, offset = parsed(layout["text"])
    # The text has logical bits in the order of their mention.
    checks.true(physical == spaces[0] and sorted(logical) == sorted(spaces[1]), f"{what}: names of {layout['text']}")
    if set(logical) != set(spaces[1]):
        return
    spelt = renamed(np.array([*columns, offset]), logical, spaces[1])
    checks.equal(spelt, [*spaces[2], spaces[3]], f"{what}: {layout['text']}")
    checks.equal(layout["table"], table(layout["columns"], layout["offset"]), f"{what}: table of {layout['text']}")


def check_layouts(checks, data):
    for case in data["layouts"]:
        layout = case["layout"]
        check_layout(checks, layout, "layout")
        elements = len(set(layout["table"]))
        checks.equal(case["rank"], int(np.log2(elements)), f"rank of {layout['text']}")
        checks.true(case["injective"] == (elements == len(layout["table"])), f"injective: {layout['text']}")
        checks.true(case["surjective"] == (elements == 1 << len(layout["logical"])), f"surjective: {layout['text']}")
        if has_triton(layout):
            triton = linear(layout)
            checks.true(case["surjective"] == triton.is_surjective(), f"Triton, surjective: {layout['text']}")
            checks.true(case["injective"] == triton.is_injective(), f"Triton, injective: {layout['text']}")
            for place in range(len(layout["table"])):
                bits = {name: place >> bit & 1 for bit, name in enumerate(layout["physical"])}
                value = sum(bit << layout["logical"].index(name) for name, bit in triton.apply(bits).items())
                checks.equal(layout["table"][place], value ^ layout["offset"], f"Triton, place {place} of {layout['text']}")


def check_compositions(checks, data):
    for case in data["compositions"]:
        inner, outer, result = case["inner"], case["outer"], case["result"]
        what = f"{inner['text']} | then | {outer['text']}"
        for layout in (inner, outer, result):
            check_layout(checks, layout, what)
        checks.true(result["physical"] == inner["physical"] and result["logical"] == outer["logical"], f"{what}: spaces")
        checks.equal(held(result), held(outer)[renamed(held(inner), inner["logical"], outer["physical"])], what)
        if has_triton(inner, outer):
            columns = columns_of(linear(inner).compose(linear(outer)), result["physical"], result["logical"])
            checks.equal(result["columns"], columns, f"Triton: {what}")


def check_inverses(checks, data):
    for case in data["inverses"]:
        layout = case["layout"]
        elements, what = held(layout), layout["text"]
        check_layout(checks, layout, "to be inverted")
        places = np.arange(len(elements))
        injective = len(set(elements.tolist())) == len(elements)
        surjective = len(set(elements.tolist())) == 1 << len(layout["logical"])
        wanted = {"inverse": injective and surjective, "left": injective, "right": surjective, "pseudo": injective or surjective}
        for kind, exists in wanted.items():
            inverse = case[kind]
            checks.true(("error" not in inverse) == exists, f"{kind} inverse of {what} exists")
            if "error" in inverse or not exists:
                continue
            check_layout(checks, inverse, f"{kind} inverse of {what}")
            checks.true([inverse["physical"], inverse["logical"]] == [layout["logical"], layout["physical"]], f"{kind}: spaces of {what}")
            if injective:
                checks.equal(held(inverse)[elements], places, f"{kind} inverse after {what}")
            if surjective:
                checks.equal(elements[held(inverse)], np.arange(1 << len(layout["logical"])), f"{what} after its {kind} inverse")
            if kind == "right":
                lowest = [int(places[elements == element][0]) for element in range(1 << len(layout["logical"]))]
                # The linear part's lowest places, moved by the offset's: the documented choice.
                zero = table(layout["columns"], 0)
                first = [int(places[zero == element][0]) for element in range(len(lowest))]
                moved = [first[element] ^ first[layout["offset"]] for element in range(len(lowest))]
                checks.equal(held(inverse), moved, f"lowest places of {what}")
        if has_triton(layout) and injective and surjective:
            columns = columns_of(linear(layout).invert(), layout["logical"], layout["physical"])
            checks.equal(case["inverse"]["columns"], columns, f"Triton: inverse of {what}")
        if has_triton(layout) and surjective:
            columns = columns_of(linear(layout).pseudoinvert(), layout["logical"], layout["physical"])
            checks.equal(case["right"]["columns"], columns, f"Triton: pseudo-inverse of {what}")


def check_conversions(checks, data):
    for case in data["conversions"]:
        source, target, result = case["from"], case["to"], case["result"]
        what = f"{source['text']} | to | {target['text']}"
        for layout in (source, target):
            check_layout(checks, layout, what)
        wanted = renamed(held(target), target["logical"], source["logical"])
        exists = set(wanted.tolist()) <= set(held(source).tolist())
        checks.true(("error" not in result) == exists, f"{what}: exists")
        if "error" in result or not exists:
            continue
        check_layout(checks, result, what)
        checks.equal(held(source)[held(result)], wanted, what)
        # If the element may come from several places, the free bits of a place are those of the destination.
        bijective = len(set(held(source).tolist())) == len(held(source))
        if has_triton(source, target) and bijective and rank(source["columns"]) == len(source["logical"]):
            triton = linear(target).invert_and_compose(linear(source))
            checks.equal(result["columns"], columns_of(triton, result["physical"], result["logical"]), f"Triton: {what}")


def check_products(checks, data):
    for case in data["products"]:
        low, high, result = case["low"], case["high"], case["result"]
        what = f"{low['text']} | times | {high['text']}"
        for layout in (low, high, result):
            check_layout(checks, layout, what)
        checks.true(result["physical"] == low["physical"] + high["physical"], f"{what}: places")
        checks.true(result["logical"] == low["logical"] + high["logical"], f"{what}: elements")
        expected = held(low)[None, :] | held(high)[:, None] << len(low["logical"])
        checks.equal(held(result), expected.ravel(), what)
        if has_triton(low, high):
            columns = columns_of(linear(low) * linear(high), result["physical"], result["logical"])
            checks.equal(result["columns"], columns, f"Triton: {what}")


def is_factor(whole, factor):
    """Whether the whole is the factor beside something, from tables: the factor's part of an element depends on its part of the place alone."""
    places = np.arange(len(whole["table"]))
    mine = held(factor)[picked(places, whole["physical"], factor["physical"])]
    rest = [name for name in whole["logical"] if name not in factor["logical"]]
    free = picked(places, whole["physical"], [name for name in whole["physical"] if name not in factor["physical"]])
    others = picked(held(whole), whole["logical"], rest)
    alike = all(len(set(others[free == number].tolist())) == 1 for number in set(free.tolist()))
    return np.array_equal(picked(held(whole), whole["logical"], factor["logical"]), mine) and alike


def check_quotients(checks, data):
    for case in data["quotients"]:
        whole = case["whole"]
        for layout in (whole, case["low"], case["high"]):
            check_layout(checks, layout, "to be divided")
        for factor, quotient, ordered in [("low", "without_low", "left"), ("high", "without_high", "right")]:
            factor, quotient, ordered = case[factor], case[quotient], case[ordered]
            what = f"{whole['text']} | by | {factor['text']}"
            exists = is_factor(whole, factor)
            checks.true(("error" not in quotient) == exists, f"{what}: exists")
            checks.true(quotient == ordered, f"{what}: in order")
            if "error" in quotient or not exists:
                continue
            check_layout(checks, quotient, what)
            places = np.arange(len(whole["table"]))
            for part in (factor, quotient):
                of_place = held(part)[picked(places, whole["physical"], part["physical"])]
                checks.equal(picked(held(whole), whole["logical"], part["logical"]), of_place, what)
            checks.true(len(factor["physical"] + quotient["physical"]) == len(whole["physical"]), f"{what}: places")


# Swizzles, fragments, operands.


def check_swizzles(checks, data):
    for case in data["swizzles"]:
        bits, base, shift = case["bits"], case["base"], case["shift"]
        addresses = np.arange(len(case["addresses"]))
        flipped = addresses ^ (addresses >> (base + shift) & (1 << bits) - 1) << base
        checks.equal(case["addresses"], flipped, f"swizzle {bits} {base} {shift}")
        check_layout(checks, case["layout"], f"swizzle {bits} {base} {shift}")
        checks.equal(case["layout"]["table"], flipped, f"layout of swizzle {bits} {base} {shift}")
        # pycute recurses without end if the shift is 0.
        if pycute is not None and shift > 0:
            swizzle = pycute.Swizzle(bits, base, shift)
            checks.equal(case["addresses"], [swizzle(address) for address in range(len(addresses))], f"pycute: {swizzle}")


def ptx_position(kind, name, operand, shape, bits, lane, index):
    """Row and column of the index-th element of a lane, as the PTX ISA's formulas have it."""
    group, member = lane % 32 >> 2, lane % 4
    per = 32 // bits
    if kind == "matrix":
        row, column = group, member * per + index
        return (column, row) if name == "transposed" else (row, column)
    first = 16 * (lane // 32)
    if operand == "c":
        # Pairs of columns; every second pair is 8 rows below; of wgmma, every four elements 8 columns on.
        return first + group + 8 * (index // 2 % 2), 8 * (index // 4) + member * 2 + index % 2
    register, element = divmod(index, per)
    if operand == "b":
        return member * per + element + 4 * per * register, group
    # Registers 0 and 1 are rows 8 apart, 2 and 3 the second half of the columns.
    return first + group + 8 * (register % 2), member * per + element + 4 * per * (register // 2)


# CuTe's layouts of (lane, value) -> row + rows * column; of B, the row is n.
CUTE = {
    ("mma", "a", 16, 8): (((4, 8), (2, 2)), ((32, 1), (16, 8))),
    ("mma", "b", 16, 8): (((4, 8), 2), ((16, 1), 8)),
    ("mma", "a", 16, 16): (((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))),
    ("mma", "b", 16, 16): (((4, 8), (2, 2)), ((16, 1), (8, 64))),
    ("mma", "a", 32, 4): (((4, 8), 2), ((16, 1), 8)),
    ("mma", "b", 32, 4): (((4, 8), 1), ((8, 1), 0)),
    ("mma", "a", 32, 8): (((4, 8), (2, 2)), ((16, 1), (8, 64))),
    ("mma", "b", 32, 8): (((4, 8), 2), ((8, 1), 32)),
    ("mma", "a", 8, 16): (((4, 8), (4, 2)), ((64, 1), (16, 8))),
    ("mma", "b", 8, 16): (((4, 8), 4), ((32, 1), 8)),
    ("mma", "a", 8, 32): (((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))),
    ("mma", "b", 8, 32): (((4, 8), (4, 2)), ((32, 1), (8, 128))),
    ("mma", "c"): (((4, 8), (2, 2)), ((32, 1), (16, 8))),
    ("wgmma", "a", 32, 8): (((4, 8, 4), (2, 2)), ((64, 1, 16), (8, 256))),
    ("wgmma", "a", 16, 16): (((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512))),
    ("wgmma", "a", 8, 32): (((4, 8, 4), (4, 2, 2)), ((256, 1, 16), (64, 8, 1024))),
}


def check_fragments(checks, data):
    for case in data["fragments"]:
        kind, operand, shape, bits = case["kind"], case["operand"], case["shape"], case["bits"]
        what = f"{kind} {case['name']} {operand} {shape}"
        positions = np.array(case["positions"])
        lanes, registers, per, _ = positions.shape
        positions = positions.reshape(lanes, registers * per, 2)
        expected = [
            [ptx_position(kind, case["name"], operand, shape, bits, lane, index) for index in range(registers * per)]
            for lane in range(lanes)
        ]
        checks.equal(positions, expected, what)
        # Every element of the matrix once.
        m, n, k = shape
        rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n), "": (m, n)}[operand]
        checks.true(sorted(map(tuple, positions.reshape(-1, 2).tolist())) == [(i, j) for i in range(rows) for j in range(columns)], what)
        if pycute is None:
            continue
        if kind == "wgmma" and operand == "c":
            published = (((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))
        else:
            published = CUTE.get((kind, "c") if operand == "c" else (kind, operand, bits, k))
        # CuTe publishes none for factors of 4 bits and for ldmatrix.
        checks.true((published is None) == (kind == "matrix" or bits == 4), f"CuTe has no layout of {what}")
        if published is None:
            continue
        cute = pycute.Layout(*published)
        indices = np.array([[cute(lane, value) for value in range(registers * per)] for lane in range(lanes)])
        row, column = positions[..., 0], positions[..., 1]
        checks.equal(column + n * row if operand == "b" else row + rows * column, indices, f"CuTe: {what}")


def check_operands(checks, data):
    for case in data["operands"]:
        line, size = case["row_bytes"], case["bits"] // 8
        what = f"operand {case['major']} of {line} bytes a row, {case['bits']} bits"
        offsets = np.array(case["offsets"])
        offsets = offsets if case["major"] == "k" else offsets.T
        bits = int(np.log2(line // 16))
        across, along = np.indices(offsets.shape)
        plain = across * line + along * size
        checks.equal(offsets, plain ^ (plain >> 7 & (1 << bits) - 1) << 4, what)
        if pycute is not None:
            # CuTe's atom: a swizzle after rows of `line` bytes.
            swizzle, rows = pycute.Swizzle(bits, 4, 3), pycute.Layout((8, line // size), (line, size))
            cute = [[swizzle(rows(row, column)) for column in range(line // size)] for row in range(8)]
            checks.equal(offsets, cute, f"CuTe: {what}")
        layout = case["layout"]
        check_layout(checks, layout, what)
        stems = ["row", "col"] if case["major"] == "k" else ["col", "row"]
        spelt = lambda stem: sum(
            (held(layout) >> bit & 1) << int(name[len(stem) :]) for bit, name in enumerate(layout["logical"]) if name.startswith(stem)
        ) + np.zeros(len(layout["table"]), dtype=np.int64)
        checks.equal(offsets[spelt(stems[0]), spelt(stems[1])] + spelt("byte"), np.arange(8 * line), f"{what}: layout")


# Accesses and tilings.


def phases(addresses, width):
    lanes = min(32, 128 // max(width, 4))
    return [addresses[start : start + lanes] for start in range(0, 32, lanes)]


def check_requests(checks, data):
    for case in data["requests"]:
        addresses, width = case["addresses"], case["width"]
        words_of = lambda address: range(address // 4, (address + width - 1) // 4 + 1)
        shared, atomic, distinct = [], [], 0
        for phase in phases(addresses, width):
            words = [word for address in phase for word in words_of(address)]
            distinct += len(set(words))
            shared.append(max(sum(word % 32 == bank for word in set(words)) for bank in range(32)))
            atomic.append(max(sum(word % 32 == bank for word in words) for bank in range(32)))
        what = f"addresses {addresses} of {width} bytes"
        checks.equal(case["shared"], [sum(shared), -(-distinct // 32), max(shared)], what)
        checks.equal(case["atomic"], [sum(atomic), -(-distinct // 32), max(atomic)], f"atomic: {what}")
        touched = {byte for address in addresses for byte in range(address, address + width)}
        checks.equal(case["global"], [len({byte // 32 for byte in touched}), -(-len(touched) // 32)], f"sectors: {what}")


def check_tilings(checks, data):
    for case in data["tilings"]:
        inner, stem = case["inner"], case["stem"]
        check_layout(checks, inner, "inner layout of a tiling")
        numbers = [int(name[len(stem) :]) for name in inner["physical"]]
        places = [None] * len(case["places"])
        length = 0
        for flat in np.ndindex(*(extent for _, extent, _ in case["dimensions"])):
            start = sum(index * stride for index, (_, _, stride) in zip(flat, case["dimensions"]))
            for place in range(len(inner["table"])):
                address = start + sum((place >> bit & 1) << number for bit, number in enumerate(numbers))
                for byte in range(1 << min(numbers)):
                    checks.true(places[address + byte] is None, f"overlap at {address + byte}")
                    places[address + byte] = [list(flat), place, byte]
                    length = max(length, address + byte + 1)
        checks.equal(case["length"], length, "length of a tiling")
        for address, (actual, expected) in enumerate(zip(case["places"], places)):
            checks.true(actual == expected, f"address {address} of {case['dimensions']}: {actual} instead of {expected}")


CHECKS = {
    "layouts": check_layouts,
    "compositions": check_compositions,
    "inverses": check_inverses,
    "conversions": check_conversions,
    "products": check_products,
    "quotients": check_quotients,
    "swizzles": check_swizzles,
    "fragments": check_fragments,
    "operands": check_operands,
    "requests": check_requests,
    "tilings": check_tilings,
}


# Spoiling.


def leaves(value, path=()):
    """Paths to all numbers and flags."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for key, item in enumerate(value):
            yield from leaves(item, (*path, key))
    elif isinstance(value, (bool, int)):
        yield path


# Numbers that say what a case is, and not what the library made of it.
GIVEN = {"shape", "bits", "base", "shift", "width", "row_bytes", "dimensions"}


def self_test(data, random):
    """Spoils one number of each kind at a time; the names of those that nobody notices."""
    unnoticed, spoilt = [], 0
    for name, check in CHECKS.items():
        cases = data[name]
        kinds = {}
        for at, case in enumerate(cases):
            for path in leaves(case):
                kind = tuple(key for key in path if isinstance(key, str))
                if not GIVEN & set(kind):
                    kinds.setdefault(kind, []).append((at, path))
        for kind, places in kinds.items():
            at, path = places[random.integers(len(places))]
            case = copy.deepcopy(cases[at])
            item = case
            for key in path[:-1]:
                item = item[key]
            old = item[path[-1]]
            item[path[-1]] = not old if isinstance(old, bool) else old ^ 1
            checks = Checks()
            try:
                check(checks, {name: [case]})
                noticed = checks.failures
            except (AssertionError, IndexError, KeyError, ValueError) as error:
                noticed = [repr(error)]
            spoilt += 1
            if not noticed:
                unnoticed.append(f"{name} {' '.join(kind)}, case {at}")
    return spoilt, unnoticed


def main():
    arguments = sys.argv[1:]
    only_self_test = "--self-test" in arguments
    (program,) = [argument for argument in arguments if argument != "--self-test"]
    done = subprocess.run([program, "dump-layouts"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{program}: exit status {done.returncode}: {done.stderr.strip()}")
    data = json.loads(done.stdout)
    failed = False
    for name, module in [("Triton", LinearLayout), ("pycute", pycute)]:
        if module is None:
            print(f"{'FAIL' if os.environ.get('CI') else 'note'} {name} is not installed: compared without it")
            failed |= bool(os.environ.get("CI"))
    if not only_self_test:
        total = 0
        for name, check in CHECKS.items():
            checks = Checks()
            check(checks, data)
            total += checks.compared
            failed |= bool(checks.failures)
            print(f"{'FAIL' if checks.failures else 'ok  '} {name}: {len(data[name])} cases, {checks.compared} values compared")
            for failure in checks.failures[:5]:
                print(f"     {failure}")
        print(f"{total} values compared")
    spoilt, unnoticed = self_test(data, np.random.default_rng(4))
    for name in unnoticed:
        print(f"FAIL a spoilt value went unnoticed: {name}")
    print(f"{spoilt - len(unnoticed)} of {spoilt} spoilt values noticed")
    sys.exit(1 if failed or unnoticed else 0)


if __name__ == "__main__":
    main()
