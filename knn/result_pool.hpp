// Consumed results to use again: an Engine's, behind Engine::recycle. From any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "knn/engine.hpp"

namespace starling {

class ResultPool {
 public:
  std::unique_ptr<TickResult> take() {
    std::unique_ptr<TickResult> result = take_returned();
    return result ? std::move(result) : std::make_unique<TickResult>();
  }

  void give_back(std::unique_ptr<TickResult> result) {
    *result = {};  // its lists' owner takes them back
    const std::lock_guard lock(mutex_);
    if (returned_.size() < kept_max) returned_.push_back(std::move(result));
  }

 private:
  static constexpr std::size_t kept_max = 2;

  std::unique_ptr<TickResult> take_returned() {
    const std::lock_guard lock(mutex_);
    if (returned_.empty()) return nullptr;
    std::unique_ptr<TickResult> result = std::move(returned_.back());
    returned_.pop_back();
    return result;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<TickResult>> returned_;
};

}  // namespace starling
