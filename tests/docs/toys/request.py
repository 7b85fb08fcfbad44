# SPDX-License-Identifier: Apache-2.0
"""A toy request: CountObjects asks how many of some objects are alive."""

from toys.edits import after, before, changelog, replace

SECTION = "Add a request"

STEPS = [
    (1, [
        before("protocol/wire/starling.fbs", "union RequestBody {\n", """\
table CountObjects {
  object_ids: [ulong];
}

"""),
        after("protocol/wire/starling.fbs", "  GetObjects,\n  EndSession,\n", "  CountObjects,\n"),
        before("protocol/wire/starling.fbs", "union ReplyBody {\n", """\
table ObjectCount {
  epoch: ulong;
  count: ulong;
}

"""),
        after("protocol/wire/starling.fbs", "  Queries,\n  Objects,\n", "  ObjectCount,\n"),
    ]),
    (2, [
        after("protocol/wire/messages.hpp", "struct EndSession {};\n", """
/// Asks how many of these objects are alive.
struct CountObjects {
  std::span<const std::uint64_t> object_ids{};
};
"""),
        replace("protocol/wire/messages.hpp", "GetObjects, EndSession>;",
                "GetObjects, EndSession, CountObjects>;"),
        before("protocol/wire/messages.hpp", "using ReplyBody =", """\
/// The reply to CountObjects.
struct ObjectCount {
  std::uint64_t epoch = 0;
  std::uint64_t count = 0;
};

"""),
        replace("protocol/wire/messages.hpp", "Names, Streams, Queries, Objects>;",
                "Names, Streams, Queries, Objects, ObjectCount>;"),
    ]),
    (3, [
        after("protocol/wire/encode_request.cpp", """\
Offset<wire::EndSession> add(FlatBufferBuilder& builder, const EndSession&) {
  return wire::CreateEndSession(builder);
}
""", """
Offset<wire::CountObjects> add(FlatBufferBuilder& builder, const CountObjects& request) {
  return wire::CreateCountObjects(builder, add_array(builder, request.object_ids));
}
"""),
    ]),
    (4, [
        after("protocol/wire/decode_request.cpp", """\
Refusal read(const wire::EndSession&, const Limits&, EndSession&) {
  return std::nullopt;
}
""", """
Refusal read(const wire::CountObjects& table, const Limits& limits, CountObjects& request) {
  if (auto refusal = check_alignment(table.object_ids())) return refusal;
  request.object_ids = to_span(table.object_ids());
  return check_row_count("object_ids", request.object_ids.size(),
                         {"page-rows-max", limits.page_rows_max});
}
"""),
        after("protocol/wire/decode_request.cpp", """\
      return read_as<EndSession>(root.body_as_EndSession(), limits, request);
""", """\
    case wire::RequestBody::CountObjects:
      return read_as<CountObjects>(root.body_as_CountObjects(), limits, request);
"""),
        before("protocol/wire/reply_codec.hpp", """
/// In the next two functions, `lists` must fit""", """\
Frame encode_object_count(const ReplyHead& head, const ObjectCount& reply);
"""),
        before("protocol/wire/encode_reply.cpp", "Frame encode_snapshot_page(", """\
Frame encode_object_count(const ReplyHead& head, const ObjectCount& reply) {
  FlatBufferBuilder builder;
  return finish(builder, head, wire::CreateObjectCount(builder, reply.epoch, reply.count));
}

"""),
        before("protocol/wire/decode_reply.cpp", """\
template <class Body, class Table>
Refusal read_as(""", """\
Refusal read(const wire::ObjectCount& table, ObjectCount& reply) {
  reply = {.epoch = table.epoch(), .count = table.count()};
  return std::nullopt;
}

"""),
        after("protocol/wire/decode_reply.cpp", """\
      return read_as<Objects>(root.body_as_Objects(), body);
""", """\
    case wire::ReplyBody::ObjectCount:
      return read_as<ObjectCount>(root.body_as_ObjectCount(), body);
"""),
    ]),
    (5, [
        after("tests/protocol/wire/samples.cpp", """\
      {"EndSession", control, EndSession{}},
""", """\
      {"CountObjects", control, CountObjects{ids}},
"""),
        before("tests/protocol/wire/samples.cpp", """\
  add("Objects", encode_objects(head,""", """\
  add("ObjectCount", encode_object_count(head, {.epoch = 6, .count = 7}));
"""),
    ]),
    (6, [
        after("stream/access/rights.cpp", """\
  return {"GetObjects", query_role};
}
""", """\
Needs needs_of(const protocol::CountObjects&) {
  return {"CountObjects", query_role};
}
"""),
        after("tests/stream/access/rights_matrix_test.cpp", """\
      {"GetObjects", {{"query"}, Foreign::nothing_is}},
""", """\
      {"CountObjects", {{"query"}, Foreign::nothing_is}},
"""),
        after("tests/stream/access/rights_matrix_test.cpp", """\
      {"GetObjects", protocol::GetObjects{.object_ids = outside}},
""", """\
      {"CountObjects", protocol::CountObjects{.object_ids = outside}},
"""),
    ]),
    (7, [
        after("stream/requests/request_table.cpp", """\
  return {.carry_out = call<protocol::GetObjects, &Families::objects, &ObjectRequests::get>};
}
""", """\
RequestRow row(const protocol::CountObjects*) {
  return {.carry_out = call<protocol::CountObjects, &Families::objects, &ObjectRequests::count>};
}
"""),
    ]),
    (8, [
        after("stream/requests/object_requests.hpp", """\
  void get(const Caller& caller, const protocol::GetObjects& request);
""", """\
  void count(const Caller& caller, const protocol::CountObjects& request);
"""),
        after("stream/requests/object_requests.cpp", """\
  pages_.send(caller, protocol::encode_objects(caller.reply_head(), reply), walked, since_us);
}
""", """
void ObjectRequests::count(const Caller& caller, const protocol::CountObjects& request) {
  if (pages_.rows_max(caller, 0) == 0) return;
  const std::int64_t since_us = pages_.now_us();
  const ObjectTable& objects = tables_.settled().objects();
  protocol::ObjectCount reply{.epoch = publisher_.epoch()};
  for (const std::uint64_t id : request.object_ids)
    if (const Slot slot = objects.find(ObjectId{id}); slot != no_slot && objects.is_alive(slot))
      ++reply.count;
  pages_.send(caller, protocol::encode_object_count(caller.reply_head(), reply),
              request.object_ids.size(), since_us);
}
"""),
    ]),
    (9, [
        before("tests/stream/requests/stream_requests_test.cpp", """\
TEST(TickRequests, ATickIsAnsweredWhenItIsPublishedAndAnotherWaitsForIt) {
""", """\
TEST(ObjectRequests, TheObjectsThatAreAliveAreCounted) {
  RequestWorld world;
  world.hello();
  world.put_objects(3);
  const std::vector<std::uint64_t> ids{1, 3, 77};
  const auto reply =
      std::get<protocol::ObjectCount>(world.ask(protocol::CountObjects{.object_ids = ids}));
  EXPECT_EQ(reply.epoch, 7u);
  EXPECT_EQ(reply.count, 2u);
}

"""),
    ]),
    (11, [
        before("protocol/client/client.hpp", """\
  /// Returns the objects in the rectangle, in no particular order.""", """\
  /// Returns how many of the objects are alive. Accepts at most server().limits.page_rows_max ids.
  Result<std::uint64_t> count_objects(std::span<const std::uint64_t> object_ids);
"""),
        before("protocol/client/client.cpp", "Result<ObjectAnswers> Client::objects_in(", """\
Result<std::uint64_t> Client::count_objects(std::span<const std::uint64_t> object_ids) {
  const auto reply = connection_->call(CountObjects{object_ids});
  const auto body = connection_->body_of<ObjectCount>(reply);
  if (!body) return body.problem();
  return body->count;
}

"""),
        before("tests/protocol/client/client_test.cpp", """\
TEST_F(ClientTest, AllPagesOfStreamsAreFetched) {
""", """\
TEST_F(ClientTest, ObjectsAreCounted) {
  FakeServer server(context, [](const DecodedRequest& request) -> std::optional<Frame> {
    if (is_hello(request)) return hello_reply(7, 1);
    EXPECT_TRUE(std::ranges::equal(std::get<CountObjects>(request.body).object_ids, ids));
    return encode_object_count(head_of(request), {.epoch = 5, .count = 2});
  });
  Client client(context, options(server));
  EXPECT_EQ(client.count_objects(ids).value(), 2u);
}

"""),
    ]),
    (12, [
        before("protocol/README.md", "| `GetObjects` | | | `Objects` |\n",
               "| `CountObjects` | | | `ObjectCount` |\n"),
        before("protocol/README.md", "### GetSnapshot \u2192 SnapshotPage\n", """\
### CountObjects \u2192 ObjectCount

How many of the objects `object_ids` are alive now. The array has at most `page_rows_max` ids. Ids may repeat,
and each of them counts. The reply has `epoch`, as in `HelloReply`, and `count`.

"""),
        replace("docs/security.md", "| `GetNeighbors`, `GetObjects` | | yes |",
                "| `GetNeighbors`, `GetObjects`, `CountObjects` | | yes |"),
        changelog("`CountObjects` counts the objects that are alive."),
    ]),
]

LEFT_OUT = {10: "it changes nothing, so the log need not say it"}
