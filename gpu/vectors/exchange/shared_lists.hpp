// SPDX-License-Identifier: Apache-2.0
// Holds the queries and lists of one device during a search in which several devices find lists of
// the same queries and merge these lists. split_searcher.cpp makes one SharedLists for each device
// and search.
#pragma once

#include <cstdint>
#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/exchange/list_exchange.hpp"

namespace starling::gpu {

class SharedLists {
 public:
  struct Shape {
    std::uint32_t queries = 0;  ///< searched at a time
    std::uint32_t k = 1;
    std::uint32_t devices = 1;
    std::uint32_t dimension = 0;  ///< of queries from the host; 0: no queries come from the host
  };
  static std::uint64_t bytes_for(const Shape& shape) {
    const std::uint64_t lists = shape.dimension > 0 ? 2 : 1;
    const std::uint64_t entries =
        lists * shape.queries + std::uint64_t{shape.queries} + shape.devices;
    return std::uint64_t{shape.queries} * shape.dimension * sizeof(float) +
           entries * shape.k * sizeof(VectorNeighbor);
  }

  /// Allocates on the current device. Throws the same errors as DeviceMemory.
  SharedLists(DeviceMemory& memory, const CudaStream& stream, const Shape& shape);

  DeviceBuffer<float>& queries() { return queries_; }
  VectorNeighbor* found() { return found_.data(); }
  /// Returns the memory for lists that were found in another part of this device's rows, until they
  /// are merged.
  VectorNeighbor* others() { return others_.data(); }
  ExchangeEnd end() { return {found_.data(), received_.data(), &stream_}; }

  /// Enqueued only. Merges the lists that were received from all devices, for `share` queries. The
  /// merged lists replace those of device 0, which come first in the received lists.
  void merge_async(std::uint32_t share, std::uint32_t k, std::uint32_t devices);
  /// Enqueued only. Copies the merged lists to the host.
  void copy_merged_async(std::span<VectorNeighbor> lists) const {
    copy_to_host_async(received_.data(), lists, stream_);
  }

 private:
  const CudaStream& stream_;
  DeviceBuffer<float> queries_;            ///< [queries][dimension]
  DeviceBuffer<VectorNeighbor> found_;     ///< [queries][k]
  DeviceBuffer<VectorNeighbor> others_;    ///< [queries][k]
  DeviceBuffer<VectorNeighbor> received_;  ///< [devices][share][k]
  DrainAtEnd drain_;
};

}  // namespace starling::gpu
