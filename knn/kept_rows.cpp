#include "knn/kept_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <memory_resource>

namespace starling {
namespace {

// In place: memory is short when this is needed.
template <class Row>
void keep_newest(std::pmr::vector<Row>& newer, std::pmr::vector<Row>& kept) {
  if (kept.empty()) return kept.swap(newer);
  std::ranges::sort(kept, {}, &Row::slot);
  std::ranges::sort(newer, {}, &Row::slot);
  const std::size_t kept_before = kept.size();
  std::size_t place = 0;
  for (const Row& row : newer) {
    while (place < kept_before && kept[place].slot < row.slot) ++place;
    if (place < kept_before && kept[place].slot == row.slot)
      kept[place] = row;
    else
      kept.push_back(row);
  }
}

}  // namespace

void keep_rows(Staging& newer, Staging& kept) noexcept {
  keep_newest(newer.births, kept.births);
  keep_newest(newer.objects, kept.objects);
  keep_newest(newer.queries, kept.queries);
  newer.clear();
}

}  // namespace starling
