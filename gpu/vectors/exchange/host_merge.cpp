// SPDX-License-Identifier: Apache-2.0
// Merges one pair of lists after another: see host_merge.hpp.
#include "starling/gpu/vectors/exchange/host_merge.hpp"

#include <algorithm>
#include <vector>

namespace starling::gpu {

void merge_lists(std::span<VectorNeighbor> lists, std::span<const VectorNeighbor> others,
                 std::uint32_t k) {
  std::vector<VectorNeighbor> both(2 * std::size_t{k});
  for (std::size_t at = 0; at < lists.size(); at += k) {
    const auto list = lists.subspan(at, k);
    const auto other = others.subspan(at, k);
    std::ranges::merge(list, other, both.begin());
    std::copy_n(both.begin(), k, list.begin());
  }
}

}  // namespace starling::gpu
