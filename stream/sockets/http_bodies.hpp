// SPDX-License-Identifier: Apache-2.0
// The memory for bodies of requests that are read and not answered yet, of all HTTP connections
// together. A connection takes room for a whole body before it reads the body. If there is no room,
// the connection waits. HttpServer has one HttpBodies.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "starling/stream/turns/request_owner.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class HttpBodies {
 public:
  using GoOn = std::function<void()>;

  explicit HttpBodies(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Takes room for a body. Returns false if there is none: all bodies together would have more
  /// than `bytes_max` bytes, and the owner's more than an equal part for each owner with bodies. So
  /// one body of an owner always has room in its part, whatever others send.
  bool take(const RequestOwner& owner, std::size_t bytes);
  /// Takes room once there is some, and calls `go_on`. Those that have waited longer come first.
  /// Forgets what waits when `go_on` has expired.
  void wait(const RequestOwner& owner, std::size_t bytes, std::weak_ptr<const GoOn> go_on);
  void give_back(const RequestOwner& owner, std::size_t bytes);

  std::size_t bytes() const { return bytes_; }
  std::size_t bytes_max() const { return bytes_max_; }

 private:
  struct Waiting {
    RequestOwner owner;
    std::size_t bytes = 0;
    std::weak_ptr<const GoOn> go_on;
  };

  const std::size_t bytes_max_;
  std::map<RequestOwner, std::size_t> bytes_of_;  ///< the owners with bodies
  std::size_t bytes_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace starling::stream
