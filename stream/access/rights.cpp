// SPDX-License-Identifier: Apache-2.0
// The table of requests and the roles that they need, and the refusals: see rights.hpp.
#include "starling/stream/access/rights.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace starling::stream {

using protocol::ErrorCode;
using protocol::Problem;
using protocol::RowReason;

namespace {

Roles any_of(std::initializer_list<Role> roles) {
  Roles set;
  for (const Role role : roles) set.set(static_cast<std::size_t>(role));
  return set;
}

/// A row of the table: the name of a request in the schema, and the roles that permit the request.
/// A principal needs only one of them.
struct Needs {
  std::string_view name;
  Roles roles;
};

const Roles no_role{};
const Roles publish_role = any_of({Role::publish});
const Roles query_role = any_of({Role::query});
const Roles subscribe_role = any_of({Role::subscribe});
const Roles reading_roles = any_of({Role::query, Role::subscribe});
const Roles stats_role = any_of({Role::stats});
const Roles tick_role = any_of({Role::tick});

// Each function is a row of the table. A request type without a row does not compile.
Needs needs_of(const protocol::Hello&) {
  return {"Hello", no_role};
}
Needs needs_of(const protocol::EndSession&) {
  return {"EndSession", no_role};
}
Needs needs_of(const protocol::UpdateBatch&) {
  return {"UpdateBatch", publish_role};
}
Needs needs_of(const protocol::UpdateTags&) {
  return {"UpdateTags", publish_role};
}
Needs needs_of(const protocol::RemoveObjects&) {
  return {"RemoveObjects", publish_role};
}
Needs needs_of(const protocol::PutNames&) {
  return {"PutNames", publish_role};
}
Needs needs_of(const protocol::PutStream&) {
  return {"PutStream", query_role};
}
Needs needs_of(const protocol::RemoveStream&) {
  return {"RemoveStream", query_role};
}
Needs needs_of(const protocol::PutQueries&) {
  return {"PutQueries", query_role};
}
Needs needs_of(const protocol::RemoveQueries&) {
  return {"RemoveQueries", query_role};
}
Needs needs_of(const protocol::GetNeighbors&) {
  return {"GetNeighbors", query_role};
}
Needs needs_of(const protocol::GetObjects&) {
  return {"GetObjects", query_role};
}
Needs needs_of(const protocol::GetSnapshot&) {
  return {"GetSnapshot", subscribe_role};
}
Needs needs_of(const protocol::ReportReceived&) {
  return {"ReportReceived", subscribe_role};
}
Needs needs_of(const protocol::ListStreams&) {
  return {"ListStreams", reading_roles};
}
Needs needs_of(const protocol::ListQueries&) {
  return {"ListQueries", reading_roles};
}
Needs needs_of(const protocol::GetNames&) {
  return {"GetNames", reading_roles};
}
Needs needs_of(const protocol::GetStats&) {
  return {"GetStats", stats_role};
}
Needs needs_of(const protocol::AdvanceTick&) {
  return {"AdvanceTick", tick_role};
}
Needs needs_of(const protocol::View&) {
  return {"View", query_role};
}
Needs needs_of(const protocol::EndView&) {
  return {"EndView", no_role};
}
Needs needs_of(const protocol::Follow&) {
  return {"Follow", subscribe_role};
}
Needs needs_of(const protocol::EndFollow&) {
  return {"EndFollow", no_role};
}

/// Returns the stream that a request names; std::nullopt if it names no stream.
template <class Body>
std::optional<std::string_view> stream_of(const Body& body) {
  return std::visit(
      [](const auto& request) -> std::optional<std::string_view> {
        using Request = std::decay_t<decltype(request)>;
        if constexpr (std::is_same_v<Request, protocol::PutStream> ||
                      std::is_same_v<Request, protocol::RemoveStream>)
          return request.name;
        else if constexpr (requires { request.stream; })
          return request.stream;
        else
          return std::nullopt;
      },
      body);
}

Problem gone() {
  return {ErrorCode::not_allowed,
          "The server's keys file has no principal for this connection; ask the server's owner to "
          "add your key to it."};
}

Problem lacks_stream(const Principal& principal, std::string_view stream) {
  return {ErrorCode::not_allowed,
          "\"" + principal.name + "\" may not use the stream \"" + std::string(stream) +
              "\"; ask the server's owner to add a pattern that it matches to the streams of \"" +
              principal.name + "\" in the keys file."};
}

template <class Body>
std::optional<Problem> refusal(const Principal* principal, const Body& body) {
  const Roles needed = roles_for(body);
  if (principal == nullptr) return gone();
  if (!has_one_of(*principal, needed)) return lacks_role(*principal, name_of(body), needed);
  if (const auto stream = stream_of(body); stream && !principal->may_use_stream(*stream))
    return lacks_stream(*principal, *stream);
  return std::nullopt;
}

/// Sets the reason of each row that `may_use` rejects, and calls keep(from, to) for each kept row
/// that moves to an earlier place. Returns the number of kept rows.
template <class Row, class MayUse, class Keep>
std::size_t reject(protocol::RowSet<Row>& set, MayUse may_use, Keep keep) {
  std::size_t kept = 0;
  std::size_t next = 0;
  for (RowReason& reason : set.reasons) {
    if (reason != RowReason::none) continue;
    if (!may_use(set.rows[next])) {
      reason = RowReason::not_allowed;
    } else {
      if (kept != next) keep(next, kept);
      ++kept;
    }
    ++next;
  }
  return kept;
}

template <class Row, class MayUse>
void reject(protocol::RowSet<Row>& set, MayUse may_use) {
  const std::size_t kept = reject(set, may_use, [&](std::size_t from, std::size_t to) {
    set.rows[to] = std::move(set.rows[from]);
  });
  set.rows.resize(kept);
}

template <class MayUse>
void reject(protocol::VectorRowSet& set, MayUse may_use) {
  const std::size_t dimension = set.dimension;
  protocol::RowSet<VectorUpdate>& rows = set;
  const std::size_t kept = reject(rows, may_use, [&](std::size_t from, std::size_t to) {
    set.rows[to] = set.rows[from];
    std::copy_n(set.components.begin() + static_cast<std::ptrdiff_t>(from * dimension), dimension,
                set.components.begin() + static_cast<std::ptrdiff_t>(to * dimension));
  });
  set.rows.resize(kept);
  set.components.resize(kept * dimension);
}

}  // namespace

