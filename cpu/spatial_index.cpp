#include "cpu/spatial_index.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "cpu/radix_sort.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t grain = 8192;
constexpr int bits_2d = 16;  // per coordinate; 32 in a cell's number
constexpr int bits_3d = 10;

constexpr int cell_bits(int dimensions) {
  return dimensions == 2 ? 2 * bits_2d : 3 * bits_3d;
}

// Bit i of the argument goes to bit 2 i of the result, and to bit 3 i.
std::uint32_t spread_by_2(std::uint32_t v) {
  v = (v | (v << 8)) & 0x00ff00ffu;
  v = (v | (v << 4)) & 0x0f0f0f0fu;
  v = (v | (v << 2)) & 0x33333333u;
  return (v | (v << 1)) & 0x55555555u;
}

std::uint32_t spread_by_3(std::uint32_t v) {
  v = (v | (v << 16)) & 0x030000ffu;
  v = (v | (v << 8)) & 0x0300f00fu;
  v = (v | (v << 4)) & 0x030c30c3u;
  return (v | (v << 2)) & 0x09249249u;
}

struct Box {
  LatticePoint min{std::numeric_limits<std::int32_t>::max(),
                   std::numeric_limits<std::int32_t>::max(),
                   std::numeric_limits<std::int32_t>::max()};
  LatticePoint max{std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::int32_t>::min()};

  void add(const LatticePoint& p) {
    min = {std::min(min.x, p.x), std::min(min.y, p.y), std::min(min.z, p.z)};
    max = {std::max(max.x, p.x), std::max(max.y, p.y), std::max(max.z, p.z)};
  }
};

Slot slot_of(std::uint64_t entry) {
  return static_cast<Slot>(entry);
}
std::uint32_t cell_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> 32);
}
std::uint64_t make_entry(std::uint32_t cell, Slot slot) {
  return (std::uint64_t{cell} << 32) | slot;
}

std::size_t padded(std::size_t count) {
  return (count + fanout - 1) / fanout * fanout;
}

template <class T>
void resize_to(std::vector<T>& values, std::size_t count) {
  if (count > values.capacity()) values.reserve(count + count / 16);
  values.resize(count);
}

std::size_t level_count(std::size_t objects) {
  std::size_t levels = 0;
  for (std::size_t nodes = objects; nodes > 1 || levels == 0; ++levels)
    nodes = (nodes + fanout - 1) / fanout;
  return levels;
}

// After the sort by cell: a cell with more than a leaf of objects gets a grid of its own, and so on
// until its objects are apart or coincide; coincident ones go by id, so that ties can be cut short.
class Refinement {
 public:
  Refinement(const ObjectSnapshot& objects, int dimensions, std::vector<std::uint64_t>& entries)
      : objects_(objects), dimensions_(dimensions), entries_(entries) {}

  void run(ThreadPool& pool) {
    // A range starts at its first new cell, so that no cell is split between two threads.
    pool.for_ranges(entries_.size(), grain, [&](std::size_t first, std::size_t last, unsigned) {
      std::size_t begin = first;
      while (begin > 0 && begin < last && cell_of(entries_[begin]) == cell_of(entries_[begin - 1]))
        ++begin;
      if (begin < last) refine_runs(begin, last, entries_.size());
    });
  }

 private:
  // Every run of one cell that begins in [begin, last) and ends by `limit`.
  void refine_runs(std::size_t begin, std::size_t last, std::size_t limit) {
    while (begin < last) {
      std::size_t end = begin + 1;
      while (end < limit && cell_of(entries_[end]) == cell_of(entries_[begin])) ++end;
      if (end - begin > fanout) refine(begin, end);
      begin = end;
    }
  }

  void refine(std::size_t begin, std::size_t end) {
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(end);
    const std::uint32_t cell = cell_of(*first);
    Box box;
    for (auto it = first; it != last; ++it) box.add(objects_.position(slot_of(*it)));
    const CellGrid grid(box.min, box.max, dimensions_);
    if (grid.is_one_point()) {
      std::sort(first, last, [&](std::uint64_t a, std::uint64_t b) {
        return objects_.id(slot_of(a)) < objects_.id(slot_of(b));
      });
      return;
    }
    for (auto it = first; it != last; ++it)
      *it = make_entry(grid.cell(objects_.position(slot_of(*it))), slot_of(*it));
    std::sort(first, last);
    refine_runs(begin, end, end);
    for (auto it = first; it != last; ++it) *it = make_entry(cell, slot_of(*it));
  }

