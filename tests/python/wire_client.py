# SPDX-License-Identifier: Apache-2.0
"""A Starling client in Python, written from protocol/README.md alone, with pyzmq, flatbuffers and the
code that `flatc --python` generates from the schema. Lists are held as
{(query, subject or None): [(object, metres)]}. wire_client_test.py uses it and shows how to call it.
"""

import importlib
import math

import flatbuffers
import zmq

PROTOCOL_VERSION = 1
NO_LABEL = -2**63


def generated(table):
    return importlib.import_module("starling.wire." + table)


def root(frame, table, identifier):
    assert frame[4:8] == identifier, frame[4:8]
    return getattr(generated(table), table).GetRootAs(frame, 0)


def add_table(builder, table, fields):
    """Adds a table. `fields` are scalars, texts, or functions that add a vector or struct."""
    module = generated(table)
    offsets = {}
    for name, value in fields.items():
        if isinstance(value, str):
            offsets[name] = builder.CreateString(value)
        elif callable(value) and not getattr(value, "inline", False):
            offsets[name] = value(builder)
        else:
            offsets[name] = value
    module.Start(builder)
    for name, value in offsets.items():
        if callable(value):
            value = value(builder)
        getattr(module, "Add" + "".join(part.capitalize() for part in name.split("_")))(
            builder, value)
    return module.End(builder)


def vector(kind, values):
    """Returns a function that adds a vector. `kind` is Uint64, Int64, Float64, Float32 or Uint32."""
    size = int(kind[-2:]) // 8

    def add(builder):
        builder.StartVector(size, len(values), size)
        for value in reversed(values):
            getattr(builder, "Prepend" + kind)(value)
        return builder.EndVector()

    return add


def vector_of(offsets_of):
    """Returns a function that adds a vector of tables or texts: offsets_of(builder) returns their offsets."""

    def add(builder):
        offsets = offsets_of(builder)
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()

    return add


def position(x, y, z=0.0):
    def add(builder):
        return generated("Vec3").CreateVec3(builder, x, y, z)

    add.inline = True  # a struct is written while its table is open
    return add


def rectangle(x_min, y_min, x_max, y_max):
    def add(builder):
        return generated("Rectangle").CreateRectangle(builder, x_min, y_min, x_max, y_max)

    add.inline = True
    return add


def queries(rows):
    return vector_of(lambda builder: [add_table(builder, "Query", row) for row in rows])


class Refused(Exception):
    def __init__(self, code, sentence, sequence_expected):
        super().__init__(sentence)
        self.code = code
        self.sequence_expected = sequence_expected


