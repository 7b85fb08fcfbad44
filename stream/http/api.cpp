// SPDX-License-Identifier: Apache-2.0
// Admits requests and passes them to their routes: see api.hpp. The routes of objects, neighbours
// and streams have files of their own.
#include "starling/stream/http/api.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "starling/knn/base/json_text.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/http/media_types.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

/// Bodies of objects that wait or are carried out. A connection has one, and one that was dropped
/// waits for its turn, too.
constexpr std::size_t bodies_max = 1024;
/// Each takes some times its bytes.
constexpr std::size_t bodies_at_once = 4;

std::optional<HttpAnswer> check_body(const Route& route, const HttpHead& head) {
  if (route.body == RouteBody::none) return std::nullopt;
  if (!head.has_length)
    return problem_answer(411, "Send a body, with its Content-Length or in chunks.");
  const std::string type = media_type_of(head.content_type);
  const bool takes_lines = route.body == RouteBody::json_or_lines;
  if (type == "application/json" || (takes_lines && is_json_lines(type))) return std::nullopt;
  return problem_answer(
      415, std::string("Send the body with Content-Type: application/json") +
               (takes_lines ? ", or application/x-ndjson for one object a line." : "."));
}

std::optional<HttpAnswer> check_route(const RouteMatch& match, const HttpHead& head) {
  if (match.route != nullptr) return check_body(*match.route, head);
  if (match.allowed.empty())
    return problem_answer(404,
                          "There is nothing at this path. docs/http.md lists the paths, such "
                          "as /healthz, /metrics and /v1/neighbors.");
  HttpAnswer answer = problem_answer(405, "This path allows only " + match.allowed + ".");
  answer.fields.emplace_back("Allow", match.allowed);
  return answer;
}

}  // namespace

HttpApi::HttpApi(Parts parts)
    : parts_(std::move(parts)),
      gatekeeper_(parts_.gatekeeper),
      tokens_(parts_.tokens),
      bodies_(std::make_shared<FairJobs>(
          FairJobs::Limits{.jobs_max = bodies_max,
                           .running_max = bodies_at_once,
                           .running_us_enough = std::numeric_limits<std::int64_t>::max()})) {}

WireGateway& HttpApi::gateway(PrincipalId principal) {
  return gateways_.try_emplace(principal, parts_.loop, parts_.deliver, principal).first->second;
}

WireClient HttpApi::client_of(const HttpCall& call) {
  return {gateway(call.request.head.principal), {call.request.head.payer, call.request.wait}};
}

/// Without a key, the address pays, and its connections share what it gets.
Payer HttpApi::payer_of(const HttpHead& head) const {
  return {owner_of(head.principal, address_of(std::string_view(head.from.peer_address))),
          head.from.connection};
}

std::shared_ptr<const void> HttpApi::reply_owner() const {
  for (const auto& [principal, gateway] : gateways_)
    if (const auto& owner = gateway.reply_owner()) return owner;
  return nullptr;
}

std::optional<HttpAnswer> HttpApi::admit(HttpHead& head) {
  if (auto refusal = gatekeeper_.check_host(head)) return refusal;
  try {
    const RouteMatch match = find_route(head.method, head.target);
    if (match.route != nullptr && match.route->is_guarded())
      if (auto refusal = gatekeeper_.check_origin(head)) return refusal;
    if (match.route != nullptr)
      if (auto refusal = tokens_.check(head, *match.route)) return refusal;
    head.payer = payer_of(head);
    if (match.route == nullptr && match.allowed.empty())
      if (auto file = parts_.page(head)) return file;
    return check_route(match, head);
  } catch (const BadRequest& bad) {
    return problem_answer(bad.status, bad.sentence);
  }
}

void HttpApi::handle(HttpRequest request, HttpRespond respond) {
  RouteMatch match = find_route(request.head.method, request.head.target);
  std::string query(match.query);
  if (match.route->access != RouteAccess::open)
    if (auto refusal = tokens_.check_again(request.head.principal))
      return respond(std::move(*refusal));
  try {
    (this->*match.route->run)(
        {std::move(request), std::move(match.names), std::move(query), respond});
  } catch (const BadRequest& bad) {
    respond(problem_answer(bad.status, bad.sentence));
  }
}

void HttpApi::get_health(HttpCall call) {
  constexpr std::array<std::string_view, 1> known{"ready"};
  const bool asks_readiness =
      call.query == "ready" ||
      Parameters(call.query, known).get("ready", parse_bool, "true or false").value_or(false);
  const std::string error = parts_.last_error();
  if (!error.empty())
    return call.respond({.status = 503, .body = "the last tick failed: " + error + "\n"});
  if (asks_readiness && parts_.is_log_full())
    return call.respond({.status = 503,
                         .body = "the disk of the server's log is full: changes are refused and no "
                                 "tick begins; free space there\n"});
  call.respond({.body = "ok\n"});
}

void HttpApi::get_metrics(HttpCall call) {
  call.respond(
      {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = parts_.metrics()});
}

void HttpApi::get_network(HttpCall call) {
  const Parameters none(call.query, {});
  call.respond({.content_type = "application/json",
                .body = parts_.network ? *parts_.network : "{\"name\":\"\",\"lines\":[]}\n"});
}

void HttpApi::get_stats(HttpCall call) {
  const Parameters none(call.query, {});
  client_of(call).send([] { return protocol::GetStats{}; },
                       [respond = call.respond](const protocol::ReplyBody& reply) {
                         const auto* stats = std::get_if<protocol::Stats>(&reply);
                         if (stats == nullptr) return respond(refusal_answer(reply));
                         JsonText json;
                         json.begin_object().key("counters").begin_object();
                         for (const protocol::Counter& counter : stats->counters)
                           if (std::isfinite(counter.value))
                             json.key(counter.name).number(counter.value);
                         json.end_object().end_object();
                         respond(json_answer(json));
                       });
}

std::int64_t HttpApi::base_time_us() const {
  const auto base_us = parts_.base_time_us();
  if (!base_us)
    throw BadRequest{
        "A change without a time gets the time of the last tick, and there was no tick yet; give "
        "each object a time, or advance a tick first."};
  return *base_us;
}

void HttpApi::send_one_row(const WireClient& client, WireGateway::Make make, std::string_view what,
                           HttpRespond respond) {
  client.send(std::move(make), [respond = std::move(respond),
                                what = std::string(what)](const protocol::ReplyBody& reply) {
    const auto* batch = std::get_if<protocol::BatchReply>(&reply);
    if (batch == nullptr) return respond(refusal_answer(reply));
    if (batch->rejected > 0) return respond(rejected_answer(what, *batch));
    RowOutcomes outcomes;
    outcomes.add(*batch, {});
    respond(outcomes.answer());
  });
}

}  // namespace starling::stream
