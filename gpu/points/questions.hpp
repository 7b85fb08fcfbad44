// SPDX-License-Identifier: Apache-2.0
// Questions answers one-shot questions from the index of one tick, on a CUDA stream of its own.
// GpuEngine has one Questions for its question thread, and another for questions that it answers
// between ticks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_plan.hpp"
#include "starling/gpu/points/search/search_launch.hpp"
#include "starling/gpu/points/tick_index.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

template <int dimensions>
class Questions {
 public:
  /// `few_max` becomes SearchBatch::few_max.
  Questions(DeviceMemory& memory, std::uint32_t few_max)
      : few_max_(few_max),
        specs_(memory),
        rooms_(memory),
        order_(memory),
        counts_(memory),
        neighbors_(memory),
        slots_(memory),
        notes_(memory),
        followed_(memory),
        alive_(memory) {}

  /// Searches `index`, waits for the lists, and appends them to `answers`. Throws DeviceError or
  /// std::bad_alloc. Throws std::runtime_error if the memory's limit is reached.
  void answer(std::span<const OneShotQuery> queries, const TickIndex<dimensions>& index,
              const ObjectsView& objects, std::int64_t tau_us, Answers& answers);

 private:
  void lay_out(std::span<const OneShotQuery> queries);
  void find_followed_async(const ObjectsView& objects);

  const std::uint32_t few_max_;
  CudaStream stream_;
  std::vector<SearchSpec> host_specs_;
  std::vector<std::uint64_t> host_rooms_;
  std::vector<std::uint32_t> host_order_;
  std::vector<std::uint32_t> host_counts_;
  /// The followed objects, in the order of the queries that follow them.
  std::vector<Slot> host_followed_;
  std::vector<std::uint8_t> host_alive_;  ///< [i]: 1 if host_followed_[i] is alive, else 0
  std::uint64_t room_ = 0;
  DeviceBuffer<SearchSpec> specs_;
  DeviceBuffer<std::uint64_t> rooms_;
  DeviceBuffer<std::uint32_t> order_;
  DeviceBuffer<std::uint32_t> counts_;
  DeviceBuffer<Neighbor> neighbors_;
  DeviceBuffer<Slot> slots_;
  DeviceBuffer<std::uint32_t> notes_;
  DeviceBuffer<Slot> followed_;
  DeviceBuffer<std::uint8_t> alive_;
};

extern template class Questions<2>;
extern template class Questions<3>;

}  // namespace starling::gpu
