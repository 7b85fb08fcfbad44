// Assertions for bugs: on in release, and they print the values.
#pragma once

#include <source_location>
#include <string_view>

namespace starling {

/// Prints the sentence and where it stands, then aborts.
[[noreturn]] void assertion_failed(std::string_view what,
                                   std::source_location where = std::source_location::current());

inline void check_invariant(bool holds, std::string_view what,
                            std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    assertion_failed(what, where);
}

}  // namespace starling
