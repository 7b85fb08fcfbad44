// SPDX-License-Identifier: Apache-2.0
// Reads tokens, and compares roles with the table of routes: see token_gate.hpp.
#include "starling/stream/http/token_gate.hpp"

#include <utility>

#include <boost/beast/core/string.hpp>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/access/rights.hpp"
#include "starling/stream/http/problem.hpp"

namespace starling::stream {

namespace {

constexpr std::string_view scheme = "Bearer ";
// The audit log's limit of lines counts all requests over HTTP as one connection.
constexpr std::uint64_t http_connection = 0;

/// Returns the token in a WebSocket's list of protocols.
std::optional<std::string_view> token_of_protocols(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view each = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    each.remove_prefix(std::min(each.find_first_not_of(" \t"), each.size()));
    if (each.starts_with(token_protocol))
      return each.substr(token_protocol.size(),
                         each.find_last_not_of(" \t") + 1 - token_protocol.size());
  }
  return std::nullopt;
}

/// Returns the token of a request; empty: its Authorization field has no bearer token;
/// std::nullopt: the request has neither the field nor a token among its WebSocket protocols.
std::optional<std::string_view> token_of(const HttpHead& head) {
  const std::string_view field = head.authorization;
  if (field.empty()) return token_of_protocols(head.websocket_protocol);
  const bool is_bearer =
      field.size() > scheme.size() &&
      boost::beast::iequals({field.data(), scheme.size()}, {scheme.data(), scheme.size()});
  return is_bearer ? field.substr(scheme.size()) : std::string_view();
}

}  // namespace

TokenGate::TokenGate(Parts parts) : parts_(std::move(parts)), wrong_tokens_(parts_.wrong_tokens) {}

std::optional<HttpAnswer> TokenGate::check(HttpHead& head, const Route& route) {
  if (!has_keys() || route.access == RouteAccess::open) return std::nullopt;
  const auto token = token_of(head);
  const KeyRing& ring = parts_.access->ring();
  std::shared_ptr<const Principal> principal;
  if (token) {
    const auto id = token->empty() ? std::nullopt : ring.by_token(*token);
    if (id) principal = ring.principal(*id);
  } else if (head.from.is_local && !head.is_forwarded) {
    principal = ring.principal(PrincipalId::anonymous);
  }
  if (principal == nullptr) return refuse(head, token.has_value());
  head.principal = principal->id;
  const Roles roles = roles_of(route.access);
  if (has_one_of(*principal, roles)) return std::nullopt;
  const std::string what = std::string(route.method) + " " + std::string(route.path);
  const protocol::Problem problem = lacks_role(*principal, what, roles);
  parts_.access->audit().refused(principal->name, what, problem.sentence, http_connection);
  return problem_answer(problem);
}

HttpAnswer TokenGate::refuse(const HttpHead& head, bool has_token) {
  ++refused_;
  const std::int64_t now_us = steady_now_us();
  wrong_tokens_.expire(now_us);
  const std::uint64_t address = std::hash<std::string>()(head.from.peer_address);
  if (has_token && !wrong_tokens_.take(address, now_us))
    return problem_answer(429,
                          "Too many requests from this address had a wrong token. Try again in a "
                          "second, with a right one.");
  parts_.access->audit().unknown_token(head.from.peer_address);
  HttpAnswer answer = problem_answer(
      401, has_token
               ? "The server does not know this token, or it was revoked. Use a token that its "
                 "operator has given you (Authorization: Bearer TOKEN)."
               : "This server has keys. Use a token that its operator has given you "
                 "(Authorization: Bearer TOKEN).");
  answer.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"starling\"");
  return answer;
}

std::optional<HttpAnswer> TokenGate::check_stream(PrincipalId id, std::string_view stream) const {
  if (!has_keys()) return std::nullopt;
  const auto problem =
      parts_.access->refusal_of(id, protocol::GetSnapshot{.stream = stream}, http_connection);
  if (!problem) return std::nullopt;
  return problem_answer(*problem);
}

std::optional<HttpAnswer> TokenGate::check_again(PrincipalId id) const {
  if (!has_keys() || parts_.access->ring().principal(id) != nullptr) return std::nullopt;
  HttpAnswer answer = problem_answer(401, "The token was revoked meanwhile.");
  answer.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"starling\"");
  return answer;
}

}  // namespace starling::stream
