// SPDX-License-Identifier: Apache-2.0
// Requests that are well formed but hostile: ids that collide, rows that are refused, large k, and
// whatever is cheap to ask and dear to answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/stream/soak/hostile_kinds.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// Returns a stream that no other principal uses.
std::string hostile_stream(const HostilePrincipal& principal);
/// Returns the id of an object that no other principal uses, for an `index` below 10,000.
std::uint64_t hostile_object(const HostilePrincipal& principal, std::uint64_t index);

/// Returns the bytes of one request of twelve kinds. `stream` is an honest client's. A request that
/// takes a sequence number takes the one after `sequence`.
std::string hostile_request(const std::string& stream, test::Random& random, std::uint64_t session,
                            std::uint64_t& sequence);

/// A request of one kind, which an attack sends again and again.
struct HostileRequest {
  const char* name;
  /// Returns the request's bytes. Adds one to the session's sequence if the request takes a number.
  std::string (*make)(const Attacker&, HostileSession&, test::Random&);
  unsigned unanswered_max;  ///< requests that an attack sends before it waits for a reply
  bool reads = true;        ///< whether the attack reads the replies
};

std::vector<HostileRequest> hostile_requests();

}  // namespace starling::stream
