// SPDX-License-Identifier: Apache-2.0
// Random numbers that no client can predict. Server takes its epoch and the seed of its hash tables
// from here, and SessionTable the ids of sessions.
#pragma once

#include <cstdint>

namespace starling::stream {

/// Returns 64 random bits of the operating system, independent of those of all other calls. Throws
/// std::system_error if getrandom() fails.
std::uint64_t system_random();

}  // namespace starling::stream
