// SPDX-License-Identifier: Apache-2.0
// Refuses wrong calls by the program that embeds Starling. Public functions call check_usage. A
// condition that only Starling's own code can break is an invariant (assert.hpp).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace starling {

/// Throws std::invalid_argument with a sentence made of the parts: texts and integers.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void refuse_usage(const Parts&... parts) {
  std::string sentence;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>)
      sentence += std::to_string(part);
    else
      sentence += std::string_view(part);
  };
  (append(parts), ...);
  throw std::invalid_argument(sentence);
}

/// Calls refuse_usage if `holds` is false. The sentence names the function and the argument, and
/// says what is allowed. Call it before anything changes.
template <class... Parts>
void check_usage(bool holds, const Parts&... parts) {
  if (!holds) [[unlikely]]
    refuse_usage(parts...);
}

}  // namespace starling
