// SPDX-License-Identifier: Apache-2.0
// The owner whose turns and shares of the server a request takes: its principal, on all connections
// together, or without keys its connection. FairQueue and SnapshotStore count by owner.
#pragma once

#include <compare>
#include <cstdint>

namespace starling::stream {

struct RequestOwner {
  enum class Kind : std::uint8_t { connection, in_process, principal };
  Kind kind = Kind::connection;
  std::uint64_t number = 0;
  auto operator<=>(const RequestOwner&) const = default;
};

}  // namespace starling::stream
