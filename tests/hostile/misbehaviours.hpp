// SPDX-License-Identifier: Apache-2.0
// The table of what a hostile server does. Everything that a row does not name, the server does
// right, so that a client comes as far as the misbehaviour.
#pragma once

#include <string_view>
#include <vector>

#include "tests/hostile/hostile_server.hpp"

namespace starling::protocol::test {

/// The stream that the hostile servers have.
inline constexpr std::string_view hostile_stream = "riders";

const std::vector<Misbehaviour>& misbehaviours();

/// Throws std::out_of_range if there is no such row.
Misbehaviour misbehaviour_named(std::string_view name);

}  // namespace starling::protocol::test
