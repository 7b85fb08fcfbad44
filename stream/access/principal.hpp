// SPDX-License-Identifier: Apache-2.0
// A principal: a client that has a key or a token, and what it may do. KeyRing holds the
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
  publish,    ///< objects, their tags and names
  query,      ///< standing queries, streams and questions
  subscribe,  ///< lists of streams, as ticks and as snapshots
  tick,       ///< begins manual ticks
  stats,      ///< figures of the server
  admin,      ///< all of it, also on what others own
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

/// What a principal may take of the server. std::nullopt: only the server's own limits count.
struct Quotas {
  std::optional<std::uint64_t> sessions;   ///< open at a time
  std::optional<std::uint64_t> queries;    ///< standing queries
  std::optional<std::uint64_t> neighbors;  ///< the sum of k of its standing queries
  std::optional<std::uint64_t> streams;
  std::optional<std::uint64_t> names;
  std::optional<std::uint64_t> snapshot_bytes;  ///< bytes of snapshots that are kept for it
  /// Bytes of replies that wait for all its connections together.
  std::optional<std::uint64_t> reply_bytes;
  std::optional<std::uint64_t> rows_per_second;  ///< rows of updates, tags, removals and queries
  /// Milliseconds of the loop's time; at most 1000.
  std::optional<std::uint64_t> loop_ms_per_second;
};

struct Principal {
  PrincipalId id = PrincipalId::anonymous;
  std::string name;
  Roles roles;
  /// Names of streams. A `*` at the end of a pattern stands for any text. Empty: all streams.
  std::vector<std::string> streams;
  std::vector<IdRange> objects;  ///< ids that it may publish, name and remove. Empty: all
  std::vector<IdRange> queries;  ///< ids that its standing queries may have. Empty: all
  Quotas quotas;

  bool has(Role role) const {
    return roles[static_cast<std::size_t>(Role::admin)] || roles[static_cast<std::size_t>(role)];
  }
  bool may_use_stream(std::string_view name) const;
  /// Returns whether the principal may subscribe to all topics of the results endpoint that begin
  /// with `topic`. A name and a NUL is one stream. A shorter text, such as the empty one, is every
  /// stream whose name begins with it: a pattern with a `*` must cover all of them.
  bool may_subscribe(std::string_view topic) const;
  bool may_use_object(std::uint64_t id) const;
  bool may_use_query(std::uint64_t id) const;
};

/// The name of principals without a key or token. No other principal may have it.
inline constexpr std::string_view anonymous_name = "anonymous";

/// The principal of every request to a server without a keys file. It may do everything.
Principal everybody();

}  // namespace starling::stream
