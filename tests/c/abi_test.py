# SPDX-License-Identifier: Apache-2.0
"""Holds libstarling.so and starling.h against clients/c/abi.txt, which lists what compiled programs
depend on: exported functions with their versions and prototypes, the sizes and members of structs,
and the values of enumerators. A program compiled today must run with every later library of the
same soname, so lines of abi.txt may be added and never changed. A struct may grow at its end.

  abi_test.py HEADER LIBRARY ABI_FILE CC CXX           compares, and compiles the header alone
  abi_test.py --write HEADER LIBRARY ABI_FILE CC CXX   appends what is new
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

C_FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
CXX_FLAGS = ["-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror"]

LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
EXPLANATION = (
    LICENCE
    + "# What programs compiled with starling.h depend on. tests/c/abi_test.py compares it with the\n"
    + "# header and the library, and appends to it with --write. Lines are never changed or removed,\n"
    + "# except that the size of a struct grows when members are added at its end.\n"
)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


class Header:
    """The declarations of starling.h, read from its text."""

    def __init__(self, text):
        text = without_comments(text)
        self.structs = {
            name: [self.member(line) for line in body.split(";") if line.strip()]
            for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.S)
        }
        self.enumerators = [
            one_line(entry).split(" ")[0]
            for body in re.findall(r"enum \{(.*?)\}", text, flags=re.S)
            for entry in body.split(",")
            if entry.strip()
        ]
        self.macros = re.findall(r"#define (STARLING_(?!H\b|API\b)\w+) ", text)
        self.types = [
            (name, one_line(of))
            for of, name in re.findall(r"typedef (\w+) (\w+);", text)
        ]
        self.functions = {
            re.search(r"(\w+)\s*\(", prototype).group(1): one_line(prototype)
            for prototype in re.findall(r"STARLING_API\s+([^;{]*?\));", text, flags=re.S)
        }

    @staticmethod
    def member(line):
        line = one_line(line)
        type_, name, array = re.fullmatch(r"(.*?[ *])(\w+)(\[\d+\])?", line).groups()
        return name, type_.strip() + (array or "")


def compile_and_run(header_path, header, cc, folder):
    """Returns the sizes, offsets and values that the C compiler gives, as lines of abi.txt."""
    prints = []
    for name, members in header.structs.items():
        prints.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
        for member, type_ in members:
            prints.append(
                f'printf("member {name}.{member} at %zu, {type_}, %zu bytes\\n", '
                f"offsetof({name}, {member}), sizeof((({name}*)0)->{member}));"
            )
    for name in header.enumerators:
        prints.append(f'printf("value {name} %d\\n", (int){name});')
    for name in header.macros:
        prints.append(f'printf("value {name} 0x%" PRIx64 "\\n", (uint64_t){name});')
    for name, of in header.types:
        prints.append(f'printf("type {name} %zu bytes, {of}\\n", sizeof({name}));')
    source = folder / "layout.c"
    source.write_text(
        f'#include "{header_path}"\n#include <inttypes.h>\n#include <stdio.h>\n'
        "int main(void) {\n" + "\n".join(prints) + "\nreturn 0;\n}\n"
    )
    program = folder / "layout"
    subprocess.run([cc, *C_FLAGS, source, "-o", program], check=True)
    return subprocess.run([program], check=True, text=True, capture_output=True).stdout.splitlines()


def exported_symbols(library):
    """Returns {symbol: version} of the library's dynamic symbols. The symbols that name versions are left
    out."""
    symbols = {}
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
        check=True, text=True, capture_output=True,
    ).stdout
    for line in listed.splitlines():
        _, kind, symbol = line.split()
        name, _, version = symbol.partition("@@")
        if kind != "A":
            symbols[name] = version
    return symbols


def lines_now(header_path, library, cc, folder):
    header = Header(header_path.read_text())
    symbols = exported_symbols(library)
    problems = [
        f"{library} exports {name}, which starling.h does not declare."
        for name in sorted(symbols.keys() - header.functions.keys())
    ] + [
        f"starling.h declares {name}, which {library} does not export; add it to the node of its "
        "release in clients/c/starling.map."
        for name in sorted(header.functions.keys() - symbols.keys())
    ]
    functions = [
        f"function {name} {symbols.get(name)}: {prototype}"
        for name, prototype in header.functions.items()
    ]
    return functions + compile_and_run(header_path, header, cc, folder), problems


def key_of(line):
    return tuple(line.split(" ")[:2])


def compare(listed, now):
    """Returns the changes that break programs, and the lines that are only new."""
    by_key = {key_of(line): line for line in now}
    broken = []
    grown = set()
    for line in listed:
        other = by_key.get(key_of(line))
        if other == line:
            continue
        if other and line.startswith("struct ") and int(other.split()[2]) > int(line.split()[2]):
            grown.add(other)
            continue
        broken.append(f"{line}\n  is now: {other or 'gone'}")
    known = {key_of(line) for line in listed}
    new = [line for line in now if key_of(line) not in known or line in grown]
    return broken + [line for line in new if lies_in_padding(line, listed)], new


def lies_in_padding(line, listed):
    """Returns whether a new member lies within the size that today's programs pass. Such programs do not set
    the member's bytes."""
    member = re.match(r"member (\w+)\.\w+ at (\d+),", line)
    sizes = [int(old.split()[2]) for old in listed if member and old.startswith(f"struct {member[1]} ")]
    return any(int(member[2]) < size for size in sizes)


