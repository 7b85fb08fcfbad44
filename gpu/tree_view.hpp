// The index of a tick on the device: the living objects in the order of a Hilbert curve, in leaves
// of 16, under an implicit tree of bounding boxes, eight to a node. DeviceTree owns it; the search
// reads it.
#pragma once

#include <array>
#include <cstdint>

#include <vector_types.h>

#include "gpu/bounds.hpp"
#include "knn/types.hpp"

namespace starling::gpu {

inline constexpr std::uint32_t leaf_objects = 16;
/// Children of a node.
inline constexpr std::uint32_t fan_out = 8;
inline constexpr int fan_out_bits = 3;
/// 16 * 8^10 objects are more than slots can number.
inline constexpr int levels_max = 10;

/// What differs between two and three dimensions. A key holds at most
/// axis_bits_max of each coordinate.
template <int dimensions>
struct TreeTypes;

template <>
struct TreeTypes<2> {
  using Point = int2;
  using Key = std::uint32_t;
  struct alignas(16) Box {
    std::int32_t min[2];
    std::int32_t max[2];
  };
  static constexpr int axis_bits_max = 16;
};

template <>
struct TreeTypes<3> {
  using Point = int4;  ///< w is unused: one load instead of three
  using Key = std::uint64_t;
  struct alignas(8) Box {
    std::int32_t min[3];
    std::int32_t max[3];
  };
  static constexpr int axis_bits_max = 21;
};

/// Device pointers. A place is a rank in that order; leaf i holds places 16i to 16i + 15. Level 0
/// is the leaves' boxes; the last level has at most eight nodes.
template <int dimensions>
struct TreeView {
  using Types = TreeTypes<dimensions>;

  const typename Types::Point* points = nullptr;   ///< by place; readable up to a whole leaf
  const Slot* slots = nullptr;                     ///< by place
  const typename Types::Key* leaf_keys = nullptr;  ///< of each leaf's first object
  const typename Types::Box* boxes = nullptr;      ///< level after level
  const Bounds* bounds = nullptr;                  ///< that keys are relative to
  int axis_bits = Types::axis_bits_max;            ///< that a key holds of each coordinate
  std::uint32_t count = 0;                         ///< objects
  int levels = 0;                                  ///< 0: no objects
  std::array<std::uint32_t, levels_max> nodes{};   ///< by level
  std::array<std::uint32_t, levels_max> firsts{};  ///< by level: index of its first box

  bool operator==(const TreeView&) const = default;
};

}  // namespace starling::gpu
