// SPDX-License-Identifier: Apache-2.0
// Passes items from any thread to the thread of a Boost.Asio loop. The loop is woken only once for
// all items that it has not taken. CommandSocket and ResultsSocket use it between the server's loop
// and the I/O threads.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace starling::stream::zmtp {

template <class Item>
class Mailbox {
 public:
  /// The loop calls `arrived` when there are items to take. The loop must not run after the
  /// mailbox is destroyed.
  Mailbox(boost::asio::io_context& loop, std::function<void()> arrived)
      : loop_(loop), arrived_(std::move(arrived)) {}

  /// If it throws std::bad_alloc, the item is not in the mailbox.
  void push(Item item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    if (is_told_) return;
    try {
      boost::asio::post(loop_, [this] { arrived_(); });
    } catch (...) {
      items_.pop_back();
      throw;
    }
    is_told_ = true;
  }

  /// Returns all items, in the order of push(). Only the loop calls it.
  std::vector<Item> take() {
    const std::lock_guard lock(mutex_);
    is_told_ = false;
    return std::exchange(items_, {});
  }

 private:
  boost::asio::io_context& loop_;
  std::function<void()> arrived_;
  std::mutex mutex_;
  std::vector<Item> items_;
  bool is_told_ = false;
};

}  // namespace starling::stream::zmtp
