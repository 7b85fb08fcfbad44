// SPDX-License-Identifier: Apache-2.0
// The order in which scans visit the tiles of a corpus: a pseudo-random walk over all of them.
// Launches of the scans compute its step.
#pragma once

#include <cstdint>
#include <numeric>

namespace starling::gpu {

/// A step near the golden section of `count`, and coprime to it. Walking from 0 in such steps,
/// modulo `count`, visits each piece once, and the first pieces visited are spread over all.
inline std::uint32_t walk_step(std::uint32_t count) {
  auto step = static_cast<std::uint32_t>(0.6180339887 * static_cast<double>(count));
  if (step == 0) step = 1;
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

}  // namespace starling::gpu
