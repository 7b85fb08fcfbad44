// SPDX-License-Identifier: Apache-2.0
// Writes numbers of bytes for people: "256 MiB". Log lines and errors about full disks or memory
// use it. A number that is compared with a limit is written exactly instead.
#pragma once

#include <cstdint>
#include <string>

namespace starling {

/// Returns the number in the largest unit that it reaches, rounded to a tenth: "512 bytes", "1.5
/// KiB", "256 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace starling
