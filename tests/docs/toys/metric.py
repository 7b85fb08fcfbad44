# SPDX-License-Identifier: Apache-2.0
"""A toy metric, whose value is read from the server."""

from toys.edits import before, changelog

SECTION = "Add a metric"

STEPS = [
    (1, [
        before("stream/metric_table.cpp", """\
    {"starling_queries", "Standing queries.", MetricKind::gauge,
""", """\
    {"starling_toy_objects", "Objects that a toy counts.", MetricKind::gauge,
     [](From from) { return as_double(from.core.processor().objects().alive_count()); }},
"""),
    ]),
    (3, [
        before("docs/operating.md", "| `starling_queries` |",
               "| `starling_toy_objects` | Objects that a toy counts. |\n"),
    ]),
    (4, [
        changelog("The metric `starling_toy_objects`."),
    ]),
]

LEFT_OUT = {2: "the row reads the value from the server"}
