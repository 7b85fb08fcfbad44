// SPDX-License-Identifier: Apache-2.0
// The table of the HTTP endpoint's routes, and the search in it. docs/openapi.json describes the
// same routes and statuses; a test compares the two. HttpApi carries the routes out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/stream/access/principal.hpp"
#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

class HttpApi;

/// A request, with the parts of its target, that a route of HttpApi takes.
struct HttpCall {
  HttpRequest request;
  std::vector<std::string> names;  ///< texts at {id} and {name} in the path, decoded
  std::string query;               ///< the part of the target after '?'
  HttpRespond respond;
};

/// The body that a route reads. json_or_lines: JSON, or one JSON object a line.
enum class RouteBody : std::uint8_t { none, json, json_or_lines };

/// The clients that may use a route, if the server has keys. The server also checks the requests of
/// the wire that a route sends.
enum class RouteAccess : std::uint8_t {
  open,   ///< every client, also without a token
  known,  ///< every principal
  // A principal needs the role of the same name.
  publish,
  query,
  subscribe,
  tick,
  stats,
  read,  ///< principals with the role query or subscribe
};
/// Returns the roles that permit a route; a principal needs only one of them. Empty: it needs none.
Roles roles_of(RouteAccess access);

struct Route {
  std::string_view method;  ///< a route for GET also answers HEAD
  std::string_view path;    ///< a path such as "/v1/objects/{id}"
  RouteAccess access = RouteAccess::known;
  RouteBody body = RouteBody::none;
  /// The statuses that do not follow from `access` and `body`: success, and what the route finds.
  /// 0: no status.
  std::array<unsigned, 4> own_statuses{};
  void (HttpApi::*run)(HttpCall) = nullptr;
  /// The answer goes on until its reader leaves. Readers are limited, so pages of other origins
  /// must not ask for it.
  bool has_no_end = false;

  /// Returns true for all methods but GET. A question with a body counts as a change, too.
  bool is_change() const { return method != "GET"; }
  /// Returns whether pages of other origins must not send the request.
  bool is_guarded() const { return is_change() || has_no_end; }
  /// Returns all statuses that an answer may have, in ascending order. Most follow from `access`
  /// and `body`.
  std::vector<unsigned> statuses() const;
};

std::span<const Route> http_routes();

/// The result of find_route().
struct RouteMatch {
  const Route* route = nullptr;      ///< nullptr: no route has this path and this method
  std::string allowed{};             ///< the path's methods, as in Allow; empty: unknown path
  std::vector<std::string> names{};  ///< HttpCall::names
  std::string_view query{};          ///< HttpCall::query; points into the target
};

/// Finds the route of a request. Throws BadRequest if a name in the path is not percent-encoded
/// UTF-8.
RouteMatch find_route(std::string_view method, std::string_view target);

}  // namespace starling::stream
