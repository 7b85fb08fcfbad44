# SPDX-License-Identifier: Apache-2.0
"""Tests that abi_test.py distinguishes changes of starling.h that break programs from other changes.

  abi_faults_test.py HEADER LIBRARY ABI_FILE CC CXX
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADER, LIBRARY, ABI_FILE, CC, CXX = sys.argv[1:6]
BREAKS = "breaks programs"
APPEND = "Append them with"


class Changes(unittest.TestCase):
    def compare(self, old, new):
        """Runs abi_test.py on the header with `old` replaced once. Returns its error output."""
        text = Path(HEADER).read_text()
        self.assertEqual(text.count(old), 1, f"{old!r} is not once in the header")
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "starling.h"
            changed.write_text(text.replace(old, new))
            run = subprocess.run(
                [sys.executable, "-B", Path(__file__).with_name("abi_test.py"), changed, LIBRARY,
                 ABI_FILE, CC, CXX],
                text=True, capture_output=True, check=False,
            )  # fmt: skip
        self.assertNotEqual(run.returncode, 0, run.stdout)
        return run.stderr

    def test_a_moved_member_breaks_programs(self):
        error = self.compare(
            "  uint64_t accepted;\n  uint64_t late;\n", "  uint64_t late;\n  uint64_t accepted;\n"
        )
        self.assertIn(BREAKS, error)
        self.assertIn("member starling_counts.late at 16", error)

    def test_a_member_in_the_middle_breaks_programs(self):
        self.assertIn(BREAKS, self.compare("  uint64_t late;\n", "  int32_t n;\n  uint64_t late;\n"))

    def test_a_member_in_the_padding_breaks_programs(self):
        error = self.compare("  int32_t restore;\n", "  int32_t restore;\n  int32_t more;\n")
        self.assertIn(BREAKS, error)
        self.assertIn("starling_client_options.more", error)

    def test_another_type_of_the_same_size_breaks_programs(self):
        self.assertIn(BREAKS, self.compare("  uint64_t rejected;", "  int64_t rejected;"))

    def test_another_value_breaks_programs(self):
        self.assertIn(BREAKS, self.compare("STARLING_IN_USE = 3,", "STARLING_IN_USE = 30,"))

    def test_another_prototype_breaks_programs(self):
        self.assertIn(
            BREAKS, self.compare("starling_text_id(const char* text)", "starling_text_id(char* text)")
        )

    def test_a_member_at_the_end_is_to_be_listed(self):
        error = self.compare("  uint64_t rejected;\n", "  uint64_t rejected;\n  uint64_t more;\n")
        self.assertIn(APPEND, error)
        self.assertNotIn(BREAKS, error)
        self.assertIn("struct starling_counts 40", error)

    def test_another_enumerator_is_to_be_listed(self):
        error = self.compare("STARLING_WITH_TAGS = 4 }", "STARLING_WITH_TAGS = 4, STARLING_X = 8 }")
        self.assertIn(APPEND, error)

    def test_a_function_that_the_library_lacks_is_named(self):
        error = self.compare(
            "STARLING_API const char* starling_version(void);",
            "STARLING_API const char* starling_version(void);\nSTARLING_API int starling_more(int a);",
        )
        self.assertIn("starling_more, which", error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
