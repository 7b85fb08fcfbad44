#include "gpu/split_searcher.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/vector_searcher.hpp"

namespace starling::gpu {
namespace {

class SplitSearcher final : public VectorSearcher {
 public:
  explicit SplitSearcher(std::vector<std::unique_ptr<VectorSearcher>> devices)
      : devices_(std::move(devices)) {}

  std::string_view name() const override { return devices_.front()->name(); }
  bool supports(SearchMethod method) const override { return devices_.front()->supports(method); }

  double device_ms() const override {
    double longest_ms = 0;
    for (const auto& device : devices_) longest_ms = std::max(longest_ms, device->device_ms());
    return longest_ms;
  }

  /// Of all together.
  DeviceRates rates() override {
    std::vector<DeviceRates> of_each(devices_.size());
    on_each([&](std::size_t i) { of_each[i] = devices_[i]->rates(); });
    DeviceRates all;
    for (const DeviceRates& rates : of_each) {
      all.read_gb_per_s += rates.read_gb_per_s;
      all.steps_per_s += rates.steps_per_s;
    }
    return all;
  }

  void set_corpus(Metric metric, VectorsView corpus) override {
    on_each([&](std::size_t i) { devices_[i]->set_corpus(metric, corpus); });
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    check_search(search, search.queries.dimension, lists.size());
    const std::uint64_t count = search.queries.rows();
    on_each([&](std::size_t i) {
      const std::uint64_t begin = count * i / devices_.size();
      const std::uint64_t end = count * (i + 1) / devices_.size();
      VectorSearch share = search;
      share.queries.components = search.queries.components.subspan(
          begin * search.queries.dimension, (end - begin) * search.queries.dimension);
      if (search.first_self != no_row) share.first_self += static_cast<VectorRow>(begin);
      // The caller's thread has the first share, and speaks for all.
      share.on_progress = nullptr;
      if (i == 0 && search.on_progress)
        share.on_progress = [&](std::uint64_t done) {
          search.on_progress(end == 0 ? 0 : done * count / end);
        };
      devices_[i]->search(share, lists.subspan(begin * search.k, (end - begin) * search.k));
    });
  }

 private:
  /// On a thread each, the first on the caller's; throws what the first that failed threw.
  void on_each(const std::function<void(std::size_t)>& work) {
    std::vector<std::exception_ptr> errors(devices_.size());
    const auto run = [&](std::size_t i) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < devices_.size(); ++i) threads.emplace_back(run, i);
      run(0);
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

  std::vector<std::unique_ptr<VectorSearcher>> devices_;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices) {
  std::vector<std::unique_ptr<VectorSearcher>> searchers;
  for (const int device : devices) searchers.push_back(make_vector_searcher(device));
  if (searchers.size() == 1) return std::move(searchers.front());
  return std::make_unique<SplitSearcher>(std::move(searchers));
}

}  // namespace starling::gpu
