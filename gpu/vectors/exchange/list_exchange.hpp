// SPDX-License-Identifier: Apache-2.0
// Passes lists between the devices of one process. Each device found lists of all queries over its
// part of the corpus; device i then receives and merges the lists of its share of the queries.
// Called by split_searcher.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/exchange/device_share.hpp"
#include "starling/gpu/vectors/exchange/list_transport.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// What a device sends and receives. Its CUDA stream writes `lists` before the exchange and reads
/// `received` after it.
struct ExchangeEnd {
  const VectorNeighbor* lists = nullptr;  ///< [queries][k]
  VectorNeighbor* received = nullptr;     ///< [devices][its share of the queries][k]
  const CudaStream* stream = nullptr;
};

/// One thread calls the exchange for all devices, after every device has found its lists. So no
/// device waits for a failed device, and all sends and receives are in one group.
class ListExchange {
 public:
  virtual ~ListExchange() = default;

  virtual std::string_view name() const = 0;  ///< "nccl", "copies"

  /// Enqueued only. `ends` have the order of the devices in make_list_exchange(). Neither `lists`
  /// nor `received` of any end may be changed or freed before all CUDA streams have passed the
  /// exchange. Throws an error with the message of NCCL or of the device; then call abandon().
  virtual void exchange_async(std::span<const ExchangeEnd> ends, std::uint32_t queries,
                              std::uint32_t k) = 0;

  /// Ends work on a device that waits for another device that failed. Do not use the exchange
  /// afterwards.
  virtual void abandon() noexcept {}
};

/// Makes an exchange over the devices with these CUDA numbers. Throws std::runtime_error with a
/// sentence if the transport is not available.
std::unique_ptr<ListExchange> make_list_exchange(std::span<const int> devices,
                                                 ListTransport transport);

}  // namespace starling::gpu
