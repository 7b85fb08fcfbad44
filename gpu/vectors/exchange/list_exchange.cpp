// SPDX-License-Identifier: Apache-2.0
// Exchanges lists by copies between devices, and chooses between this exchange and NCCL: see
// list_exchange.hpp.
#include "starling/gpu/vectors/exchange/list_exchange.hpp"

#include <set>
#include <stdexcept>
#include <vector>

#include "starling/gpu/vectors/exchange/nccl_exchange.hpp"

namespace starling::gpu {
namespace {

/// Needs only the CUDA runtime. The runtime copies through the host if one device cannot access the
/// memory of the other.
class CopyExchange final : public ListExchange {
 public:
  explicit CopyExchange(std::span<const int> devices) : devices_(devices.begin(), devices.end()) {
    sent_.reserve(devices_.size());
    for (const int device : devices_) {
      check(cudaSetDevice(device));
      sent_.emplace_back();
    }
  }

  std::string_view name() const override { return "copies"; }

  void exchange_async(std::span<const ExchangeEnd> ends, std::uint32_t queries,
                      std::uint32_t k) override {
    for (std::size_t from = 0; from < ends.size(); ++from) {
      check(cudaSetDevice(devices_[from]));
      for (std::size_t to = 0; to < ends.size(); ++to) {
        const DeviceShare share = share_of(queries, to, ends.size());
        if (share.count == 0) continue;
        const std::size_t entries = share.count * k;
        check(cudaMemcpyPeerAsync(ends[to].received + from * entries, devices_[to],
                                  ends[from].lists + share.begin * k, devices_[from],
                                  entries * sizeof(VectorNeighbor), ends[from].stream->get()));
      }
      sent_[from].record(*ends[from].stream);
    }
    for (const ExchangeEnd& end : ends)
      for (const Event& sent : sent_) end.stream->begin_after(sent);
  }

 private:
  std::vector<int> devices_;
  std::vector<Event> sent_;
};

}  // namespace

std::unique_ptr<ListExchange> make_list_exchange(std::span<const int> devices,
                                                 ListTransport transport) {
  const bool are_different = std::set<int>(devices.begin(), devices.end()).size() == devices.size();
  std::string why_none = "NCCL does not accept a GPU that is named twice";
  if (transport != ListTransport::copies && are_different) try {
      if (auto exchange = make_nccl_exchange(devices, why_none)) return exchange;
    } catch (const std::runtime_error& error) {  // NCCL is installed but cannot start
      why_none = error.what();
    }
  if (transport == ListTransport::nccl) throw std::runtime_error(why_none);
  return std::make_unique<CopyExchange>(devices);
}

}  // namespace starling::gpu
