# SPDX-License-Identifier: Apache-2.0
"""Writes the data files that the examples of the pages read, such as positions.csv or base.fvecs."""

import gzip
import struct


def vectors(count, components):
    return [[float((row * 7 + column * 3) % 11) for column in range(components)] for row in range(count)]


def fvecs(rows):
    return b"".join(struct.pack(f"<i{len(row)}f", len(row), *row) for row in rows)


def table(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def npy(kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (117 - len(head)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def write(folder):
    rows = vectors(40, 6)
    files = {
        "positions.csv": "id,x,y\n1,2,3\n2,4,5\n",
        "more.ndjson.gz": gzip.compress(b'{"id": "b", "x": 1, "y": 2}\n'),
        "positions.ndjson": '{"id": "c", "x": 5, "y": 6}\n',
        "new_abc.txt": "37.75 -122.39 0 1213084687\n37.76 -122.40 1 1213084627\n",
        "base.fvecs": fvecs(rows), "query.fvecs": fvecs(rows[:3]),
        "genes.csv": table(rows),
        "known.npy": npy("<f4", (40, 6), struct.pack("<240f", *sum(rows, []))),
        "new.npy": npy("<f4", (3, 6), struct.pack("<18f", *sum(rows[:3], []))),
        "classes.npy": npy("<i8", (40,), struct.pack("<40q", *(row % 3 for row in range(40)))),
        "known.csv": table(rows), "new.csv": table(rows[:3]),
        "prices.csv": table([[row] for row in range(40)]),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