  const ObjectSnapshot& objects_;
  int dimensions_;
  std::vector<std::uint64_t>& entries_;
};

}  // namespace

CellGrid::CellGrid(const LatticePoint& min, const LatticePoint& max, int dimensions)
    : min_(min), dimensions_(dimensions) {
  const auto extent = [](std::int32_t low, std::int32_t high) {
    return static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
  };
  extent_ = std::max({extent(min.x, max.x), extent(min.y, max.y), extent(min.z, max.z)});
  const int bits = dimensions == 2 ? bits_2d : bits_3d;
  shift_ = std::max(0, static_cast<int>(std::bit_width(extent_)) - bits);
}

std::uint32_t CellGrid::cell(const LatticePoint& point) const {
  const auto coordinate = [this](std::int32_t value, std::int32_t low) {
    const std::int64_t offset =
        std::clamp<std::int64_t>(std::int64_t{value} - low, 0, std::int64_t{extent_});
    return static_cast<std::uint32_t>(offset) >> shift_;
  };
  const std::uint32_t x = coordinate(point.x, min_.x);
  const std::uint32_t y = coordinate(point.y, min_.y);
  if (dimensions_ == 2) return spread_by_2(x) | (spread_by_2(y) << 1);
  const std::uint32_t z = coordinate(point.z, min_.z);
  return spread_by_3(x) | (spread_by_3(y) << 1) | (spread_by_3(z) << 2);
}

void SpatialIndex::build(const ObjectSnapshot& objects, Scratch& scratch, ThreadPool& pool) {
  count_ = 0;
  levels_.clear();
  collect(objects, scratch, pool);
  radix_sort(scratch.entries, scratch.spare, cell_bits(dimensions_), pool);
  Refinement(objects, dimensions_, scratch.entries).run(pool);
  place(objects, scratch, pool);
  count_ = scratch.entries.size();
  levels_.reserve(level_count(count_));
  for (std::size_t children = count_; children > 0;) {
    const IndexLevel* below = levels_.empty() ? nullptr : &levels_.back();
    build_level(below, children, objects, pool);
    children = levels_.back().count == 1 ? 0 : levels_.back().count;
  }
}

void SpatialIndex::collect(const ObjectSnapshot& objects, Scratch& scratch, ThreadPool& pool) {
  const std::size_t chunks = pool.threads() * 4;
  const auto begin_of = [&](std::size_t chunk) { return objects.slot_count() * chunk / chunks; };
  std::vector<Box> boxes(chunks);
  std::vector<std::size_t> firsts(chunks + 1);
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i) {
      const Slot slot = static_cast<Slot>(i);
      if (!objects.is_alive(slot)) continue;
      boxes[chunk].add(objects.position(slot));
      ++firsts[chunk + 1];
    }
  });
  Box all;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (firsts[chunk + 1] > 0) {
      all.add(boxes[chunk].min);
      all.add(boxes[chunk].max);
    }
    firsts[chunk + 1] += firsts[chunk];
  }
  grid_ = firsts[chunks] > 0 ? CellGrid(all.min, all.max, dimensions_) : CellGrid();
  resize_to(scratch.entries, firsts[chunks]);
  pool.run(chunks, [&](std::size_t chunk, unsigned) {
    std::size_t place = firsts[chunk];
    for (std::size_t i = begin_of(chunk); i < begin_of(chunk + 1); ++i) {
      const Slot slot = static_cast<Slot>(i);
      if (objects.is_alive(slot))
        scratch.entries[place++] = make_entry(grid_.cell(objects.position(slot)), slot);
    }
  });
}

