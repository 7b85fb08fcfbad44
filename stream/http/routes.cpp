// SPDX-License-Identifier: Apache-2.0
// The entries of the table of routes: see routes.hpp. docs/http.md describes them for users.
#include "starling/stream/http/routes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "starling/stream/http/api.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

// Each route refuses malformed, foreign and too large requests, with 400, 413, 417, 421 or 431. All
// but /healthz refuse unknown tokens, with 401 or 429, and those that need a role refuse whoever
// has none, with 403.
constexpr auto health_statuses = std::to_array<unsigned>({200, 400, 413, 417, 421, 431, 503});
constexpr auto known_statuses = std::to_array<unsigned>({200, 400, 401, 413, 417, 421, 429, 431});
constexpr auto read_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 413, 417, 421, 429, 431});
constexpr auto busy_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 413, 417, 421, 429, 431, 503});
constexpr auto ask_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 406, 413, 417, 421, 429, 431, 503});
constexpr auto post_question_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 406, 411, 413, 415, 417, 421, 429, 431, 503});
constexpr auto find_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 406, 413, 417, 421, 429, 431, 503});
constexpr auto lists_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 413, 417, 421, 429, 431, 503});
constexpr auto events_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 413, 417, 421, 429, 431, 503});
constexpr auto socket_statuses =
    std::to_array<unsigned>({101, 400, 401, 403, 413, 417, 421, 426, 429, 431, 503});
constexpr auto remove_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 413, 417, 421, 429, 431, 503});
constexpr auto remove_object_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 413, 417, 421, 429, 431, 503});
constexpr auto playback_statuses =
    std::to_array<unsigned>({200, 400, 401, 404, 413, 417, 421, 429, 431});
constexpr auto put_playback_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 411, 413, 415, 417, 421, 429, 431});
constexpr auto put_stream_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 411, 413, 415, 417, 421, 429, 431, 503});
constexpr auto put_query_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 404, 411, 413, 415, 417, 421, 429, 431, 503});
constexpr auto post_statuses =
    std::to_array<unsigned>({200, 400, 401, 403, 411, 413, 415, 417, 421, 429, 431, 503});

constexpr auto table = std::to_array<Route>({
    {"GET", "/healthz", RouteAccess::open, RouteBody::none, health_statuses, &HttpApi::get_health},
    {"GET", "/metrics", RouteAccess::stats, RouteBody::none, read_statuses, &HttpApi::get_metrics},
    {"POST", "/v1/objects", RouteAccess::publish, RouteBody::json_or_lines, post_statuses,
     &HttpApi::post_objects},
    {"GET", "/v1/objects/{id}", RouteAccess::query, RouteBody::none, find_statuses,
     &HttpApi::get_object},
    {"DELETE", "/v1/objects/{id}", RouteAccess::publish, RouteBody::none, remove_object_statuses,
     &HttpApi::delete_object},
    {"GET", "/v1/neighbors", RouteAccess::query, RouteBody::none, ask_statuses,
     &HttpApi::get_neighbors},
    {"POST", "/v1/neighbors", RouteAccess::query, RouteBody::json, post_question_statuses,
     &HttpApi::post_neighbors},
    {"GET", "/v1/streams", RouteAccess::read, RouteBody::none, busy_statuses,
     &HttpApi::get_streams},
    {"GET", "/v1/streams/{name}", RouteAccess::subscribe, RouteBody::none, lists_statuses,
     &HttpApi::get_stream},
    {"GET", "/v1/streams/{name}/events", RouteAccess::subscribe, RouteBody::none, events_statuses,
     &HttpApi::get_events, true},
    {"PUT", "/v1/streams/{name}", RouteAccess::query, RouteBody::json, put_stream_statuses,
     &HttpApi::put_stream},
    {"DELETE", "/v1/streams/{name}", RouteAccess::query, RouteBody::none, remove_statuses,
     &HttpApi::delete_stream},
    {"PUT", "/v1/streams/{name}/queries/{id}", RouteAccess::query, RouteBody::json,
     put_query_statuses, &HttpApi::put_query},
    {"DELETE", "/v1/streams/{name}/queries/{id}", RouteAccess::query, RouteBody::none,
     remove_statuses, &HttpApi::delete_query},
    {"GET", "/v1/ws", RouteAccess::known, RouteBody::none, socket_statuses, &HttpApi::get_socket,
     true},
    {"GET", "/v1/stats", RouteAccess::stats, RouteBody::none, busy_statuses, &HttpApi::get_stats},
    {"GET", "/v1/playback", RouteAccess::known, RouteBody::none, playback_statuses,
     &HttpApi::get_playback},
    {"PUT", "/v1/playback", RouteAccess::tick, RouteBody::json, put_playback_statuses,
     &HttpApi::put_playback},
    {"GET", "/v1/network", RouteAccess::known, RouteBody::none, known_statuses,
     &HttpApi::get_network},
});

/// Takes the text up to the next '/' off `path`, which begins with '/'.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

/// Returns the texts that stand for the names in `pattern`, still encoded; std::nullopt if `path`
/// does not fit.
std::optional<std::vector<std::string_view>> match(std::string_view pattern,
                                                   std::string_view path) {
  std::vector<std::string_view> names;
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const std::string_view expected = take_segment(pattern);
    const std::string_view given = take_segment(path);
    if (expected.starts_with('{') && !given.empty())
      names.push_back(given);
    else if (expected != given)
      return std::nullopt;
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return names;
}

std::vector<std::string> decoded(const std::vector<std::string_view>& names) {
  std::vector<std::string> result;
  for (const std::string_view name : names) {
    auto text = percent_decoded(name, false);
    if (!text) throw BadRequest{"The names in a path must be percent-encoded UTF-8."};
    result.push_back(std::move(*text));
  }
  return result;
}

}  // namespace

Roles roles_of(RouteAccess access) {
  Roles roles;
  const auto add = [&](Role role) { roles.set(static_cast<std::size_t>(role)); };
  const bool is_reading = access == RouteAccess::read;
  if (access == RouteAccess::publish) add(Role::publish);
  if (access == RouteAccess::query || is_reading) add(Role::query);
  if (access == RouteAccess::subscribe || is_reading) add(Role::subscribe);
  if (access == RouteAccess::tick) add(Role::tick);
  if (access == RouteAccess::stats) add(Role::stats);
  return roles;
}

std::span<const Route> http_routes() {
  return table;
}

RouteMatch find_route(std::string_view method, std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  RouteMatch found;
  if (path.size() < target.size()) found.query = target.substr(path.size() + 1);
  const std::string_view sought = method == "HEAD" ? "GET" : method;
  for (const Route& route : table) {
    const auto names = match(route.path, path);
    if (!names) continue;
    found.allowed.append(found.allowed.empty() ? "" : ", ")
        .append(route.is_change() ? route.method : "GET, HEAD");
    if (route.method != sought) continue;
    found.route = &route;
    found.names = decoded(*names);
  }
  return found;
}

}  // namespace starling::stream
