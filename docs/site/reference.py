# SPDX-License-Identifier: Apache-2.0
"""Makes the site's reference pages of C++, the wire and HTTP, from the installed headers, the FlatBuffers
schema and docs/openapi.json. build.py calls it."""

import json
import pathlib
import re

from doxygen_filter import group_of

ROOMS = {
    "clients/cpp": "One header: what starling.hpp includes",
    "knn/words": "Words: types, spaces, metrics, filters, queries, reports",
    "knn/tables": "Objects, queries and ticks",
    "knn/engine": "The seam of the engines",
    "knn/vectors": "Vectors in batch",
    "knn/base": "Helpers of the above",
    "cpu": "The engine on the CPU",
    "gpu": "The engine on NVIDIA GPUs",
    "protocol/client": "A client of a server",
    "protocol/wire": "Messages of the wire",
}


def cpp_page(headers):
    """Returns the page of the installed C++ headers, in reStructuredText."""
    rooms = {}
    for header in headers:
        inside = header.rsplit("/starling/", 1)[1]
        rooms.setdefault(inside.rsplit("/", 1)[0], []).append(inside)
    lines = ["C++", "===", "", CPP_HEAD, ""]
    order = list(ROOMS)
    for room in sorted(rooms, key=lambda room: order.index(room) if room in order else len(order)):
        title = ROOMS.get(room, room)
        lines += [title, "-" * len(title), ""]
        for inside in sorted(rooms[room]):
            name = f"``starling/{inside}``"
            lines += [name, "^" * len(name), "", f".. doxygengroup:: {group_of('starling/' + inside)}",
                      "   :content-only:", "   :members:", ""]
    return "\n".join(lines)


CPP_HEAD = """The installed headers: ``#include <starling/starling.hpp>``, or those of the engine, such as
``#include "starling/knn/tables/processor.hpp"``. :doc:`../embedding` explains how to use them, with complete programs. Everything is in the namespace ``starling``."""


def table_of(head, rows):
    if not rows:
        return ""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def anchor_of(name):
    return name.lower()


def wire_page(schema):
    """Returns the page of a FlatBuffers schema, in Markdown."""
    text = pathlib.Path(schema).read_text()
    text = re.sub(r"^// SPDX[^\n]*\n", "", text)
    names = set(re.findall(r"^(?:table|struct|enum|union) (\w+)", text, re.MULTILINE))

    def type_of(word):
        bare = word.strip("[]")
        shown = f"`{word}`"
        return f"[{shown}](#{anchor_of(bare)})" if bare in names else shown

    out = [WIRE_HEAD]
    pattern = re.compile(r"((?:^//[^\n]*\n)*)^(\w+) (\w+)(?:: *(\w+))? *\{(.*?)\}|((?:^//[^\n]*\n)+)\n",
                         re.MULTILINE | re.DOTALL)
    for comment, kind, name, base, body, section in (each.groups() for each in pattern.finditer(text)):
        prose = " ".join(line[2:].strip() for line in (comment or section or "").splitlines())
        if section:
            out.append(f"{prose}\n")
            continue
        out.append(f"## {name}\n")
        out.append(f"A {kind}{f' of `{base}`' if base else ''}. {prose}\n")
        body = re.sub(r"//[^\n]*", "", body)
        if kind in ("table", "struct"):
            rows = []
            for field in filter(None, (part.strip() for part in body.split(";"))):
                label, _, rest = field.partition(":")
                word, _, default = rest.partition("=")
                rows.append([f"`{label.strip()}`", type_of(word.strip()),
                             f"`{default.strip()}`" if default else ""])
            out.append(table_of(["Field", "Type", "Default"], rows) or "It has no fields.\n")
        else:
            values = [part.strip() for part in body.split(",") if part.strip()]
            words = [type_of(value) if kind == "union" else f"`{value}`" for value in values]
            rows = [[str(number), word] for number, word in enumerate(words, 1 if kind == "union" else 0)]
            out.append(table_of(["Number", "Type" if kind == "union" else "Value"], rows))
    return "\n".join(out)


