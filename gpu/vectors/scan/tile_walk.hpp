// Steps through a ring of pieces in an order that looks like none.
#pragma once

#include <cstdint>
#include <numeric>

namespace starling::gpu {

/// A step near the golden section of `count`, and prime to it: from 0 on it meets each of the
/// `count` pieces once, the first of them spread over all.
inline std::uint32_t walk_step(std::uint32_t count) {
  auto step = static_cast<std::uint32_t>(0.6180339887 * static_cast<double>(count));
  if (step == 0) step = 1;
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

}  // namespace starling::gpu
