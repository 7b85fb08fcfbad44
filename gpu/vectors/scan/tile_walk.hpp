// SPDX-License-Identifier: Apache-2.0
// The order in which scans visit the tiles of a corpus: a pseudo-random walk that visits each tile
// once. The functions that launch scans call walk_step().
#pragma once

#include <cstdint>
#include <numeric>

namespace starling::gpu {

/// Returns a step that is about 0.618 * count (the golden section) and coprime to `count`. A walk
/// that begins at 0 and takes this step, modulo `count`, visits each of `count` tiles once, and the
/// tiles that it visits first are spread over all tiles.
inline std::uint32_t walk_step(std::uint32_t count) {
  auto step = static_cast<std::uint32_t>(0.6180339887 * static_cast<double>(count));
  if (step == 0) step = 1;
  while (std::gcd(step, count) != 1) ++step;
  return step;
}

}  // namespace starling::gpu
