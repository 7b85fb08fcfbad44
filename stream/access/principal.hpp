// SPDX-License-Identifier: Apache-2.0
// A principal: a client that has a key or a token, with its rights and quotas. KeyRing holds the
// principals of a server.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

using zmtp::PrincipalId;

enum class Role : std::uint8_t {
  publish,    ///< updates of objects, and their tags and names
  query,      ///< standing queries, streams and questions
  subscribe,  ///< lists of streams, as ticks and as snapshots
  tick,       ///< the start of manual ticks
  stats,      ///< figures of the server
  admin,      ///< all roles, and changes of what other principals own
};
inline constexpr std::size_t role_count = 6;
using Roles = std::bitset<role_count>;

/// The name of the role in the keys file, such as "publish".
std::string_view name_of(Role role);
std::optional<Role> role_of(std::string_view name);

/// Ids from `first` to `last`, both included.
struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t last = UINT64_MAX;
  bool operator==(const IdRange&) const = default;
};

/// How much of the server a principal may use. std::nullopt: only the server's own limits count.
struct Quotas {
  // Connections that are open at the same time: to the commands endpoint, to the results endpoint,
  // as WebSockets and as readers of events
  std::optional<std::uint64_t> connections;
  std::optional<std::uint64_t> subscribers;
  std::optional<std::uint64_t> websockets;
  std::optional<std::uint64_t> event_readers;
  std::optional<std::uint64_t> sessions;   ///< sessions that are open at the same time
  std::optional<std::uint64_t> queries;    ///< standing queries
  std::optional<std::uint64_t> neighbors;  ///< the sum of k of its standing queries
  std::optional<std::uint64_t> streams;
  std::optional<std::uint64_t> names;
  std::optional<std::uint64_t> snapshot_bytes;  ///< bytes of the snapshots kept for the principal
  /// Bytes of replies that wait to be sent, on all connections of the principal together.
  std::optional<std::uint64_t> reply_bytes;
  std::optional<std::uint64_t> rows_per_second;  ///< rows of updates, tags, removals and queries
  /// Milliseconds of the loop's time; at most 1000.
  std::optional<std::uint64_t> loop_ms_per_second;
};

struct Principal {
  PrincipalId id = PrincipalId::anonymous;
  std::string name;
  Roles roles;
  /// Patterns of stream names. A `*` at the end stands for any text. Empty: all streams.
  std::vector<std::string> streams;
  std::vector<IdRange> objects;  ///< ids that it may publish, name and remove. Empty: all
  std::vector<IdRange> queries;  ///< ids that its standing queries may have. Empty: all
  Quotas quotas;

  bool has(Role role) const {
    return roles[static_cast<std::size_t>(Role::admin)] || roles[static_cast<std::size_t>(role)];
  }
  bool may_use_stream(std::string_view name) const;
  /// Returns whether the principal may subscribe to all topics of the results endpoint that begin
  /// with `topic`. A topic of a name and a NUL is one stream. A topic without a NUL, such as the
  /// empty topic, is every stream whose name begins with the topic. One pattern with a `*` must
  /// match all these names.
  bool may_subscribe(std::string_view topic) const;
  bool may_use_object(std::uint64_t id) const;
  bool may_use_query(std::uint64_t id) const;
};

/// The name of the principal of requests without a key or token. No other principal may have it.
inline constexpr std::string_view anonymous_name = "anonymous";

/// The principal of every request to a server without a keys file. It may do everything.
Principal everybody();

}  // namespace starling::stream
