// SPDX-License-Identifier: Apache-2.0
// Asks a server for the names of ids, and tells it the names of text ids. The commands that run
// once use it; `starling subscribe` has a cache and a thread for the same.
#pragma once

#include <cstdint>
#include <span>

#include "starling/protocol/client/client.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

/// Returns the names that the server has for these ids. A server that knows no GetNames has none.
sim::NameTable names_on(protocol::Client& client, std::span<const std::uint64_t> ids);

}  // namespace starling::apps
