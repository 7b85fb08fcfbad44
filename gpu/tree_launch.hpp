// Builds the index of a tick: the owner of its memory, and of the working memory that builds share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpu/memory.hpp"
#include "gpu/objects_launch.hpp"
#include "gpu/stream.hpp"
#include "gpu/tree_view.hpp"

namespace starling::gpu {

/// Keys and slots before and after a sort by key, and what the sort itself needs.
template <class Key>
class KeySort {
 public:
  explicit KeySort(DeviceMemory& memory)
      : keys_{DeviceBuffer<Key>(memory), DeviceBuffer<Key>(memory)},
        values_{DeviceBuffer<std::uint32_t>(memory), DeviceBuffer<std::uint32_t>(memory)},
        scratch_(memory) {}

  void reserve(std::uint32_t count);

  /// To write before the sort.
  Key* keys() { return keys_[0].data(); }
  std::uint32_t* values() { return values_[0].data(); }

  struct Sorted {
    const Key* keys;
    const std::uint32_t* values;
  };
  /// By the lower `key_bits`. Stable; valid until the next write.
  Sorted sort_async(std::uint32_t count, int key_bits, const Stream& stream);

  std::uint64_t bytes_used() const;

  /// Where it works: a recorded sort is valid as long as this stays.
  using Memory = std::array<const void*, 5>;
  Memory memory() const {
    return {keys_[0].data(), keys_[1].data(), values_[0].data(), values_[1].data(),
            scratch_.data()};
  }

 private:
  DeviceBuffer<Key> keys_[2];
  DeviceBuffer<std::uint32_t> values_[2];
  DeviceBuffer<std::byte> scratch_;
};

template <int dimensions>
class DeviceTree {
 public:
  using Types = TreeTypes<dimensions>;
  using Sort = KeySort<typename Types::Key>;

  explicit DeviceTree(DeviceMemory& memory)
      : points_(memory), slots_(memory), leaf_keys_(memory), boxes_(memory), bounds_(memory, 1) {}

  /// Room for `count` objects. Not while the device may still use the tree.
  void reserve(std::uint32_t count);

  /// Over the living objects, of which there are `alive`.
  void build_async(const ObjectsView& objects, std::uint32_t alive, Sort& sort,
                   const Stream& stream);

  const TreeView<dimensions>& view() const { return view_; }
  /// Passes when the last build is done.
  const Event& built() const { return built_; }
  std::uint64_t bytes_used() const;

 private:
  /// What shapes a build: where it is the same again, the build is recorded and then replayed.
  struct Shape {
    TreeView<dimensions> view;
    ObjectsView objects;
    typename Sort::Memory sort{};
    bool operator==(const Shape&) const = default;
  };

  void lay_out(std::uint32_t count);
  void enqueue_build(const ObjectsView& objects, Sort& sort, const Stream& stream);

  DeviceBuffer<typename Types::Point> points_;
  DeviceBuffer<Slot> slots_;
  DeviceBuffer<typename Types::Key> leaf_keys_;
  DeviceBuffer<typename Types::Box> boxes_;
  DeviceBuffer<Bounds> bounds_;
  TreeView<dimensions> view_;
  Shape last_shape_;  ///< of the last build
  Event built_;
  std::optional<Graph> recorded_;  ///< of that shape
};

extern template class KeySort<std::uint32_t>;
extern template class KeySort<std::uint64_t>;
extern template class DeviceTree<2>;
extern template class DeviceTree<3>;

}  // namespace starling::gpu
