// SPDX-License-Identifier: Apache-2.0
// Implements VectorPanels and QueryTiles. All threads together copy a corpus into panels.
#include "starling/cpu/vectors/panels.hpp"

#include <algorithm>
#include <utility>

namespace starling::cpu {

VectorPanels::VectorPanels(const CorpusRows& corpus, std::size_t panel_rows, ThreadPool& pool)
    : VectorPanels(corpus.dimension(), panel_rows) {
  assign(corpus, 0, corpus.rows(), pool);
}

VectorPanels::VectorPanels(std::uint32_t dimension, std::size_t panel_rows)
    : dimension_(dimension), panel_rows_(panel_rows) {
  take_room(0);
}

// Leaves the memory uninitialised. Filling it with zeros on one thread would double the time of
// assign. The threads that pack panels are the first to write the memory.
void VectorPanels::take_room(std::size_t panels) {
  constexpr std::size_t line_components = sizeof(Line) / sizeof(float);
  const std::size_t components = panels * panel_rows_ * dimension_;
  lines_ = std::make_unique_for_overwrite<Line[]>(components / line_components + 1);
  room_panels_ = panels;
}

void VectorPanels::assign(VectorsView corpus, ThreadPool& pool) {
  assign(CorpusRows(corpus), 0, corpus.rows(), pool);
}

void VectorPanels::assign(const CorpusRows& corpus, VectorRow first, std::uint32_t count,
                          ThreadPool& pool) {
  const std::size_t panels = (count + panel_rows_ - 1) / panel_rows_;
  if (panels > room_panels_) take_room(panels);
  rows_ = count;
  panels_ = panels;
  constexpr std::size_t grain_bytes = std::size_t{1} << 16;
  pool.for_ranges(
      panels_, 1 + grain_bytes / panel_bytes(), [&](std::size_t begin, std::size_t end, unsigned) {
        std::vector<float> room(corpus.are_prepared() ? 0 : panel_rows_ * dimension_);
        for (std::size_t number = begin; number < end; ++number) {
          const std::size_t row = first + number * panel_rows_;
          for (std::size_t r = 0; !room.empty() && r < filled(number); ++r)
            corpus.prepare(static_cast<VectorRow>(row + r),
                           std::span(room).subspan(r * dimension_, dimension_));
          pack(room.empty() ? corpus.in_memory().components.data() + row * dimension_ : room.data(),
               number);
        }
      });
}

void VectorPanels::grow(std::uint32_t rows) {
  const std::size_t panels = (rows + panel_rows_ - 1) / panel_rows_;
  const std::size_t components_each = panel_rows_ * dimension_;
  if (panels > room_panels_) {
    VectorPanels larger(dimension_, panel_rows_);
    larger.take_room(std::max(panels, room_panels_ + room_panels_ / 4));
    std::copy_n(lines_[0].components, panels_ * components_each, larger.lines_[0].components);
    lines_ = std::move(larger.lines_);
    room_panels_ = larger.room_panels_;
  }
  float* const filled = lines_[0].components + panels_ * components_each;
  if (panels > panels_) std::fill_n(filled, (panels - panels_) * components_each, 0.0f);
  panels_ = std::max(panels_, panels);
  rows_ = std::max(rows_, rows);
}

void VectorPanels::write(VectorRow row, std::span<const float> components) {
  float* to = row_at(row);
  for (const float component : components) {
    *to = component;
    to += panel_rows_;
  }
}

void VectorPanels::read(VectorRow row, std::span<float> components) const {
  const float* from = row_at(row);
  for (float& component : components) {
    component = *from;
    from += panel_rows_;
  }
}

void VectorPanels::pack(const float* rows, std::size_t number) {
  float* const panel = lines_[0].components + number * panel_rows_ * dimension_;
  const std::size_t count = filled(number);
  for (std::size_t j = 0; j < dimension_; ++j) {
    float* const column = panel + j * panel_rows_;
    for (std::size_t r = 0; r < count; ++r) column[r] = rows[r * dimension_ + j];
    std::fill(column + count, column + panel_rows_, 0.0f);
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
