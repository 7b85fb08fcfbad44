// SPDX-License-Identifier: Apache-2.0
// The owner that a request is counted for. With keys, it is the principal, on all its connections
// together; without keys, it is the connection. FairQueue and SnapshotStore count by owner.
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
