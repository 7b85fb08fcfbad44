// SPDX-License-Identifier: Apache-2.0
// Takes requests from their bytes to Requests. Short requests are decoded on the loop, and long
// requests on workers. All except short requests that change nothing are handled in the order of
// their arrival. ServerCore owns it.
#pragma once

#include <cstddef>
#include <functional>

#include "starling/stream/access/access.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/requests/requests.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class RequestIntake {
 public:
  /// What the intake uses. The references must outlive it.
  struct Parts {
    Executor& executor;
    Access& access;
    Metrics& metrics;
    Requests& requests;
    Tables& tables;
    Journal* journal;  ///< null: the server has no log
    /// Called when may_read() has returned false and would now return true.
    std::function<void()> read_on;
    /// Called after each request that has waited in the queue of the decode workers, and after each
    /// function of work_beside().
    std::function<void()> ended;
  };
  RequestIntake(const ServerOptions& options, Parts parts);

  /// Takes a request. The loop decodes short requests, because handing them to a worker costs more.
  /// A short request that changes nothing does not wait for earlier batches, even of the same
  /// session.
  void receive(const Peer& peer, ReceivedBytes received);
  /// Returns whether a further request may come. If not, Parts::read_on is called later.
  bool may_read();
  /// Call it when requests that change something may be handled again.
  void go_on() { decoder_.go_on(); }
  /// Runs `function` on a decode worker, and then the function that it returns on the loop. Until
  /// then, `bytes` count as the bytes of a request.
  void work_beside(std::size_t bytes, std::function<std::function<void()>()> function);

  std::size_t waiting() const { return decoder_.waiting(); }  ///< requests that are not handled yet
  std::size_t waiting_bytes() const { return bytes_; }

 private:
  bool has_room() const;
  bool may_change() const;
  OrderedPool::Rounds rounds();
  PreparedRequest prepare(const Peer& peer, ReceivedBytes received);
  OrderedPool::Completion completion_of(const Peer& peer, PreparedRequest request);
  void ended();

  const ServerOptions& options_;
  Executor& executor_;
  Access& access_;
  Metrics& metrics_;
  Requests& requests_;
  Tables& tables_;
  const Journal* journal_;
  std::function<void()> read_on_;
  std::function<void()> ended_;
  std::size_t bytes_ = 0;
  bool is_reading_paused_ = false;
  OrderedPool decoder_;  ///< declared last, so that it ends first
};

}  // namespace starling::stream
