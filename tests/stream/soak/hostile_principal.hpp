// SPDX-License-Identifier: Apache-2.0
// Attacks of clients that the server admits: they have a key and a token, and a quota.
#pragma once

#include <vector>

#include "tests/stream/soak/hostile_mix.hpp"

namespace starling::stream {

/// Returns the attacks. They read HostileOptions::principal, which must be given.
std::vector<HostileKind> kinds_of_principals();

}  // namespace starling::stream
