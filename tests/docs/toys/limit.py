# SPDX-License-Identifier: Apache-2.0
"""A toy limit, with a row of the metrics that shows its use."""

from toys.edits import before

SECTION = "Add a limit"

STEPS = [
    (1, [
        before("stream/operation/options.hpp", "  std::size_t searches_max = 64;", """\
  std::size_t toys_max = 100;          ///< a toy's limit
"""),
    ]),
    (3, [
        before("stream/operation/limit_table.cpp", """\
    {.name = "snapshots-max",
""", """\
    {.name = "toys-max",
     .bounds = "Objects that a toy counts",
     .reached = "nothing happens",
     .field = field([](auto& options) -> auto& { return options.toys_max; })},
"""),
    ]),
    (4, [
        before("docs/limits.md", "| `--snapshots-max` |",
               "| `--toys-max` | Objects that a toy counts | server | 100 | nothing happens "
               "| `starling_limit` and `starling_limit_used` |\n"),
    ]),
    (7, [
        before("stream/metric_table.cpp", """\
    {.source = [](From from) { return as_double(from.server.commands->reply_bytes()); },
""", """\
    {.source = [](From from) { return as_double(from.core.processor().objects().alive_count()); },
     .limit = "toys-max"},
"""),
    ]),
]

LEFT_OUT = {2: "the toy limits nothing", 5: "nothing reaches it", 6: "no client needs it"}
