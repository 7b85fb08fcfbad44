// TickLists to use again: their memory is large, and results show it to other threads for as long
// as they like. CpuEngine takes a tick's lists from here.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/tick_lists.hpp"

namespace starling::cpu {

class ListsPool {
 public:
  ListsPool() { returned_->lists.reserve(kept_max); }

  /// Lists that nobody else holds. Whoever lets go of them last, on whatever thread and even after
  /// the pool is gone, hands them back.
  std::shared_ptr<TickLists> take() {
    std::unique_ptr<TickLists> lists = take_returned();
    if (!lists) lists = std::make_unique<TickLists>();
    return {lists.release(), [returned = returned_](TickLists* last) {
              std::unique_ptr<TickLists> owned(last);
              const std::lock_guard lock(returned->mutex);
              if (returned->lists.size() < kept_max) returned->lists.push_back(std::move(owned));
            }};
  }

 private:
  static constexpr std::size_t kept_max = 2;

  struct Returned {
    std::mutex mutex;
    std::vector<std::unique_ptr<TickLists>> lists;
  };

  std::unique_ptr<TickLists> take_returned() {
    const std::lock_guard lock(returned_->mutex);
    if (returned_->lists.empty()) return nullptr;
    std::unique_ptr<TickLists> lists = std::move(returned_->lists.back());
    returned_->lists.pop_back();
    return lists;
  }

  std::shared_ptr<Returned> returned_ = std::make_shared<Returned>();
};

}  // namespace starling::cpu
