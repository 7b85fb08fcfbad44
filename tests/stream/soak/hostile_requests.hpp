// SPDX-License-Identifier: Apache-2.0
// Requests that are well formed but hostile: ids that collide, rows that are refused, large k.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/random.hpp"

namespace starling::stream {

/// Returns the bytes of one request. `stream` is an honest client's. A request that takes a
/// sequence number takes the one after `sequence`.
std::string hostile_request(const std::string& stream, test::Random& random, std::uint64_t session,
                            std::uint64_t& sequence);

}  // namespace starling::stream
