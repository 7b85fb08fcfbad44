// SPDX-License-Identifier: Apache-2.0
// Assertions for bugs in Starling. They stay on in release builds and print a sentence and a source
// line. Every folder calls check_invariant. For mistakes of the calling program: usage.hpp.
#pragma once

#include <source_location>
#include <string_view>

namespace starling {

/// Prints the sentence and the source line of the caller, then aborts.
[[noreturn]] void assertion_failed(std::string_view what,
                                   std::source_location where = std::source_location::current());

/// Call it for a condition that only a bug in Starling can break.
inline void check_invariant(bool holds, std::string_view what,
                            std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    assertion_failed(what, where);
}

}  // namespace starling
