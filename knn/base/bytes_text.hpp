// SPDX-License-Identifier: Apache-2.0
// Writes numbers of bytes for sentences: "256 MiB". Log lines and errors use it where a person
// frees disk or memory. Where a number is compared with a limit, it is written exactly instead.
#pragma once

#include <cstdint>
#include <string>

namespace starling {

/// Returns the number in the largest unit of which it is at least one, rounded to a tenth: "512
/// bytes", "1.5 KiB", "256 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace starling
