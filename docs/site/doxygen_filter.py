# SPDX-License-Identifier: Apache-2.0
"""Prints a header in the form that doxygen reads. Doxygen calls this with the path of the header.

A C header: its comments become doxygen's, and each section, which begins with a comment such as
"---- Errors ----", becomes a group. A C++ header becomes one group."""

import re
import sys


def group_of(header):
    """Returns the group of an installed C++ header, such as "starling/cpu/backend.hpp"."""
    return re.sub(r"\W+", "_", header)


def of_c(text):
    text = re.sub(r"/\* SPDX.*?\*/\n", "", text, count=1)
    text = text.replace("/* ", "/** @file\n * ", 1)
    groups = 0

    def to_group(comment):
        nonlocal groups
        groups += 1
        name = re.sub(r"\W+", "_", comment[1].lower())
        end = "/** @} */\n" if groups > 1 else ""
        return f"{end}/** @defgroup c_{name} {comment[1]}\n * @{{ */"

    text = re.sub(r"^/\* ---- (.*?) ---- \*/", to_group, text, flags=re.MULTILINE)
    text = re.sub(r"^( *)/\*(?!\*)", r"\1/**", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=\S)( +)/\*(?!\*)", r"\1/**<", text)
    return text + ("/** @} */\n" if groups else "")


def of_cpp(text, name):
    text = re.sub(r"^namespace starling[\w:]* \{$", rf"\g<0>\n/** @addtogroup {name}\n * @{{ */", text,
                  flags=re.MULTILINE)
    return re.sub(r"^\}  // namespace starling", r"/** @} */\n\g<0>", text, flags=re.MULTILINE)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if sys.argv[1].endswith(".h"):
        print(of_c(text), end="")
    else:
        print(of_cpp(text, group_of("starling/" + sys.argv[1].rsplit("/starling/", 1)[1])), end="")
