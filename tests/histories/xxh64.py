# SPDX-License-Identifier: Apache-2.0
"""The id of a text, as protocol/README.md's section "Ids, times, positions" defines it: XXH64 with seed 0,
from the specification of xxHash.
"""

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def accumulate(lane, word):
    return rotate((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    def word(at, size):
        return int.from_bytes(data[at:at + size], "little")

    at = 0
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= len(data):
            lanes = [accumulate(lane, word(at + 8 * i, 8)) for i, lane in enumerate(lanes)]
            at += 32
        result = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            result = ((result ^ accumulate(0, lane)) * P1 + P4) & MASK
    else:
        result = P5
    result = (result + len(data)) & MASK
    while at + 8 <= len(data):
        result = (rotate(result ^ accumulate(0, word(at, 8)), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        result = (rotate(result ^ word(at, 4) * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        result = rotate(result ^ byte * P5 & MASK, 11) * P1 & MASK
    for shift, prime in ((33, P2), (29, P3), (32, 1)):
        result = (result ^ result >> shift) * prime & MASK
    return result


def id_of_text(text):
    if text.isascii() and text.isdigit() and int(text) <= MASK:
        return int(text)
    return xxh64(text.encode())
