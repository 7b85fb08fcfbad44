// SPDX-License-Identifier: Apache-2.0
// Holds the queries and lists of one device, if each device finds a list for every query and the
// devices then exchange and merge these lists. split_searcher.cpp makes a SharedLists for each
// device and search.
#pragma once

#include <cstdint>
#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/exchange/list_exchange.hpp"

namespace starling::gpu {

class SharedLists {
 public:
  struct Shape {
    std::uint32_t queries = 0;  ///< the most queries that are searched at a time
    std::uint32_t k = 1;
    std::uint32_t devices = 1;
    /// Dimension of the queries; 0 if no queries come from the host.
    std::uint32_t dimension = 0;
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
  /// Returns memory for lists. If a device searches its rows in several parts, the lists of each
  /// later part are written here and then merged into found().
  VectorNeighbor* others() { return others_.data(); }
  ExchangeEnd end() { return {found_.data(), received_.data(), &stream_}; }

  /// Enqueued only. For each of `share` queries, merges the lists that were received from all
  /// devices. The merged lists overwrite the lists that were received from device 0.
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
