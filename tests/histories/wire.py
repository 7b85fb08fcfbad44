# SPDX-License-Identifier: Apache-2.0
"""Requests, replies and ticks of protocol/README.md as plain values that JSON can hold. The recorder
encodes with encode_request and decodes with the others.
"""

import os
import sys

import flatbuffers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from wire_client import (PROTOCOL_VERSION, add_table, generated, lists_of, position,  # noqa: E402
                         queries, rectangle, root, vector, vector_of)

NO_MEAN = "none"
NO_VOTE = -2**63
REMOVED = "removed"
VECTORS = {"ids": "Uint64", "times_us": "Int64", "coordinates": "Float64", "coordinates_f32": "Float32",
           "labels": "Int64", "set": "Uint32", "clear": "Uint32", "object_ids": "Uint64",
           "query_ids": "Uint64", "values": "Float64"}


def numbers_of(add_name, holder):
    """Turns one field of a request, a plain value, into what add_table takes."""
    name, value = add_name
    if name == "texts":
        return vector_of(lambda builder: [builder.CreateString(text) for text in value])
    if name in ("queries", "questions"):
        return queries([{key: numbers_of((key, each), "Query") for key, each in row.items()}
                        for row in value])
    if name == "position":
        return position(*value)
    if name == "vector":
        return vector("Float32", value)
    if name == "rectangle":
        return rectangle(*value)
    if name == "tags" and holder == "UpdateBatch":
        return vector("Uint32", value)
    return vector(VECTORS[name], value) if name in VECTORS else value


def encode_request(body, fields, request_id, session, sequence):
    builder = flatbuffers.Builder(1024)
    table = add_table(builder, body, {name: numbers_of((name, value), body)
                                      for name, value in fields.items()})
    request = add_table(builder, "Request", {
        "version": PROTOCOL_VERSION, "request_id": request_id, "session": session, "sequence": sequence,
        "body": table, "body_type": getattr(generated("RequestBody").RequestBody, body)})
    builder.Finish(request, b"STRQ")
    return bytes(builder.Output())


def array(table, name):
    get = getattr(table, name)
    return [get(at) for at in range(getattr(table, name + "Length")())]


def runs_of(table):
    return [[run.Id(), run.Begun()] for run in array(table, "Runs")]


def scalars(table, names):
    result = {}
    for name in names.split():
        value = getattr(table, "".join(part.capitalize() for part in name.split("_")))()
        result[name] = value.decode() if isinstance(value, bytes) else value
    return result


def chunk_of(chunk):
    """Returns [[query, subject or None, ids or REMOVED, distances, positions, tags, vote, mean]]. An array
    that the chunk lacks is None."""
    lists = []
    distances, positions, tags = (array(chunk, name) for name in ("DistancesM", "Positions", "Tags"))
    ids, offsets = array(chunk, "ObjectIds"), array(chunk, "Offsets")
    for at, ((query, subject), removed, _) in enumerate(lists_of(chunk)):
        first, last = offsets[at], offsets[at + 1]
        vote = chunk.Votes(at) if chunk.VotesLength() else NO_VOTE
        mean = chunk.Means(at) if chunk.MeansLength() else float("nan")
        lists.append([query, subject, REMOVED if removed else ids[first:last],
                      distances[first:last] if distances else None,
                      positions[3 * first:3 * last] if positions else None,
                      tags[first:last] if tags else None,
                      vote, NO_MEAN if mean != mean else mean])
    return lists


def query_of(row):
    place = row.Position()
    return {**scalars(row, "id k anchor object tags_required tags_forbidden distance_max_m age_max_us "
                           "subject_tags_required subject_tags_forbidden lease_ms vote regress"),
            "position": [place.X(), place.Y(), place.Z()] if place else None,
            "vector": array(row, "Vector")}


def reply_fields(kind, body):
    if kind == "Error":
        code = {value: name for name, value in vars(generated("ErrorCode").ErrorCode).items()
                if not name.startswith("_")}[body.Code()]
        return {**scalars(body, "sentence sequence_expected limit limit_value"), "code": code}
    if kind == "HelloReply":
        return {**scalars(body, "session resumed last_sequence epoch space resolution_m manual_ticks "
                                "rows_max "
                                "k_max questions_max unanswered_max page_rows_max dimension metric "
                                "next_sequence"), "runs": runs_of(body)}
    if kind == "BatchReply":
        reason = {value: name for name, value in vars(generated("RowReason").RowReason).items()
                  if not name.startswith("_")}
        return {**scalars(body, "accepted late rejected"),
                "reasons": {reason[each.Reason()]: each.Count() for each in array(body, "Reasons")},
                "first_rejected": [[row.Index(), reason[row.Reason()]]
                                   for row in array(body, "FirstRejected")]}
    if kind == "Done":
        return scalars(body, "sequence")
    if kind == "SnapshotPage":
        return {**scalars(body, "stream epoch tick tau_us sequence next_page list_count with_distance "
                                "with_position with_tags place"),
                "runs": runs_of(body), "lists": chunk_of(body.Lists()) if body.Lists() else []}
    if kind == "Neighbors":
        return {**scalars(body, "epoch tick tau_us"), "unknown": array(body, "Unknown"),
                "lists": chunk_of(body.Lists()) if body.Lists() else []}
    if kind == "TickDone":
        return scalars(body, "tick tau_us object_count list_count removal_count")
    if kind == "Names":
        return {**scalars(body, "epoch name_count"), "texts": [text.decode()
                                                               for text in array(body, "Texts")]}
    if kind == "Streams":
        return {**scalars(body, "epoch next_page stream_count"),
                "streams": [scalars(each, "name on with_distance with_position with_tags query_count "
                                          "sequence")
                            for each in array(body, "Streams")]}
    if kind == "Queries":
        return {**scalars(body, "epoch next_page query_count"),
                "queries": [query_of(row) for row in array(body, "Queries")]}
    if kind == "Objects":
        names = [name.decode() for name in array(body, "Names")]
        return {**scalars(body, "epoch next_page object_count"), "names": names,
                **{name: array(body, camel) for name, camel in (
                    ("ids", "Ids"), ("times_us", "TimesUs"), ("positions", "Positions"), ("tags", "Tags"),
                    ("missing_ids", "MissingIds"))}}
    assert kind == "Stats", kind
    return {}


def decode_reply(frame):
    """Returns (request_id, sequence, place, kind, fields)."""
    reply = root(frame, "Reply", b"STRP")
    kinds = {value: name for name, value in vars(generated("ReplyBody").ReplyBody).items()
             if not name.startswith("_")}
    kind = kinds[reply.BodyType()]
    body = getattr(generated(kind), kind)()
    body.Init(reply.Body().Bytes, reply.Body().Pos)
    return reply.RequestId(), reply.Sequence(), reply.Place(), kind, reply_fields(kind, body)


def decode_tick(frames):
    """Returns the fields of a tick's message, with its lists."""
    topic, header, *chunks = frames
    header = root(header, "TickHeader", b"STTH")
    run = header.Run()
    return {**scalars(header, "epoch tick tau_us newest_time_us sequence failed object_count chunk_count "
                              "list_count removal_count on with_distance with_position with_tags "
                              "stream_removed run_before place"),
            "run": [run.Id(), run.Begun()] if run else None,
            "stream": topic[:-1].decode(), "chunks": len(chunks),
            "lists": [each for chunk in chunks for each in chunk_of(root(chunk, "ListChunk", b"STLC"))]}
