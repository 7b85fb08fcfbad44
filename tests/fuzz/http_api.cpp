// SPDX-License-Identifier: Apache-2.0
// Fuzzes the HTTP routes: parameters, names in paths and JSON bodies. An input is a line "METHOD
// TARGET" and a body. The first line of the body is also the Accept field. The wire's decoder must
// accept each request that the routes make, and each input gets one answer.
#include <algorithm>
#include <optional>
#include <variant>

#include <boost/asio/io_context.hpp>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/http/api.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {
namespace {

using protocol::ErrorCode;

/// The routes over a fake server that accepts each request that it can decode.
class Routes {
 public:
  explicit Routes(Space space) {
    limits_.space = space;
    if (space == Space::vector)
      limits_.dimension = 2;
    else
      lattice_.emplace(SpaceOptions{.space = space});
  }

  void ask(std::string_view method, std::string_view target, std::string_view body,
           std::string_view type) {
    stream::HttpRequest request;
    request.head.method = method;
    request.head.target = target;
    request.head.host = "localhost";
    request.head.content_type = type;
    request.head.accept = body.substr(0, body.find('\n'));
    request.head.has_length = true;
    request.body = body;
    if (const auto refusal = api_.admit(request.head))
      return check_invariant(refusal->status >= 400, "a refusal has the status of an error");
    int answers = 0;
    api_.handle(std::move(request), [&](const stream::HttpAnswer&) { ++answers; });
    loop_.restart();
    loop_.poll();
    check_invariant(answers == 1, "each request has one answer");
  }

 private:
  void receive(const stream::ReceivedBytes& received) {
    const protocol::AlignedBytes frame(received.bytes);
    const protocol::DecodedRequest request = protocol::decode_request(frame, limits_);
    const protocol::ReplyHead head{request.head.request_id, request.head.sequence};
    if (!request.problem) return reply(head, request.body);
    for (const ErrorCode code : {ErrorCode::malformed, ErrorCode::wrong_version,
                                 ErrorCode::unknown_request, ErrorCode::array_mismatch})
      check_invariant(request.problem->code != code, "the routes send well-formed requests");
    if (consumes_sequence(request.problem->code) && request.sequenced) ++sequence_;
    api_.replied(stream::zmtp::PrincipalId::anonymous,
                 protocol::encode_error(head, {*request.problem, sequence_}).bytes());
  }

  void reply(const protocol::ReplyHead& head, const protocol::RequestBody& body) {
    if (std::holds_alternative<protocol::Hello>(body))
      return api_.replied(stream::zmtp::PrincipalId::anonymous,
                          protocol::encode_hello_reply(head, {.session = 1}).bytes());
    if (protocol::is_sequenced(body))
      check_invariant(head.sequence == sequence_++, "sequence numbers have no gap");
    if (const auto* names = std::get_if<protocol::PutNames>(&body))
      return api_.replied(
          stream::zmtp::PrincipalId::anonymous,
          protocol::encode_batch_reply(head, {.accepted = names->ids.size()}).bytes());
    if (protocol::is_batch(body))
      return api_.replied(
          stream::zmtp::PrincipalId::anonymous,
          protocol::encode_batch_reply(head, {.accepted = protocol::credit_rows(body)}).bytes());
    if (const auto* asked = std::get_if<protocol::GetNeighbors>(&body))
      return api_.replied(stream::zmtp::PrincipalId::anonymous, neighbors(head, *asked).bytes());
    if (std::holds_alternative<protocol::ListStreams>(body))
      return api_.replied(
          stream::zmtp::PrincipalId::anonymous,
          protocol::encode_streams(head, {.stream_count = 1, .streams = {{.name = "riders"}}})
              .bytes());
    if (const auto* asked = std::get_if<protocol::GetObjects>(&body))
      return api_.replied(stream::zmtp::PrincipalId::anonymous, objects(head, *asked).bytes());
    api_.replied(stream::zmtp::PrincipalId::anonymous, protocol::encode_done(head).bytes());
  }

  /// Two neighbours, of which only the first is still alive. Object 9 is unknown.
  protocol::Frame neighbors(const protocol::ReplyHead& head,
                            const protocol::GetNeighbors& asked) const {
    static constexpr Neighbor list[] = {{RankKey{1}, ObjectId{7}}, {RankKey{2}, ObjectId{8}}};
    static constexpr std::uint32_t first = 0;
    QueryReport report{.neighbors = list, .states = {}, .vote = 1, .mean = no_value};
    const protocol::QuerySpec& question = asked.questions.at(0);
    const bool is_unknown = question.anchor == AnchorKind::follow && question.object == ObjectId{9};
    if (is_unknown) report.neighbors = {};
    return protocol::encode_neighbors(
        head, {}, {.reports = {&report, 1}, .with = {}, .lattice = lattice_ ? &*lattice_ : nullptr},
        std::span(&first, is_unknown ? 1 : 0));
  }

