// SPDX-License-Identifier: Apache-2.0
// A pool of large objects that are used again instead of freed. Other threads may read an object
// and return it when they are done. Engines take the memory of a tick's lists from a pool.
// Processor takes the memory of its reports from a pool.
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
  /// The only owner of an object; empty by default. The destructor of Owned returns the object to
  /// the pool. The destructor may run on any thread, even after the pool is gone.
  using Owned = std::unique_ptr<T, GiveBack>;

  /// Keeps at most `kept_max` idle objects and frees further objects.
  explicit ReturnPool(std::size_t kept_max = 2) : returned_(std::make_shared<Returned>(kept_max)) {}

  /// Returns an idle object with its old content, or a new object if there is no idle object.
  /// Allocates only for a new object.
  Owned take_owned() {
    std::unique_ptr<T> thing = take_returned();
    if (!thing) thing = std::make_unique<T>();
    return Owned(thing.release(), GiveBack(returned_));
  }

  /// The same as take_owned, but the object may have several owners. The last owner returns the
  /// object to the pool. Also allocates the reference count.
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
  std::shared_ptr<Returned> returned_;  ///< null in an empty Owned
};

}  // namespace starling
