// Lists that several devices of one process found, each over its part of the corpus, on their way
// to whoever merges them: of all queries, device i merges the lists of its share. Called by
// split_searcher.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gpu/device/stream.hpp"
#include "gpu/vectors/exchange/device_share.hpp"
#include "gpu/vectors/exchange/list_transport.hpp"
#include "knn/words/metric.hpp"

namespace starling::gpu {

/// What a device gives and takes. Its stream writes `lists` before, and reads `received` after.
struct ExchangeEnd {
  const VectorNeighbor* lists = nullptr;  ///< [queries][k]
  VectorNeighbor* received = nullptr;     ///< [devices][its share of the queries][k]
  const Stream* stream = nullptr;
};

/// Called by one thread, which speaks for all devices: when it begins, all have their lists, so
/// that none waits for one that failed, and all sends and receives stand in one group.
class ListExchange {
 public:
  virtual ~ListExchange() = default;

  virtual std::string_view name() const = 0;  ///< "nccl", "copies"

  /// Enqueued only, in the order of the devices that it was made for. Neither `lists` nor
  /// `received` of any end changes hands before all streams have come to it. Throws NCCL's or the
  /// device's sentence, and is to be abandoned then.
  virtual void exchange_async(std::span<const ExchangeEnd> ends, std::uint32_t queries,
                              std::uint32_t k) = 0;

  /// Ends what waits on a device for another that failed. It is not used any more.
  virtual void abandon() noexcept {}
};

/// Over the devices of these CUDA numbers. Throws std::runtime_error with a sentence where the
/// transport cannot be had.
std::unique_ptr<ListExchange> make_list_exchange(std::span<const int> devices,
                                                 ListTransport transport);

}  // namespace starling::gpu
