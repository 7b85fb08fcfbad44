// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that compare a tick's neighbour lists with the last tick's, collect the
// reports of lists that changed, and copy lists. ListChanges and copy_lists call these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// What a list's report says besides its neighbours, and which kind of change is reported.
struct ListRow {
  Slot query = no_slot;
  bool has_subject = false;
  bool with_state = false;
  ReportOn on = ReportOn::order;
  std::uint32_t search = 0;  ///< the number of the list's search
  ObjectId subject{};
};

/// The lists of one tick. The pointers are device pointers.
struct ListsView {
  const std::uint64_t* rooms = nullptr;  ///< [search]: the index of its first neighbour
  std::uint32_t* counts = nullptr;       ///< [search]: the number of its neighbours
  Neighbor* neighbors = nullptr;         ///< each list from index rooms[search] on, nearest first
  Slot* slots = nullptr;                 ///< the slots of `neighbors`, at the same indices
};

/// The size of one list's report, or the total size of several reports.
struct ReportSize {
  std::uint64_t neighbors = 0;
  std::uint64_t states = 0;
  std::uint64_t lists = 0;

  constexpr ReportSize operator+(const ReportSize& other) const {
    return {neighbors + other.neighbors, states + other.states, lists + other.lists};
  }
};

/// Where reports are written: device memory or pinned memory.
struct ReportsView {
  ReportedList* lists = nullptr;
  Neighbor* neighbors = nullptr;
  NeighborState* states = nullptr;
};

/// Compares lists, and owns the working memory and the result. The result has one entry for each
/// list: the total size of the reports of all lists up to and including that list.
class ReportSizes {
 public:
  explicit ReportSizes(DeviceMemory& memory) : sizes_(memory), sums_(memory), scratch_(memory) {}

  void reserve(std::uint32_t lists);
  /// Compares each list with the same list in the last tick. `last_searches[i]` is the number that
  /// search i had in the last tick, or ListMatching::none if its list is new. `last_searches` is
  /// null if every search has kept its number.
  void compare_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                     const ListsView& last, const std::uint32_t* last_searches,
                     const CudaStream& stream);
  /// Returns the result, a device array with one entry for each list. Valid until the next
  /// compare_async or reserve.
  const ReportSize* sums() const { return sums_.data(); }

 private:
  DeviceBuffer<ReportSize> sizes_;
  DeviceBuffer<ReportSize> sums_;
  DeviceBuffer<std::byte> scratch_;
};

/// Writes the reports of the lists that compare_async found changed, in the order of the lists.
/// `sums` is ReportSizes::sums().
void collect_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                   const ReportSize* sums, const ObjectsView& objects, const ReportsView& reports,
                   const CudaStream& stream);

/// The most lists that report_few_async takes. For more lists, the host must wait for the size of
/// the reports before it can copy them.
inline constexpr std::uint32_t few_lists_max = 256;

/// Where the kernel of report_few_async stores its results. All pointers except `changes` point to
/// pinned memory.
struct HostStores {
  ReportsView reports;  ///< arrays with room for the reports of all lists
  ReportSize* size = nullptr;
  const ObjectChanges* changes = nullptr;  ///< device memory
  ObjectChanges* changes_told = nullptr;   ///< becomes a copy of `changes`
};

/// Does what compare_async and collect_async do, for at most few_lists_max lists, in one kernel. If
/// `few_neighbors` is true, fewer lanes handle each list, which is faster for short lists.
void report_few_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                      const ListsView& last, const std::uint32_t* last_searches,
                      const ObjectsView& objects, const HostStores& stores, bool few_neighbors,
                      const CudaStream& stream);

/// Copies of `count` lists. Copy i reads the list of search searches[i]. The list's neighbours go
/// to `neighbors` from index firsts[i] on, and their number goes to counts[i]. The neighbours'
/// states go to `states` from index first_states[i] on, unless first_states[i] is
/// ReportedList::no_state. All pointers are device pointers.
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
