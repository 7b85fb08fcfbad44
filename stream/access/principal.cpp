// SPDX-License-Identifier: Apache-2.0
// Compares names and ids with the patterns and ranges of a principal: see principal.hpp.
#include "starling/stream/access/principal.hpp"

#include <algorithm>
#include <array>

namespace starling::stream {

namespace {

constexpr std::array<std::string_view, role_count> role_names{"publish", "query", "subscribe",
                                                              "tick",    "stats", "admin"};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool holds(const std::vector<IdRange>& ranges, std::uint64_t id) {
  return ranges.empty() || std::ranges::any_of(ranges, [id](const IdRange& range) {
           return range.first <= id && id <= range.last;
         });
}

}  // namespace

std::string_view name_of(Role role) {
  return role_names[static_cast<std::size_t>(role)];
}

std::optional<Role> role_of(std::string_view name) {
  const auto found = std::ranges::find(role_names, name);
  if (found == role_names.end()) return std::nullopt;
  return static_cast<Role>(found - role_names.begin());
}

bool Principal::may_use_stream(std::string_view stream) const {
  return streams.empty() || std::ranges::any_of(streams, [stream](const std::string& pattern) {
           return matches(pattern, stream);
         });
}

// A subscription gets every topic that begins with its text. The topic of a stream is its name and
// a NUL, so a text without a NUL gets all streams whose names begin with it.
bool Principal::may_subscribe(std::string_view topic) const {
  if (!has(Role::subscribe)) return false;
  const std::size_t end = topic.find('\0');
  if (end != std::string_view::npos) return may_use_stream(topic.substr(0, end));
  return streams.empty() || std::ranges::any_of(streams, [topic](const std::string& pattern) {
           return pattern.ends_with('*') && matches(pattern, topic);
         });
}

bool Principal::may_use_object(std::uint64_t object) const {
  return holds(objects, object);
}

bool Principal::may_use_query(std::uint64_t query) const {
  return holds(queries, query);
}

Principal everybody() {
  Principal principal;
  principal.name = anonymous_name;
  principal.roles.set();
  return principal;
}

}  // namespace starling::stream
