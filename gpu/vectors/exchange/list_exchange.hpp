// SPDX-License-Identifier: Apache-2.0
// Passes lists between the devices of one process. Before the exchange, each device has found lists
// of all queries in its share of the corpus or of the graph. In the exchange, each device receives
// from every device the lists of its own share of the queries. It merges them afterwards.
// split_searcher.cpp makes the exchange and calls it.
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

/// What one device sends and receives. `stream` writes `lists` before the exchange and reads
/// `received` after it.
struct ExchangeEnd {
  const VectorNeighbor* lists = nullptr;  ///< [queries][k]
  VectorNeighbor* received = nullptr;     ///< [devices][this device's share of the queries][k]
  const CudaStream* stream = nullptr;
};

/// One thread calls exchange_async() for all devices, after every device has found its lists. So no
/// device waits for a device that failed to find its lists, and all sends and receives are in one
/// group.
class ListExchange {
 public:
  virtual ~ListExchange() = default;

  virtual std::string_view name() const = 0;  ///< "nccl" or "copies"

  /// Enqueued only. `ends` have the order of the devices in make_list_exchange(). Do not change or
  /// free `lists` and `received` of any end before all CUDA streams have passed the exchange.
  /// Throws std::runtime_error with the message of NCCL or of the device. After an error call
  /// abandon().
  virtual void exchange_async(std::span<const ExchangeEnd> ends, std::uint32_t queries,
                              std::uint32_t k) = 0;

  /// Ends the work of devices that wait for a failed device. Do not use the exchange afterwards.
  virtual void abandon() noexcept {}
};

/// Makes an exchange between the devices with these CUDA numbers. Throws std::runtime_error, with a
/// message that says why, if ListTransport::nccl is asked for and not available.
std::unique_ptr<ListExchange> make_list_exchange(std::span<const int> devices,
                                                 ListTransport transport);

}  // namespace starling::gpu