void SpatialIndex::place(const ObjectSnapshot& objects, const Scratch& scratch, ThreadPool& pool) {
  const std::vector<std::uint64_t>& entries = scratch.entries;
  const auto dimensions = static_cast<std::size_t>(dimensions_);
  const std::size_t places = padded(entries.size());
  for (std::size_t d = 0; d < dimensions; ++d) resize_to(coordinates_[d], places);
  resize_to(slots_, places);
  resize_to(leaf_cells_, places / fanout);
  pool.for_ranges(leaf_cells_.size(), grain / fanout,
                  [&](std::size_t first, std::size_t last, unsigned) {
                    for (std::size_t leaf = first; leaf < last; ++leaf)
                      leaf_cells_[leaf] = cell_of(entries[leaf * fanout]);
                    for (std::size_t i = first * fanout; i < last * fanout; ++i) {
                      // The last leaf is filled up with its last object; searches count, and leave
                      // it out.
                      const Slot slot = slot_of(entries[std::min(i, entries.size() - 1)]);
                      const LatticePoint position = objects.position(slot);
                      slots_[i] = slot;
                      coordinates_[0][i] = position.x;
                      coordinates_[1][i] = position.y;
                      if (dimensions == 3) coordinates_[2][i] = position.z;
                    }
                  });
}

void SpatialIndex::build_level(const IndexLevel* below, std::size_t children,
                               const ObjectSnapshot& objects, ThreadPool& pool) {
  const auto dimensions = static_cast<std::size_t>(dimensions_);
  IndexLevel level;
  level.count = (children + fanout - 1) / fanout;
  for (std::size_t d = 0; d < dimensions; ++d) {
    level.min[d].resize(padded(level.count));
    level.max[d].resize(padded(level.count));
  }
  std::atomic<bool> has_points{false};
  pool.for_ranges(level.count, grain / fanout, [&](std::size_t first, std::size_t last, unsigned) {
    bool found_point = false;
    for (std::size_t node = first; node < last; ++node) {
      const std::size_t begin = node * fanout;
      const std::size_t end = std::min(begin + fanout, children);
      bool is_point = true;
      for (std::size_t d = 0; d < dimensions; ++d) {
        const std::int32_t* low = below ? below->min[d].data() : coordinates_[d].data();
        const std::int32_t* high = below ? below->max[d].data() : coordinates_[d].data();
        level.min[d][node] = *std::min_element(low + begin, low + end);
        level.max[d][node] = *std::max_element(high + begin, high + end);
        is_point = is_point && level.min[d][node] == level.max[d][node];
      }
      found_point = found_point || is_point;
    }
    if (found_point) has_points = true;
  });
  if (has_points) {
    level.min_id.resize(level.count);
    for (std::size_t node = 0; node < level.count; ++node) {
      const auto is_flat = [&](std::size_t d) { return level.min[d][node] == level.max[d][node]; };
      if (!is_flat(0) || !is_flat(1) || (dimensions == 3 && !is_flat(2))) continue;
      const std::size_t end = std::min((node + 1) * fanout, children);
      ObjectId least{std::numeric_limits<std::uint64_t>::max()};
      for (std::size_t child = node * fanout; child < end; ++child)
        least = std::min(least, below ? below->min_id[child] : objects.id(slots_[child]));
      level.min_id[node] = least;
    }
  }
  levels_.push_back(std::move(level));
}

std::size_t SpatialIndex::leaf_of_cell(std::uint32_t cell) const {
  const auto after = std::upper_bound(leaf_cells_.begin(), leaf_cells_.end(), cell);
  return after == leaf_cells_.begin() ? 0
                                      : static_cast<std::size_t>(after - leaf_cells_.begin()) - 1;
}

std::uint64_t SpatialIndex::bytes_used() const {
  std::uint64_t bytes =
      slots_.capacity() * sizeof(Slot) + leaf_cells_.capacity() * sizeof(std::uint32_t);
  for (const auto& values : coordinates_) bytes += values.capacity() * sizeof(std::int32_t);
  for (const IndexLevel& level : levels_) {
    for (std::size_t d = 0; d < 3; ++d)
      bytes += (level.min[d].capacity() + level.max[d].capacity()) * sizeof(std::int32_t);
    bytes += level.min_id.capacity() * sizeof(ObjectId);
  }
  return bytes;
}

}  // namespace starling::cpu