class Client:
    def __init__(self, context, commands, kind=zmq.DEALER, timeout_s=20):
        self.socket = context.socket(kind)
        self.socket.linger = 0
        self.socket.rcvtimeo = timeout_s * 1000
        self.socket.connect(commands)
        self.request_id = 0
        self.session = 0
        self.sequence = 0
        self.hello = self.call("Hello", client="wire_client_test")
        self.session = self.hello.Session()

    def close(self):
        self.socket.close()

    def encode(self, body_type, fields, sequence):
        builder = flatbuffers.Builder(1024)
        body = add_table(builder, body_type, fields)
        request = add_table(
            builder, "Request",
            dict(version=PROTOCOL_VERSION, request_id=self.request_id, session=self.session,
                 sequence=sequence, body=body,
                 body_type=getattr(generated("RequestBody").RequestBody, body_type)))
        builder.Finish(request, b"STRQ")
        return bytes(builder.Output())

    def call(self, body_type, **fields):
        """Sends a request that changes nothing; returns the reply's body."""
        frame = self.encode(body_type, fields, 0)
        self.request_id += 1
        return self.exchange(frame)

    def change(self, body_type, **fields):
        """Sends a request that changes something, under the next number. A refusal that is final
        uses up the number too."""
        self.sequence += 1
        frame = self.encode(body_type, fields, self.sequence)
        self.request_id += 1
        return self.exchange(frame)

    def exchange(self, frame):
        self.socket.send(frame)
        return self.decode(self.socket.recv())

    @staticmethod
    def decode(frame):
        reply = root(frame, "Reply", b"STRP")
        names = {value: name for name, value in vars(generated("ReplyBody").ReplyBody).items()
                 if not name.startswith("_")}
        table = names[reply.BodyType()]
        body = getattr(generated(table), table)()
        body.Init(reply.Body().Bytes, reply.Body().Pos)
        if table == "Error":
            raise Refused(body.Code(), body.Sentence().decode(), body.SequenceExpected())
        return body

    def advance(self, tau_us):
        return self.change("AdvanceTick", tau_us=tau_us)

    def names(self, ids):
        """Returns {id: text} of the ids that have a name. Asks for as many at a time as the server
        allows."""
        result = {}
        for first in range(0, len(ids), self.hello.NamesAskedMax()):
            asked = ids[first:first + self.hello.NamesAskedMax()]
            reply = self.call("GetNames", object_ids=vector("Uint64", asked))
            assert reply.TextsLength() == len(asked)
            for at, number in enumerate(asked):
                if reply.Texts(at):
                    result[number] = reply.Texts(at).decode()
        return result


    def pages(self, body_type, **fields):
        """Yields each page of the answer."""
        page = 0
        while True:
            reply = self.call(body_type, page=page, **fields)
            yield reply
            page = reply.NextPage()
            if page == 0:
                return

    def streams(self, **fields):
        """Returns {name: StreamInfo}."""
        rows = [page.Streams(at) for page in self.pages("ListStreams", **fields)
                for at in range(page.StreamsLength())]
        return {row.Name().decode(): row for row in rows}

    def queries(self, stream, **fields):
        """Returns {id: Query}."""
        rows = [page.Queries(at) for page in self.pages("ListQueries", stream=stream, **fields)
                for at in range(page.QueriesLength())]
        assert len({row.Id() for row in rows}) == len(rows)
        return {row.Id(): row for row in rows}

    def remove_stream(self, name):
        self.change("RemoveStream", name=name)

    def objects(self, ids):
        """Returns [object] in the order of the ids, and the missing ids. Asks for as many at a time as
        the server allows."""
        found, missing = [], []
        for first in range(0, len(ids), self.hello.PageRowsMax()):
            asked = ids[first:first + self.hello.PageRowsMax()]
            page = self.call("GetObjects", object_ids=vector("Uint64", asked))
            found += objects_of(page)
            missing += [page.MissingIds(at) for at in range(page.MissingIdsLength())]
        return found, missing

    def objects_in(self, *edges, **fields):
        return [each for page in self.pages("GetObjects", rectangle=rectangle(*edges), **fields)
                for each in objects_of(page)]


def objects_of(page):
    """Returns [(id, time_us, position or None, tags, name or None)] of a page of objects."""
    rows = page.IdsLength()
    assert page.TimesUsLength() == page.TagsLength() == rows
    assert page.PositionsLength() in (0, 3 * rows) and page.NamesLength() in (0, rows)
    return [(page.Ids(at), page.TimesUs(at),
             tuple(page.Positions(3 * at + i) for i in range(3)) if page.PositionsLength() else None,
             page.Tags(at),
             page.Names(at).decode() or None if page.NamesLength() else None)
            for at in range(rows)]


def lists_of(chunk):
    """Returns [(key, removed, neighbours)] of a ListChunk."""
    result = []
    for at in range(chunk.QueryIdsLength()):
        has_subject = chunk.HasSubjectLength() > 0 and chunk.HasSubject(at)
        key = (chunk.QueryIds(at), chunk.SubjectIds(at) if has_subject else None)
        removed = chunk.EventsLength() > 0 and chunk.Events(at) == 1
        neighbors = [(chunk.ObjectIds(n), chunk.DistancesM(n))
                     for n in range(chunk.Offsets(at), chunk.Offsets(at + 1))]
        result.append((key, removed, neighbors))
    return result


