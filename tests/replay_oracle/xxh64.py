# SPDX-License-Identifier: Apache-2.0
"""XXH64 with seed 0, written from the algorithm's published description
(https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). It gives the ids of texts that are not
decimal."""

import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def _rotate(value, bits):
    return ((value << bits) | (value >> (64 - bits))) & MASK


def _round(accumulator, lane):
    return _rotate((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def _avalanche(value):
    value = (value ^ (value >> 33)) * P2 & MASK
    value = (value ^ (value >> 29)) * P3 & MASK
    return value ^ (value >> 32)


def xxh64(data):
    size = len(data)
    at = 0
    if size >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= size:
            block = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, block)]
            at += 32
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * P1 + P4) & MASK
    else:
        value = P5
    value = (value + size) & MASK
    while at + 8 <= size:
        value ^= _round(0, struct.unpack_from("<Q", data, at)[0])
        value = (_rotate(value, 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= size:
        value ^= struct.unpack_from("<I", data, at)[0] * P1 & MASK
        value = (_rotate(value, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        value = _rotate(value ^ (byte * P5 & MASK), 11) * P1 & MASK
    return _avalanche(value)


def id_of_text(text):
    """Returns the number of a decimal text that fits 64 bits, or the hash of any other text."""
    if text.isascii() and text.isdigit() and int(text) <= MASK:
        return int(text)
    return xxh64(text.encode())
