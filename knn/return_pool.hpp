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
  ReturnPool() { returned_->things.reserve(kept_max); }

  /// One that nobody else holds. Whoever lets go of it last, on whatever thread and even after the
  /// pool is gone, hands it back.
  std::shared_ptr<T> take() {
    std::unique_ptr<T> thing = take_returned();
    if (!thing) thing = std::make_unique<T>();
    return {thing.release(), [returned = returned_](T* last) {
              std::unique_ptr<T> owned(last);
              const std::lock_guard lock(returned->mutex);
              if (returned->things.size() < kept_max) returned->things.push_back(std::move(owned));
            }};
  }

 private:
  static constexpr std::size_t kept_max = 2;

  struct Returned {
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

  std::shared_ptr<Returned> returned_ = std::make_shared<Returned>();
};

}  // namespace starling
