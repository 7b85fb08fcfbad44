#include "cpu/vector_panels.hpp"

#include <algorithm>

namespace starling::cpu {

VectorPanels::VectorPanels(VectorsView corpus, std::size_t panel_rows, ThreadPool& pool)
    : rows_(corpus.rows()),
      dimension_(corpus.dimension),
      panel_rows_(panel_rows),
      panels_((rows_ + panel_rows - 1) / panel_rows) {
  constexpr std::size_t line_components = sizeof(Line) / sizeof(float);
  const std::size_t components = panels_ * panel_rows_ * dimension_;
  // Each thread is the first to write its panels: zeros by one thread would take as long again.
  lines_ = std::make_unique_for_overwrite<Line[]>(components / line_components + 1);
  constexpr std::size_t grain_bytes = std::size_t{1} << 16;
  pool.for_ranges(panels_, 1 + grain_bytes / panel_bytes(),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    for (std::size_t number = begin; number < end; ++number) pack(corpus, number);
                  });
}

void VectorPanels::pack(VectorsView corpus, std::size_t number) {
  float* const panel = lines_[0].components + number * panel_rows_ * dimension_;
  const std::size_t first = number * panel_rows_;
  const std::size_t filled = std::min<std::size_t>(panel_rows_, rows_ - first);
  const float* const row = corpus.components.data() + first * dimension_;
  for (std::size_t j = 0; j < dimension_; ++j) {
    float* const column = panel + j * panel_rows_;
    for (std::size_t r = 0; r < filled; ++r) column[r] = row[r * dimension_ + j];
    std::fill(column + filled, column + panel_rows_, 0.0f);
  }
}

void QueryTiles::pack(VectorsView queries, std::uint32_t first, std::uint32_t count) {
  queries_ = count;
  dimension_ = queries.dimension;
  const std::size_t tiles = (count + tile_queries - 1) / tile_queries;
  components_.assign(tiles * tile_queries * dimension_, 0.0f);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto row = queries.row(first + i);
    float* const column =
        components_.data() + i / tile_queries * tile_queries * dimension_ + i % tile_queries;
    for (std::size_t j = 0; j < dimension_; ++j) column[j * tile_queries] = row[j];
  }
}

}  // namespace starling::cpu