  protocol::Frame objects(const protocol::ReplyHead& head,
                          const protocol::GetObjects& asked) const {
    const std::uint64_t ids[] = {7};
    const std::int64_t times_us[] = {5};
    const std::uint32_t tags[] = {1};
    const Position position{1, 2, 3};
    protocol::Objects reply{.missing_ids = asked.object_ids};
    if (!asked.object_ids.empty() && asked.object_ids[0] == ids[0]) {
      reply.missing_ids = asked.object_ids.subspan(1);
      reply.ids = ids;
      reply.times_us = times_us;
      reply.tags = tags;
      if (lattice_) reply.positions = position;
    }
    return protocol::encode_objects(head, reply);
  }

  boost::asio::io_context loop_{1};
  protocol::Limits limits_;
  std::optional<Lattice> lattice_;  ///< std::nullopt in a vector space
  std::uint64_t sequence_ = 1;
  stream::HttpApi api_{
      {.loop = loop_,
       .limits = limits_,
       .gatekeeper = {},
       .deliver = [this](const stream::Peer&,
                         const stream::ReceivedBytes& received) { receive(received); },
       .work = [](std::size_t, const auto& function) { function()(); },
       .base_time_us = [] { return std::optional<std::int64_t>(1); },
       .name_of = [](ObjectId) { return std::string_view("a name"); },
       .lists = [](const auto&, const stream::HttpRespond& respond) { respond({}); },
       .events = [](const auto&, const stream::HttpRespond& respond) { respond({}); },
       .socket = [](const auto&, const stream::HttpRespond& respond) { respond({}); },
       .page = [](const auto&) { return std::nullopt; },
       .metrics = [] { return std::string(); },
       .last_error = [] { return std::string(); }}};
};

}  // namespace

std::vector<std::string> seeds() {
  return {
      "POST "
      "/v1/objects\n[{\"id\":\"7\",\"x\":1,\"y\":2.5,\"time\":5,\"tags\":1},{\"id\":\"a\",\"x\":"
      "1,\"y\":2}]",
      "POST "
      "/v1/objects\n{\"id\":\"7\",\"x\":1,\"y\":2,\"z\":3,\"time\":\"2026-03-01T12:00:00.5Z\"}\n",
      "POST /v1/objects\n{\"id\":\"7\",\"lon\":1,\"lat\":2}\n\n{\"id\":\"b\",\"lon\":1,\"lat\":2,"
      "\"alt\":-1e3}\n",
      "DELETE /v1/objects/a%2Fb\n",
      "GET /v1/neighbors?k=3&x=1&y=-2.5e3&distance_max_m=7&age_max=30s\n",
      "GET /v1/neighbors?k=3&object=n%C3%B1&tags_required=1&tags_forbidden=2\n",
      "PUT /v1/streams/riders\n{\"on\":\"membership\",\"with\":[\"tags\",\"position\"]}",
      "PUT /v1/streams/riders/queries/1\n{\"k\":2,\"x\":1,\"y\":2,\"lease\":\"10s\",\"age_max\":7}",
      "PUT "
      "/v1/streams/riders/queries/q\n{\"k\":2,\"every_object\":true,\"subject_tags_required\":1}",
      "DELETE /v1/streams/riders/queries/1\n",
      "GET /v1/neighbors?k=3&lon=1&lat=2\napplication/geo+json;q=0.5, */*;q=0.1",
      "GET /v1/neighbors?k=3&vector=1,-2e3&distance_max=7&vote=true&regress=uniform\n",
      "GET /v1/objects/7\napplication/geo+json",
      "POST /v1/neighbors\n{\"k\":3,\"vector\":[1,-2e3],\"vote\":true,\"regress\":\"distance\"}",
      "POST /v1/neighbors\n{\"k\":3,\"object\":\"a\",\"age_max\":\"30s\",\"tags_required\":1}",
      "POST /v1/objects\n[{\"id\":\"7\",\"vector\":[1,2],\"label\":-3,\"value\":null},"
      "{\"id\":\"8\",\"vector\":[1,2],\"label\":null,\"value\":0.5}]",
      "PUT /v1/streams/riders/queries/1\n{\"k\":2,\"vector\":[1,2],\"distance_max\":1}",
      "GET /v1/streams\n",
      "GET /v1/streams/riders?queries=1,taxi\n",
      "GET /v1/streams/riders/events\n",
      "GET /v1/stats\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  static Routes routes[] = {Routes(Space::planar2), Routes(Space::planar3), Routes(Space::wgs84),
                            Routes(Space::vector)};
  const std::string_view input = text_of(data, size);
  const std::string_view line = input.substr(0, input.find('\n'));
  const std::string_view body = input.substr(std::min(input.size(), line.size() + 1));
  const std::string_view method = line.substr(0, line.find(' '));
  const std::string_view target = line.substr(std::min(line.size(), method.size() + 1));
  for (Routes& each : routes)
    for (const char* type : {"application/json", "application/x-ndjson"})
      each.ask(method, target, body, type);
  return 0;
}
