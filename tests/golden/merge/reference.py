#!/usr/bin/env python3
"""What docs/formats/merge.md says, once more and in another language: folds the vectors of vectors.json and compares.

Shares nothing with src/. Run as a test: python3 tests/golden/merge/reference.py
With --rewrite: fills in what each vector's base and operands give, for vectors that are new.
"""

import json
import os
import struct
import sys

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")
NOTHING, BYTES, U64, I64, SATURATING, FAILING, F64, JSON, STAMPED = 0, 0x80, 1, 2, 3, 4, 5, 6, 7
NUMBERS = {U64: "<Q", I64: "<q", F64: "<d"}
NAMED = {"uint64add": lambda b: b"\x01" + b, "stringappend": lambda b: b"\x10\x00\x01," + b, "max": lambda b: b"\x08" + b,
         "put": lambda b: b"\x14" + b, "bytesxor": lambda b: b"\x0f" + b}


class MergeFailed(Exception):
    pass


def wide(body):
    if len(body) not in (8, 16):
        raise MergeFailed("size")
    return int.from_bytes(body, "little", signed=True)


def store_wide(number):
    return number.to_bytes(8 if -2**63 <= number < 2**63 else 16, "little", signed=True)


def varint(data):
    number = shift = 0
    for at, byte in enumerate(data):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, data[at + 1:]
    raise MergeFailed("varint")


def number(body, family):
    if len(body) != 8:
        raise MergeFailed("size")
    return struct.unpack(NUMBERS[family], body)[0]


def enter_number(value, family):
    """The number that is there, or None."""
    have, state = value
    if have == NOTHING:
        return None
    if have == BYTES:
        return number(state, family)
    if have != family:
        raise MergeFailed("clash")
    return state


def enter_i64(value, family):
    """The number that is there, or None, and the family that it has from now on."""
    have, state = value
    if have in (I64, SATURATING, FAILING) and I64 in (family, have):
        return state, have if family == I64 else family
    if have == NOTHING:
        return None, family
    if have == BYTES:
        return number(state, I64), family
    if have != family:
        raise MergeFailed("clash")
    return state, family


def enter_bytes(value):
    have, state = value
    if have not in (NOTHING, BYTES):
        raise MergeFailed("clash")
    return None if have == NOTHING else state


def total_order(real):
    bits = struct.unpack("<q", struct.pack("<d", real))[0]
    return bits ^ 0x7FFFFFFFFFFFFFFF if bits < 0 else bits


def extreme(pick, have, given, key=lambda x: x):
    return given if have is None else pick(have, given, key=key)


def bits(have, mask, op):
    if have is None:
        return mask
    shared = min(len(have), len(mask))
    return bytes(op(a, b) for a, b in zip(have, mask)) + (have[shared:] or mask[shared:])


def append(have, body):
    cap, rest, cap_bytes = body[0], body[1:], 0
    if cap:
        cap_bytes, rest = varint(rest)
    size, rest = varint(rest)
    delimiter, given = rest[:size], rest[size:]
    result = given if have is None else have + delimiter + given
    if cap and len(result) > cap_bytes:
        result = result[-cap_bytes:] if cap == 1 else result[:cap_bytes]
    return result


def stamped(value, body, is_last):
    have, state = value
    given = (struct.unpack("<Q", body[:8])[0], body[8:])
    if have == NOTHING:
        return STAMPED, given
    if have == BYTES:
        return (STAMPED, given) if is_last else value
    if have != STAMPED:
        raise MergeFailed("clash")
    wins = given[0] >= state[0] if is_last else given[0] < state[0]
    return STAMPED, given if wins else state


def patch_of(body):
    try:
        parsed = json.loads(body[1:])
    except ValueError:
        raise MergeFailed("no JSON")
    if body[0] == 0:
        return parsed, set()
    return parsed[0], {tuple(path) for path in parsed[1]}


def apply_patch(target, patch, replaced, path=()):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) and path not in replaced else {}
    for name, member in patch.items():
        if member is None:
            result.pop(name, None)
        else:
            result[name] = apply_patch(result.get(name), member, replaced, path + (name,))
    return result


