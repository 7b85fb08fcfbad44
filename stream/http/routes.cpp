// SPDX-License-Identifier: Apache-2.0
// The entries of the table of routes: see routes.hpp. docs/http.md describes them for users.
#include "starling/stream/http/routes.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "starling/stream/http/api.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

template <class... Status>
constexpr std::array<unsigned, 4> own(Status... statuses) {
  return {static_cast<unsigned>(statuses)...};
}

constexpr auto table = std::to_array<Route>({
    {"GET", "/healthz", RouteAccess::open, RouteBody::none, own(200, 503), &HttpApi::get_health},
    {"GET", "/metrics", RouteAccess::stats, RouteBody::none, own(200), &HttpApi::get_metrics},
    {"POST", "/v1/objects", RouteAccess::publish, RouteBody::json_or_lines, own(200, 503),
     &HttpApi::post_objects},
    {"GET", "/v1/objects/{id}", RouteAccess::query, RouteBody::none, own(200, 404, 406, 503),
     &HttpApi::get_object},
    {"DELETE", "/v1/objects/{id}", RouteAccess::publish, RouteBody::none, own(200, 503),
     &HttpApi::delete_object},
    {"GET", "/v1/neighbors", RouteAccess::query, RouteBody::none, own(200, 404, 406, 503),
     &HttpApi::get_neighbors},
    {"POST", "/v1/neighbors", RouteAccess::query, RouteBody::json, own(200, 404, 406, 503),
     &HttpApi::post_neighbors},
    {"GET", "/v1/streams", RouteAccess::read, RouteBody::none, own(200, 503),
     &HttpApi::get_streams},
    {"GET", "/v1/streams/{name}", RouteAccess::subscribe, RouteBody::none, own(200, 404, 503),
     &HttpApi::get_stream},
    {"GET", "/v1/streams/{name}/events", RouteAccess::subscribe, RouteBody::none,
     own(200, 404, 503), &HttpApi::get_events, true},
    {"PUT", "/v1/streams/{name}", RouteAccess::query, RouteBody::json, own(200, 503),
     &HttpApi::put_stream},
    {"DELETE", "/v1/streams/{name}", RouteAccess::query, RouteBody::none, own(200, 404, 503),
     &HttpApi::delete_stream},
    {"PUT", "/v1/streams/{name}/queries/{id}", RouteAccess::query, RouteBody::json,
     own(200, 404, 503), &HttpApi::put_query},
    {"DELETE", "/v1/streams/{name}/queries/{id}", RouteAccess::query, RouteBody::none,
     own(200, 404, 503), &HttpApi::delete_query},
    {"GET", "/v1/ws", RouteAccess::known, RouteBody::none, own(101, 426, 503), &HttpApi::get_socket,
     true},
    {"GET", "/v1/stats", RouteAccess::stats, RouteBody::none, own(200, 503), &HttpApi::get_stats},
    {"GET", "/v1/playback", RouteAccess::known, RouteBody::none, own(200, 404),
     &HttpApi::get_playback},
    {"PUT", "/v1/playback", RouteAccess::tick, RouteBody::json, own(200, 404),
     &HttpApi::put_playback},
    {"GET", "/v1/network", RouteAccess::known, RouteBody::none, own(200), &HttpApi::get_network},
});

/// Removes the first segment, with the '/' before it, from `path`. Returns the segment without '/'.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

/// Returns the segments of `path` at the places of {id} and {name} in `pattern`, still
/// percent-encoded; std::nullopt if `path` does not match.
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

std::vector<unsigned> Route::statuses() const {
  // Any request may be malformed, foreign or too large.
  std::vector<unsigned> all{400, 413, 417, 421, 431};
  const auto add = [&](std::initializer_list<unsigned> more) { all.insert(all.end(), more); };
  if (access != RouteAccess::open) add({401, 429});
  if (roles_of(access).any() || is_guarded()) add({403});
  if (body != RouteBody::none) add({411, 415});
  std::ranges::copy_if(own_statuses, std::back_inserter(all),
                       [](unsigned status) { return status != 0; });
  std::ranges::sort(all);
  return all;
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