def check_header_alone(header_path, cc, cxx, folder):
    for compiler, flags, name in ((cc, C_FLAGS, "alone.c"), (cxx, CXX_FLAGS, "alone.cpp")):
        source = folder / name
        source.write_text(f'#include "{header_path}"\n#include "{header_path}"\n')
        subprocess.run([compiler, *flags, "-fsyntax-only", source], check=True)


def write(abi_file, listed, now):
    """Keeps the order of the file, and puts new lines after all others. A grown struct's line is
    replaced."""
    by_key = {key_of(line): line for line in now}
    known = {key_of(line) for line in listed}
    lines = [by_key[key_of(line)] for line in listed]
    lines += [line for line in now if key_of(line) not in known]
    abi_file.write_text(EXPLANATION + "".join(line + "\n" for line in lines))


def main():
    arguments = sys.argv[1:]
    writes = arguments[0] == "--write"
    header_path, library, abi_file = (Path(path).resolve() for path in arguments[writes:][:3])
    cc, cxx = arguments[writes:][3:]
    listed = [
        line
        for line in (abi_file.read_text().splitlines() if abi_file.exists() else [])
        if line and not line.startswith("#")
    ]
    with tempfile.TemporaryDirectory() as folder:
        check_header_alone(header_path, cc, cxx, Path(folder))
        now, problems = lines_now(header_path, library, cc, Path(folder))
    broken, new = compare(listed, now)
    if problems:
        sys.exit("\n".join(problems))
    if broken:
        sys.exit(
            "This change breaks programs that were compiled with an earlier starling.h:\n"
            + "\n".join("  " + line for line in broken)
            + "\nUndo it. Add a function with a new name, an enumerator with the next value, or a "
            "member at the end of its struct, after any padding. Only a new SOVERSION may break programs."
        )
    if writes:
        write(abi_file, listed, now)
    elif new:
        sys.exit(
            "starling.h has declarations that clients/c/abi.txt does not list:\n  "
            + "\n  ".join(new)
            + "\nAppend them with:\n  "
            + shlex.join(["python3", sys.argv[0], "--write", *arguments])
            + "\nIf a struct has grown, also set its first_size in clients/c/structs.hpp to its old size."
        )
    else:
        print(f"{len(listed)} lines of {abi_file.name} hold")


if __name__ == "__main__":
    main()
