// SPDX-License-Identifier: Apache-2.0
// The routes of a stream's lists and events, and of WebSockets. They check the request and pass it
// to EventHub or SocketHub.
#include <array>
#include <string_view>
#include <utility>

#include "starling/stream/http/api.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/stream_questions.hpp"

namespace starling::stream {

namespace {

/// Reads query ids that are separated by commas.
std::vector<std::uint64_t> read_query_ids(std::string_view text, const protocol::Limits& limits) {
  std::vector<std::uint64_t> ids;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view id = text.substr(begin, end - begin);
    ids.push_back(to_number(read_object_id("A query's id in queries", id, limits)));
    begin = end + 1;
  }
  return ids;
}

}  // namespace

void HttpApi::get_stream(HttpCall call) {
  static constexpr auto known = std::to_array<std::string_view>({"queries"});
  const Parameters parameters(call.query, known);
  if (auto refusal = tokens_.check_stream(call.request.head.principal, call.names[0]))
    return call.respond(std::move(*refusal));
  ListsQuestion question{
      .reader = {call.request.head.principal, {call.request.head.payer, call.request.wait}},
      .stream = std::move(call.names[0])};
  if (const std::string* ids = parameters.find("queries"))
    question.query_ids = read_query_ids(*ids, parts_.limits);
  call.request.wait->on_end([] {});  // the lists are not fetched if the client leaves before
  parts_.lists(std::move(question), std::move(call.respond));
}

void HttpApi::get_events(HttpCall call) {
  const Parameters none(call.query, {});
  if (auto refusal = tokens_.check_stream(call.request.head.principal, call.names[0]))
    return call.respond(std::move(*refusal));
  parts_.events({.reader = {call.request.head.principal, {.payer = call.request.head.payer}},
                 .address = address_of(call.request.head.from.peer_address),
                 .stream = std::move(call.names[0]),
                 .last_event_id = std::move(call.request.head.last_event_id)},
                std::move(call.respond));
}

void HttpApi::get_socket(HttpCall call) {
  const Parameters none(call.query, {});
  parts_.socket(std::move(call.request.head), std::move(call.respond));
}

}  // namespace starling::stream
