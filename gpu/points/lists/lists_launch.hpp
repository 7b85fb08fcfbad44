// The neighbour lists of a tick on the device: what changed since the last tick, and the way out of
// what streams asked to hear.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// What a list's report says beside its neighbours, and when it is reported.
struct ListRow {
  Slot query = no_slot;
  bool has_subject = false;
  bool with_state = false;
  ReportOn on = ReportOn::order;
  std::uint32_t search = 0;  ///< the number of its search
  ObjectId subject{};
};

/// Device pointers.
struct ListsView {
  const std::uint64_t* rooms = nullptr;  ///< by search: index of its first neighbour
  std::uint32_t* counts = nullptr;       ///< by search
  Neighbor* neighbors = nullptr;
  Slot* slots = nullptr;  ///< of the neighbours
};

/// How much is reported: of one list, or up to and with one.
struct ReportSize {
  std::uint64_t neighbors = 0;
  std::uint64_t states = 0;
  std::uint64_t lists = 0;

  constexpr ReportSize operator+(const ReportSize& other) const {
    return {neighbors + other.neighbors, states + other.states, lists + other.lists};
  }
};

/// Where reports go. Device pointers, or pinned memory.
struct ReportsView {
  ReportedList* lists = nullptr;
  Neighbor* neighbors = nullptr;
  NeighborState* states = nullptr;
};

/// Working memory of compare_async, and its result: sizes up to and with each list.
class ReportSizes {
 public:
  explicit ReportSizes(DeviceMemory& memory) : sizes_(memory), sums_(memory), scratch_(memory) {}

  void reserve(std::uint32_t lists);
  /// Compares list by list. `last_searches[i]` is what search i was last tick,
  /// ListMatching::none if it is new; null: each has kept its number.
  void compare_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                     const ListsView& last, const std::uint32_t* last_searches,
                     const CudaStream& stream);
  const ReportSize* sums() const { return sums_.data(); }

 private:
  DeviceBuffer<ReportSize> sizes_;
  DeviceBuffer<ReportSize> sums_;
  DeviceBuffer<std::byte> scratch_;
};

/// Writes what compare_async found to have changed, in order of the lists.
void collect_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                   const ReportSize* sums, const ObjectsView& objects, const ReportsView& reports,
                   const CudaStream& stream);

/// Up to so many lists are compared and collected by one kernel, which stores to the host itself: a
/// small tick is over before the host could have learned how much to copy.
inline constexpr std::uint32_t few_lists_max = 256;

/// What that kernel stores to pinned memory.
struct HostStores {
  ReportsView reports;  ///< with room for all lists
  ReportSize* size = nullptr;
  const ObjectChanges* changes = nullptr;  ///< the device's, and where they are told
  ObjectChanges* changes_told = nullptr;
};

/// Compares and writes, in order of the lists, as compare_async and collect_async together.
void report_few_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                      const ListsView& last, const std::uint32_t* last_searches,
                      const ObjectsView& objects, const HostStores& stores,
                      const CudaStream& stream);

/// Copies lists one by one: to firsts[i] on goes that of searches[i], to first_states[i] on, unless
/// it is ReportedList::no_state, what is reported beside ids; and counts[i] is written.
struct ListCopy {
  const std::uint32_t* searches = nullptr;
  const std::uint64_t* firsts = nullptr;
  const std::uint64_t* first_states = nullptr;
  std::uint32_t count = 0;
  std::uint32_t* counts = nullptr;
  Neighbor* neighbors = nullptr;
  NeighborState* states = nullptr;
};
void copy_lists_async(const ListsView& now, const ObjectsView& objects, const ListCopy& copy,
                      const CudaStream& stream);

}  // namespace starling::gpu