WIRE_HEAD = """# Wire

This page is made from the schema [`starling.fbs`](../source/protocol/wire/starling.fbs.md).
[The wire](../protocol.md) says what each field means, which values are allowed, and which messages follow
each other. A field of a table that a message leaves out has its default: 0, an empty array or text, or what
stands in the column.
"""


def http_page(file):
    """Returns the page of an OpenAPI document, in Markdown."""
    api = json.loads(pathlib.Path(file).read_text())

    def resolve(node):
        while "$ref" in node:
            path = node["$ref"].removeprefix("#/").split("/")
            node = api
            for word in path:
                node = node[word]
        return node

    def type_of(schema):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f"[{name}](#{anchor_of(name)})"
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                return (" and " if word == "allOf" else " or ").join(map(type_of, schema[word]))
        shown = schema.get("type", "any")
        if shown == "array":
            shown = f"array of {type_of(schema.get('items', {}))}"
        if "enum" in schema:
            shown = ", ".join(f"`{value}`" for value in schema["enum"])
        bounds = [f"{words} {schema[word]}" for word, words in (
            ("minimum", "at least"), ("maximum", "at most"), ("minLength", "at least"),
            ("maxLength", "at most"), ("minItems", "at least"), ("maxItems", "at most")) if word in schema]
        if bounds:
            unit = {"string": " characters", "array": " items"}.get(schema.get("type"), "")
            shown += f", {' and '.join(bounds)}{unit}"
        if schema.get("nullable"):
            shown += " or null"
        return shown

    def said(node):
        words = " ".join(node.get("description", "").split())
        default = node.get("schema", node).get("default")
        return words if default is None else f"{words} Default: `{json.dumps(default)}`.".strip()

    out = [f"# HTTP\n\n{HTTP_HEAD}"]
    for path, methods in api["paths"].items():
        out.append(f"## `{path}`\n")
        shared = methods.get("parameters", [])
        for method, call in methods.items():
            if method == "parameters":
                continue
            out.append(f"### {method.upper()} `{path}`\n\n{call.get('summary', '')}.\n")
            if "description" in call:
                out.append(f"{said(call)}\n")
            rows = [[f"`{each['name']}`", each["in"] + (", required" if each.get("required") else ""),
                     type_of(each["schema"]), said(each)]
                    for each in map(resolve, [*shared, *call.get("parameters", [])])]
            out.append(table_of(["Parameter", "In", "Type", "Meaning"], rows))
            if "requestBody" in call:
                kinds = [f"`{kind}`: {type_of(each['schema'])}"
                         for kind, each in resolve(call["requestBody"])["content"].items()]
                out.append(f"Body: {'; '.join(kinds)}\n")
            rows = []
            for status, answer in call["responses"].items():
                answer = resolve(answer)
                kinds = [f"`{kind}`: {type_of(each['schema'])}" if "schema" in each else f"`{kind}`"
                         for kind, each in answer.get("content", {}).items()]
                rows.append([status, said(answer), "; ".join(kinds)])
            out.append(table_of(["Status", "Meaning", "Content"], rows))
    out.append("## Schemas\n")
    for name, schema in api["components"]["schemas"].items():
        out.append(f"### {name}\n")
        if "description" in schema:
            out.append(f"{said(schema)}\n")
        if "properties" in schema:
            needed = schema.get("required", [])
            rows = [[f"`{label}`", type_of(each), "yes" if label in needed else "", said(each)]
                    for label, each in schema["properties"].items()]
            out.append(table_of(["Field", "Type", "Required", "Meaning"], rows))
        else:
            out.append(f"{type_of(schema)}\n")
    return "\n".join(out)


HTTP_HEAD = """This page is made from [openapi.json](../source/docs/openapi.json.md), from which tools can
generate a client. [HTTP](../http.md) has an example of each path.
"""
