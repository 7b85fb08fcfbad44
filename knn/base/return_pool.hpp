// Things to use again: their memory is large, and results show it to other threads for as long as
// they like. Engines take a tick's lists from here.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace starling {

template <class T>
class ReturnPool {
 public:
  /// Keeps so many that nobody holds.
  explicit ReturnPool(std::size_t kept_max = 2) : returned_(std::make_shared<Returned>(kept_max)) {}

  /// One that nobody else holds. Whoever lets go of it last, on whatever thread and even after the
  /// pool is gone, hands it back.
  std::shared_ptr<T> take() {
    std::unique_ptr<T> thing = take_returned();
    if (!thing) thing = std::make_unique<T>();
    return {thing.release(), [returned = returned_](T* last) {
              std::unique_ptr<T> owned(last);
              const std::lock_guard lock(returned->mutex);
              if (returned->things.size() < returned->kept_max)
                returned->things.push_back(std::move(owned));
            }};
  }

 private:
  struct Returned {
    explicit Returned(std::size_t max) : kept_max(max) { things.reserve(max); }
    const std::size_t kept_max;
    std::mutex mutex;
    std::vector<std::unique_ptr<T>> things;
  };

  std::unique_ptr<T> take_returned() {
    const std::lock_guard lock(returned_->mutex);
    if (returned_->things.empty()) return nullptr;
    std::unique_ptr<T> thing = std::move(returned_->things.back());
    returned_->things.pop_back();
    return thing;
  }

  std::shared_ptr<Returned> returned_;
};

}  // namespace starling
