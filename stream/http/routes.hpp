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

/// A request on its way through a route.
struct HttpCall {
  HttpRequest request;
  std::vector<std::string> names;  ///< what stands for {id} and the like in the path, decoded
  std::string query;               ///< the part of the target after '?'
  HttpRespond respond;
};

/// Which body a route reads.
enum class RouteBody : std::uint8_t { none, json, json_or_lines };

/// Who may use a route, if the server has keys. The wire has further rules for the requests that a
/// route sends.
enum class RouteAccess : std::uint8_t {
  open,     ///< every request, also without a token
  known,    ///< every principal
  publish,  ///< the role of this name
  query,
  subscribe,
  tick,
  stats,
  read,  ///< query or subscribe
};
/// The roles of which a principal needs one. Empty: it needs none.
Roles roles_of(RouteAccess access);

struct Route {
  std::string_view method;  ///< a route for GET also answers HEAD
  std::string_view path;    ///< a path such as "/v1/objects/{id}"
  RouteAccess access = RouteAccess::known;
  RouteBody body = RouteBody::none;
  /// What only this route answers: its success, and what it finds out itself. 0: no status.
  std::array<unsigned, 4> own_statuses{};
  void (HttpApi::*run)(HttpCall) = nullptr;
  /// The answer takes a place until its reader leaves, so foreign pages must not ask for it.
  bool has_no_end = false;

  /// A question with a body is guarded as a change is.
  bool is_change() const { return method != "GET"; }
  /// Pages of other origins must not send such a request.
  bool is_guarded() const { return is_change() || has_no_end; }
  /// Returns all statuses that an answer may have, in ascending order. Most follow from `access`
  /// and `body`.
  std::vector<unsigned> statuses() const;
};

std::span<const Route> http_routes();

/// The result of find_route().
struct RouteMatch {
  const Route* route = nullptr;      ///< nullptr: no route has this path and this method
  std::string allowed{};             ///< the methods that the path has, as in Allow; empty: none
  std::vector<std::string> names{};  ///< see HttpCall
  std::string_view query{};          ///< a part of the target
};

/// Throws BadRequest if a name in the path is not percent-encoded UTF-8.
RouteMatch find_route(std::string_view method, std::string_view target);

}  // namespace starling::stream
