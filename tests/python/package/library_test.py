#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the structs, enums and functions of starling._library with starling.h. Tests how the library is
found."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import unittest

from package_case import PACKAGE, ROOT, FolderCase
from starling import _library, errors

NOWHERE = "/nowhere/libstarling.so"
HEADER = ROOT / "clients/c/starling.h"
ENUMS = {
    "STARLING_NO_LABEL": _library.NO_LABEL, "STARLING_NO_ROW": _library.NO_ROW,
    "STARLING_NEAREST_FIRST": _library.NEAREST_FIRST, "STARLING_BY_ROW": _library.BY_ROW,
    "STARLING_LIST_REMOVED": _library.LIST_REMOVED, "STARLING_WITH_DISTANCE": _library.WITH["distance"],
    "STARLING_WITH_POSITION": _library.WITH["position"], "STARLING_WITH_TAGS": _library.WITH["tags"],
    **{"STARLING_" + code.name: code.value for code in errors.ErrorCode},
}
for prefix, words in (("STARLING_", _library.SPACES), ("STARLING_", _library.METRICS),
                      ("STARLING_BACKEND_", _library.BACKENDS), ("STARLING_ON_", _library.REPORTS),
                      ("STARLING_", _library.ANCHORS), ("STARLING_EVENT_", _library.EVENTS),
                      ("STARLING_WEIGHTS_", _library.WEIGHTS)):
    ENUMS.update({prefix + word.upper().replace("-", "_"): i for i, word in enumerate(words)})


class Header(FolderCase):
    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_structs_and_numbers_are_those_of_the_header(self):
        lines, expected = [], []
        for name, struct in _library.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for member, *_ in struct._fields_:
                place = getattr(struct, member)
                lines.append(f'printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), '
                             f'sizeof((({name}*)0)->{member}));')
                expected.append(f"{name}.{member} {place.offset} {place.size}")
        for name, value in ENUMS.items():
            lines.append(f'printf("{name} %lld\\n", (long long){name});')
            expected.append(f"{name} {value}")
        source, program = self.folder / "sizes.c", self.folder / "sizes"
        source.write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{\n' + "\n".join(lines) +
                          "\nreturn 0;\n}\n")
        subprocess.run(["cc", "-o", program, source], check=True)
        said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.splitlines(), expected)

    def test_every_struct_of_the_header_is_declared_with_all_its_members(self):
        structs = dict(re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", self.header(), re.S))
        self.assertEqual(sorted(structs), sorted(_library.STRUCTS))
        for name, body in structs.items():
            members = re.findall(r"(\w+)(?:\[\d+\])?;", body)
            self.assertEqual([field[0] for field in _library.STRUCTS[name]._fields_], members, name)

    def test_every_function_of_the_header_is_declared_with_all_its_arguments(self):
        header = re.sub(r"\(\*\w+\)\([^)]*\)", "callback", self.header())
        functions = re.findall(r"STARLING_API\s+([\w\s*]*?)\s*\bstarling_(\w+)\(([^)]*)\);", header)
        self.assertEqual(sorted(name for _, name, _ in functions), sorted(_library.FUNCTIONS))
        for result, name, arguments in functions:
            kind, kinds = _library.FUNCTIONS[name]
            count = 0 if arguments == "void" else arguments.count(",") + 1
            self.assertEqual(len(kinds), count, name)
            self.assertEqual(kind, {"starling_code": ctypes.c_int32, "const char*": ctypes.c_char_p,
                                    "uint64_t": ctypes.c_uint64}[result], name)

    def test_every_function_is_in_the_library(self):
        for name in _library.FUNCTIONS:
            self.assertTrue(callable(getattr(_library.library(), name)))
        with self.assertRaisesRegex(AttributeError, "no function starling_nonsense"):
            _library.library().nonsense

    def test_versions_agree(self):
        import starling
        self.assertEqual(starling.version(), starling.__version__)
        self.assertIn(f'version = "{starling.__version__}"', (PACKAGE / "pyproject.toml").read_text())

    def header(self):
        return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)


class Search(unittest.TestCase):
    def run_python(self, code, **environment):
        return subprocess.run([sys.executable, "-B", "-c", code], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment})

    def test_a_library_that_is_not_there_is_one_sentence(self):
        done = self.run_python("import starling; starling.version()", STARLING_LIBRARY=NOWHERE)
        self.assertIn("ImportError: libstarling.so.0 cannot be loaded.", done.stderr)
        self.assertIn(NOWHERE, done.stderr)

    def test_importing_the_package_loads_neither_the_library_nor_scikit_learn(self):
        done = self.run_python(
            "import sys, starling; print('sklearn' in sys.modules, 'pandas' in sys.modules)",
            STARLING_LIBRARY=NOWHERE)
        self.assertEqual((done.stdout, done.returncode), ("False False\n", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