def votes_of(chunk):
    """Returns {key: label, or None for no vote} of the lists of a ListChunk that are not removed."""
    result = {}
    for at, (key, removed, _) in enumerate(lists_of(chunk)):
        vote = chunk.Votes(at) if chunk.VotesLength() > 0 else NO_LABEL
        if not removed:
            result[key] = None if vote == NO_LABEL else vote
    return result


def means_of(chunk):
    """Returns {key: mean, or None for no mean} of the lists of a ListChunk that are not removed."""
    result = {}
    for at, (key, removed, _) in enumerate(lists_of(chunk)):
        mean = chunk.Means(at) if chunk.MeansLength() > 0 else math.nan
        if not removed:
            result[key] = None if math.isnan(mean) else mean
    return result


class Subscription:
    """Follows a stream as the README's section "How to subscribe" says."""

    def __init__(self, context, results, client, stream):
        self.client = client
        self.stream = stream
        self.lists = {}
        self.votes = {}
        self.means = {}
        self.epoch = None
        self.sequence = 0
        self.tick = None
        self.live = False
        self.removed = False  # whether the stream is gone and was not put again
        self.lost = 0
        self.messages_read = 0
        self.buffered = []
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.rcvhwm = 1000
        self.socket.subscribe(stream.encode() + b"\0")
        self.socket.connect(results)

    def close(self):
        self.socket.close()

    def read(self, timeout_ms):
        """Reads and applies one message; returns False if no message comes."""
        if not self.socket.poll(timeout_ms):
            return False
        topic, header, *chunks = self.socket.recv_multipart()
        assert topic == self.stream.encode() + b"\0", topic
        header = root(header, "TickHeader", b"STTH")
        chunks = [root(chunk, "ListChunk", b"STLC") for chunk in chunks]
        assert header.ChunkCount() == len(chunks)
        self.messages_read += 1
        self.take(header, chunks)
        if not self.live:
            self.take_snapshot()
        return True

    def take(self, header, chunks):
        is_next = header.Epoch() == self.epoch and header.Sequence() == self.sequence + 1
        if self.live and is_next:
            self.apply(header, chunks)
        elif header.Epoch() != self.epoch or header.Sequence() > self.sequence:
            if self.live and header.Epoch() == self.epoch:
                self.lost += header.Sequence() - self.sequence - 1
            self.live = False
            self.buffered.append((header, chunks))
            del self.buffered[:-100]

    def apply(self, header, chunks):
        lists = [each for chunk in chunks for each in lists_of(chunk)]
        for (query, subject), removed, _ in lists:
            if removed:
                self.forget(query, subject)
        for key, removed, neighbors in lists:
            if not removed:
                self.lists[key] = neighbors
        for chunk in chunks:
            self.votes.update(votes_of(chunk))
            self.means.update(means_of(chunk))
        self.sequence = header.Sequence()
        self.removed = header.StreamRemoved()
        if not header.Failed():
            self.tick = header.Tick()

    def forget(self, query, subject):
        """Erases a removed list. Without a subject, erases all lists of the query."""
        gone = [key for key in self.lists
                if key == (query, subject) or (subject is None and key[0] == query)]
        for key in gone:
            del self.lists[key], self.votes[key], self.means[key]

    def take_snapshot(self):
        lists, votes, means, page = {}, {}, {}, 0
        while True:
            reply = self.client.call("GetSnapshot", stream=self.stream, page=page)
            for key, _, neighbors in lists_of(reply.Lists()):
                lists[key] = neighbors
            votes.update(votes_of(reply.Lists()))
            means.update(means_of(reply.Lists()))
            page = reply.NextPage()
            if page == 0:
                break
        assert reply.ListCount() == len(lists)
        self.lists, self.votes, self.means = lists, votes, means
        self.epoch, self.sequence = reply.Epoch(), reply.Sequence()
        self.tick = reply.Tick()
        self.live = True
        self.removed = False
        waiting, self.buffered = self.buffered, []
        for header, chunks in waiting:
            if header.Epoch() == self.epoch and header.Sequence() > self.sequence:
                self.take(header, chunks)
