// Objects to use again: their memory is large, and results show it to other threads for as long as
// they like. Engines take a tick's lists from here, Processor takes its reports.
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
  class GiveBack;
  /// The only owner of an object; empty by default. Its destructor returns the object to the pool,
  /// on any thread and even after the pool is gone.
  using Owned = std::unique_ptr<T, GiveBack>;

  /// Keeps at most `kept_max` idle objects; further ones are freed.
  explicit ReturnPool(std::size_t kept_max = 2) : returned_(std::make_shared<Returned>(kept_max)) {}

  /// An idle object as it was left, or a new one. Allocates nothing where there is an idle one.
  Owned take_owned() {
    std::unique_ptr<T> thing = take_returned();
    if (!thing) thing = std::make_unique<T>();
    return Owned(thing.release(), GiveBack(returned_));
  }

  /// The same for several owners; the last one returns it. Allocates the owners' count.
  std::shared_ptr<T> take() { return take_owned(); }

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

template <class T>
class ReturnPool<T>::GiveBack {
 public:
  GiveBack() = default;
  explicit GiveBack(std::shared_ptr<Returned> returned) : returned_(std::move(returned)) {}

  void operator()(T* thing) const noexcept {
    std::unique_ptr<T> owned(thing);
    const std::lock_guard lock(returned_->mutex);
    if (returned_->things.size() < returned_->kept_max)
      returned_->things.push_back(std::move(owned));
  }

 private:
  std::shared_ptr<Returned> returned_;  ///< null while nothing is owned
};

}  // namespace starling
