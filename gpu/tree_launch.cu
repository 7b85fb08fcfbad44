#include <algorithm>
#include <bit>

#include <cub/device/device_radix_sort.cuh>

#include "gpu/tree_kernel.cuh"
#include "gpu/tree_launch.hpp"

namespace starling::gpu {
namespace {

constexpr unsigned one_block_threads = 1024;
/// Levels of at most so many nodes are built by one block, in one launch.
constexpr std::uint32_t one_block_nodes = 256;

template <class Key>
std::size_t scratch_bytes(std::uint32_t count) {
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(
      nullptr, bytes, static_cast<const Key*>(nullptr), static_cast<Key*>(nullptr),
      static_cast<const std::uint32_t*>(nullptr), static_cast<std::uint32_t*>(nullptr), count));
  return bytes;
}

/// On a plane a cell an object or more, each sorted pass of eight bits used whole. In space all
/// bits there are: objects on the earth's surface crowd in few of a box's cells.
template <int dimensions>
int axis_bits(std::uint32_t count) {
  using Types = TreeTypes<dimensions>;
  if (dimensions == 3) return Types::axis_bits_max;
  constexpr int three_passes_bits = 24;
  return std::bit_width(count) <= three_passes_bits ? three_passes_bits / 2 : Types::axis_bits_max;
}

std::uint32_t parts(std::uint32_t count, std::uint32_t size) {
  return count / size + (count % size != 0);
}

}  // namespace

template <class Key>
void KeySort<Key>::reserve(std::uint32_t count) {
  for (auto& keys : keys_) keys.reserve(count);
  for (auto& values : values_) values.reserve(count);
  scratch_.reserve(scratch_bytes<Key>(count));
}

template <class Key>
typename KeySort<Key>::Sorted KeySort<Key>::sort_async(std::uint32_t count, int key_bits,
                                                       const Stream& stream) {
  std::size_t bytes = scratch_.room();
  check(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes,
                                        static_cast<const Key*>(keys_[0].data()), keys_[1].data(),
                                        static_cast<const std::uint32_t*>(values_[0].data()),
                                        values_[1].data(), count, 0, key_bits, stream.get()));
  return {keys_[1].data(), values_[1].data()};
}

template <class Key>
std::uint64_t KeySort<Key>::bytes_used() const {
  return 2 * (keys_[0].room() * sizeof(Key) + values_[0].room() * sizeof(std::uint32_t)) +
         scratch_.room();
}

template <int dimensions>
void DeviceTree<dimensions>::reserve(std::uint32_t count) {
  const std::uint32_t leaves = parts(count, leaf_objects);
  points_.reserve(std::size_t{leaves} * leaf_objects);
  slots_.reserve(count);
  leaf_keys_.reserve(leaves);
  // Each level has an eighth of the one below, and at most one node more.
  boxes_.reserve(leaves + leaves / (fan_out - 1) + levels_max);
}

template <int dimensions>
void DeviceTree<dimensions>::lay_out(std::uint32_t count) {
  view_ = {.points = points_.data(),
           .slots = slots_.data(),
           .leaf_keys = leaf_keys_.data(),
           .boxes = boxes_.data(),
           .bounds = bounds_.data(),
           .axis_bits = axis_bits<dimensions>(count),
           .count = count};
  std::uint32_t first = 0;
  for (std::uint32_t nodes = parts(count, leaf_objects); nodes > 0; nodes = parts(nodes, fan_out)) {
    const auto level = static_cast<std::size_t>(view_.levels++);
    view_.nodes[level] = nodes;
    view_.firsts[level] = first;
    first += nodes;
    if (nodes <= fan_out) break;
  }
}

template <int dimensions>
void DeviceTree<dimensions>::build_async(const ObjectsView& objects, std::uint32_t alive,
                                         Sort& sort, const Stream& stream) {
  lay_out(alive);
  if (alive == 0) return;
  const Shape shape = {view_, objects, sort.memory()};
  const bool is_again = shape == last_shape_;
  if (!is_again) recorded_.reset();
  last_shape_ = shape;
  if (is_again && !recorded_)
    recorded_.emplace(stream, [&] { enqueue_build(objects, sort, stream); });
  if (recorded_)
    recorded_->launch(stream);
  else
    enqueue_build(objects, sort, stream);
  built_.record(stream);
}

template <int dimensions>
void DeviceTree<dimensions>::enqueue_build(const ObjectsView& objects, Sort& sort,
                                           const Stream& stream) {
  const std::uint32_t slots = objects.slots;
  keys_kernel<dimensions><<<blocks_for(slots), block_threads, 0, stream.get()>>>(
      objects, view_.axis_bits, bounds_.data(), sort.keys(), sort.values());
  check_launch();
  const auto sorted = sort.sort_async(slots, dimensions * view_.axis_bits, stream);
  leaves_kernel<dimensions>
      <<<blocks_for(view_.count, leaves_threads), leaves_threads, 0, stream.get()>>>(
          view_, objects.positions, sorted.keys, sorted.values,
          {points_.data(), slots_.data(), leaf_keys_.data(), boxes_.data()});
  check_launch();
  int level = 3;  // the leaves' kernel makes three
  for (; level < view_.levels && view_.nodes[static_cast<std::size_t>(level)] > one_block_nodes;
       ++level) {
    const std::uint64_t lanes =
        std::uint64_t{view_.nodes[static_cast<std::size_t>(level)]} * fan_out;
    boxes_kernel<dimensions>
        <<<blocks_for(lanes), block_threads, 0, stream.get()>>>(view_, boxes_.data(), level);
    check_launch();
  }
  upper_boxes_kernel<dimensions>
      <<<1, one_block_threads, 0, stream.get()>>>(view_, boxes_.data(), level, objects.bounds);
  check_launch();
}

template <int dimensions>
std::uint64_t DeviceTree<dimensions>::bytes_used() const {
  return points_.room() * sizeof(typename Types::Point) + slots_.room() * sizeof(Slot) +
         leaf_keys_.room() * sizeof(typename Types::Key) +
         boxes_.room() * sizeof(typename Types::Box);
}

template class KeySort<std::uint32_t>;
template class KeySort<std::uint64_t>;
template class DeviceTree<2>;
template class DeviceTree<3>;

}  // namespace starling::gpu
