// SPDX-License-Identifier: Apache-2.0
// Asks a server for the names of ids. Commands that run once use names_on(); `starling subscribe`
// has a cache and a thread for its names.
#pragma once

#include <cstdint>
#include <span>

#include "starling/protocol/client/client.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

/// Returns the names that the server has for these ids. Returns no names if the server does not
/// know GetNames.
sim::NameTable names_on(protocol::Client& client, std::span<const std::uint64_t> ids);

}  // namespace starling::apps
