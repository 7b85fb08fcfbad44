// SPDX-License-Identifier: Apache-2.0
// Fills the leaves with the sorted objects, then builds the levels upwards. Stores the smallest id
// for each box that is a single point: see tree_index.hpp. SpatialIndex builds a tree if the grid
// does not suit the objects.
#include "starling/cpu/points/index/tree_index.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "starling/knn/base/headroom.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t leaves_grain = 512;

std::size_t groups_of(std::size_t count) {
  return (count + fanout - 1) / fanout;
}

std::int32_t min_of(const Line& line) {
  return *std::min_element(line.lane, line.lane + fanout);
}
std::int32_t max_of(const Line& line) {
  return *std::max_element(line.lane, line.lane + fanout);
}

}  // namespace

// Frees the memory, because the grid will be used for the next ticks.
void TreeIndex::clear() {
  count_ = 0;
  leaves_ = std::vector<Line>();
  leaf_cells_ = std::vector<std::uint32_t>();
  levels_ = std::vector<IndexLevel>();
}

void TreeIndex::build(const PointSet& points, const ObjectSnapshot& objects, const CellGrid& cells,
                      PlaceSort& sort, BucketScatter& scatter, ThreadPool& pool) {
  count_ = 0;
  levels_.clear();
  cells_ = cells;
  const auto placed = sort.sort(points, objects, cells, fanout, scatter, pool);
  place(placed, pool);
  for (std::size_t nodes = placed.size(); nodes > 0;) {
    const IndexLevel* below = levels_.empty() ? nullptr : &levels_.back();
    IndexLevel level = make_level(below, nodes, objects, pool);
    nodes = level.count == 1 ? 0 : level.count;
    levels_.push_back(std::move(level));
  }
  count_ = placed.size();
}

void TreeIndex::place(std::span<const PlacedObject> placed, ThreadPool& pool) {
  const std::size_t leaf_count = groups_of(placed.size());
  resize_with_headroom(leaves_, leaf_count * (dimensions_ + 1));
  resize_with_headroom(leaf_cells_, leaf_count);
  pool.for_ranges(leaf_count, leaves_grain, [&](std::size_t first, std::size_t last, unsigned) {
    for (std::size_t leaf = first; leaf < last; ++leaf) {
      leaf_cells_[leaf] = cells_.cell(placed[leaf * fanout].position);
      Line* lines = &leaves_[leaf * (dimensions_ + 1)];
      for (std::size_t i = 0; i < fanout; ++i) {
        const PlacedObject& object = placed[std::min(leaf * fanout + i, placed.size() - 1)];
        lines[0].lane[i] = object.position.x;
        lines[1].lane[i] = object.position.y;
        if (dimensions_ == 3) lines[2].lane[i] = object.position.z;
        lines[dimensions_].lane[i] = static_cast<std::int32_t>(object.slot);
      }
    }
  });
}

// `nodes` is the number of children of the whole level: nodes of the level below, or objects if
// there is no level below.
IndexLevel TreeIndex::make_level(const IndexLevel* below, std::size_t nodes,
                                 const ObjectSnapshot& objects, ThreadPool& pool) const {
  IndexLevel level;
  level.count = groups_of(nodes);
  level.groups.resize(groups_of(level.count) * 2 * dimensions_);
  std::atomic<bool> has_points{false};
  pool.for_ranges(level.count, leaves_grain, [&](std::size_t first, std::size_t last, unsigned) {
    bool found_point = false;
    for (std::size_t node = first; node < last; ++node) {
      Line* group = &level.groups[node / fanout * 2 * dimensions_];
      bool is_point = true;
      for (std::size_t d = 0; d < dimensions_; ++d) {
        const Line& low = below ? below->groups[(node * dimensions_ + d) * 2] : leaf(node)[d];
        const Line& high = below ? below->groups[(node * dimensions_ + d) * 2 + 1] : leaf(node)[d];
        const std::int32_t min = min_of(low);
        const std::int32_t max = max_of(high);
        group[2 * d].lane[node % fanout] = min;
        group[2 * d + 1].lane[node % fanout] = max;
        is_point = is_point && min == max;
      }
      found_point = found_point || is_point;
    }
    if (found_point) has_points = true;
  });
  fill_up(level);
  if (has_points) level.min_id = coincident_ids(level, below, nodes, objects);
  return level;
}

// In the last group, the lanes without a node repeat the last node, so that the level above can
// take the minimum of all lanes. Searches mask these lanes off.
void TreeIndex::fill_up(IndexLevel& level) const {
  const std::size_t used = (level.count - 1) % fanout + 1;
  for (std::size_t line = level.groups.size() - 2 * dimensions_; line < level.groups.size(); ++line)
    std::fill(level.groups[line].lane + used, level.groups[line].lane + fanout,
              level.groups[line].lane[used - 1]);
}

std::vector<ObjectId> TreeIndex::coincident_ids(const IndexLevel& level, const IndexLevel* below,
                                                std::size_t nodes,
                                                const ObjectSnapshot& objects) const {
  std::vector<ObjectId> ids(level.count);
  for (std::size_t node = 0; node < level.count; ++node) {
    const Line* group = &level.groups[node / fanout * 2 * dimensions_];
    bool is_point = true;
    for (std::size_t d = 0; d < dimensions_; ++d)
      is_point =
          is_point && group[2 * d].lane[node % fanout] == group[2 * d + 1].lane[node % fanout];
    if (!is_point) continue;
    const std::size_t end = std::min((node + 1) * fanout, nodes);
    ObjectId least{std::numeric_limits<std::uint64_t>::max()};
    for (std::size_t child = node * fanout; child < end; ++child)
      least = std::min(least, below ? below->min_id[child] : objects.id(slot(child)));
    ids[node] = least;
  }
  return ids;
}

std::size_t TreeIndex::leaf_near(const LatticePoint& point, std::size_t hint) const {
  const std::uint32_t cell = cells_.cell(point);
  const std::size_t leaves = leaf_cells_.size();
  std::size_t low = std::min(hint, leaves - 1);
  std::size_t high = low;
  for (std::size_t step = 1; low > 0 && leaf_cells_[low] >= cell; step *= 2)
    low = low > step ? low - step : 0;
  for (std::size_t step = 1; high < leaves && leaf_cells_[high] <= cell; step *= 2) high += step;
  const auto begin = leaf_cells_.begin() + static_cast<std::ptrdiff_t>(low);
  const auto end = leaf_cells_.begin() + static_cast<std::ptrdiff_t>(std::min(high, leaves));
  // If several leaves begin with an object of this cell, takes the first of these leaves: it has
  // the smallest ids of coincident objects.
  const auto at =
      static_cast<std::size_t>(std::lower_bound(begin, end, cell) - leaf_cells_.begin());
  const bool begins_with_it = at < leaves && leaf_cells_[at] == cell;
  return begins_with_it || at == 0 ? at : at - 1;
}

std::uint64_t TreeIndex::bytes_used() const {
  std::uint64_t bytes =
      leaves_.capacity() * sizeof(Line) + leaf_cells_.capacity() * sizeof(std::uint32_t);
  for (const IndexLevel& level : levels_)
    bytes += level.groups.capacity() * sizeof(Line) + level.min_id.capacity() * sizeof(ObjectId);
  return bytes;
}

}  // namespace starling::cpu