bool has_one_of(const Principal& principal, const Roles& roles) {
  return roles.none() || principal.has(Role::admin) || (roles & principal.roles).any();
}

std::string text_of(const Roles& roles) {
  std::string text;
  for (std::size_t index = 0; index < role_count; ++index) {
    if (!roles[index]) continue;
    if (!text.empty()) text += " or ";
    text += name_of(static_cast<Role>(index));
  }
  return text;
}

Problem lacks_role(const Principal& principal, std::string_view what, const Roles& roles) {
  return {ErrorCode::not_allowed, std::string(what) + " needs the role " + text_of(roles) +
                                      ", which \"" + principal.name +
                                      "\" does not have; ask the server's owner to add it to the "
                                      "roles of \"" +
                                      principal.name + "\" in the keys file."};
}

Roles roles_for(const protocol::RequestBody& body) {
  return std::visit([](const auto& request) { return needs_of(request).roles; }, body);
}

Roles roles_for(const protocol::SocketBody& body) {
  return std::visit([](const auto& request) { return needs_of(request).roles; }, body);
}

std::string_view name_of(const protocol::RequestBody& body) {
  return std::visit([](const auto& request) { return needs_of(request).name; }, body);
}

std::string_view name_of(const protocol::SocketBody& body) {
  return std::visit([](const auto& request) { return needs_of(request).name; }, body);
}

std::optional<Problem> refusal_of(const Principal* principal, const protocol::RequestBody& body) {
  return refusal(principal, body);
}

std::optional<Problem> refusal_of(const Principal* principal, const protocol::SocketBody& body) {
  return refusal(principal, body);
}

void reject_foreign_rows(const Principal& principal, protocol::PreparedRows& rows) {
  const auto may_use_object = [&](const auto& row) {
    return principal.may_use_object(to_number(row.id));
  };
  const auto may_use_query = [&](const QueryDefinition& row) {
    return principal.may_use_query(to_number(row.id));
  };
  std::visit(
      [&](auto& set) {
        using Set = std::decay_t<decltype(set)>;
        if constexpr (std::is_same_v<Set, protocol::RowSet<QueryDefinition>>) {
          if (!principal.queries.empty()) reject(set, may_use_query);
        } else if constexpr (!std::is_same_v<Set, std::monostate>) {
          if (!principal.objects.empty()) reject(set, may_use_object);
        }
      },
      rows);
}

}  // namespace starling::stream