def json_patch(value, body):
    have, state = value
    if have not in (NOTHING, BYTES, JSON):
        raise MergeFailed("clash")
    try:
        target = json.loads(state) if have != NOTHING else None
    except ValueError:
        raise MergeFailed("no JSON")
    result = apply_patch(target, *patch_of(body))
    return JSON, json.dumps(result, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def apply_operand(value, operand):
    kind, body = operand[0], operand[1:]
    if kind == 1:
        return U64, ((enter_number(value, U64) or 0) + number(body, U64)) % 2**64
    if kind in (2, 3):
        have, family = enter_i64(value, SATURATING if kind == 2 else FAILING)
        return family, (have or 0) + wide(body)
    if kind == 4:
        have = enter_number(value, F64)
        return F64, number(body, F64) if have is None else have + number(body, F64)
    if kind in (5, 9):
        return U64, extreme(max if kind == 5 else min, enter_number(value, U64), number(body, U64))
    if kind in (6, 10):
        have, family = enter_i64(value, I64)
        return family, extreme(max if kind == 6 else min, have, number(body, I64))
    if kind in (7, 11):
        return F64, extreme(max if kind == 7 else min, enter_number(value, F64), number(body, F64), total_order)
    if kind in (8, 12):
        return BYTES, extreme(max if kind == 8 else min, enter_bytes(value), body)
    if kind in (13, 14, 15):
        ops = {13: lambda a, b: a & b, 14: lambda a, b: a | b, 15: lambda a, b: a ^ b}
        return BYTES, bits(enter_bytes(value), body, ops[kind])
    if kind == 16:
        return BYTES, append(enter_bytes(value), body)
    if kind in (17, 18):
        return stamped(value, body, kind == 18)
    if kind == 19:
        return json_patch(value, body)
    if kind == 20:
        return BYTES, body
    raise MergeFailed("type")


def fold(base, operands):
    value = (NOTHING, None) if base is None else (BYTES, base)
    for at in reversed(range(len(operands))):
        if operands[at][0] == 20:
            operands = operands[at:]
            break
    for operand in operands:
        value = apply_operand(value, operand)
    return value


def store(value):
    family, state = value
    if family == BYTES:
        return "put", state
    if family in (SATURATING, FAILING):
        return "merged", bytes([family]) + store_wide(state)
    if family in NUMBERS:
        return "merged", bytes([family]) + struct.pack(NUMBERS[family], state)
    if family == STAMPED:
        return "merged", bytes([family]) + struct.pack("<Q", state[0]) + state[1]
    return "merged", bytes([family]) + state


def show(value):
    family, state = value
    if family == FAILING and not -2**63 <= state < 2**63:
        raise MergeFailed("range")
    if family in (SATURATING, FAILING):
        return struct.pack("<q", max(-2**63, min(2**63 - 1, state)))
    if family in NUMBERS:
        return struct.pack(NUMBERS[family], state)
    return state[1] if family == STAMPED else state


def outcome(vector):
    operands = [bytes.fromhex(each) for each in vector["operands"]]
    operands = [NAMED[vector["named"]](each) for each in operands] if "named" in vector else operands
    found = {}
    try:
        value = fold(None if vector["base"] is None else bytes.fromhex(vector["base"]), operands)
        kind, stored = store(value)
        found["stored"] = [kind, stored.hex()]
        found["value"] = show(value).hex()
    except MergeFailed:
        found["value"] = None
    return found


def main():
    with open(VECTORS, encoding="utf-8") as file:
        vectors = json.load(file)
    failures = 0
    for vector in vectors:
        found = outcome(vector)
        if "--rewrite" in sys.argv and "value" not in vector:
            vector.update(found)
        if {key: vector.get(key) for key in ("stored", "value")} != {"stored": None, **found}:
            print(f"{vector['name']}: expected {vector.get('stored')} {vector.get('value')}, found {found}")
            failures += 1
    if "--rewrite" in sys.argv:
        with open(VECTORS, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]\n")
    print(f"{len(vectors)} vectors, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
