// SPDX-License-Identifier: Apache-2.0
// Takes requests from their bytes to Requests. Each request waits in a FairQueue for its payer's
// turn. The loop decodes short requests, and workers decode the others in two lanes, so that those
// of a few thousand rows do not wait for those of many. A connection's requests that change
// something are handled in the order of their turns. ServerCore owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

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
#include "starling/stream/turns/decode_window.hpp"
#include "starling/stream/turns/fair_queue.hpp"
#include "starling/stream/turns/request_owner.hpp"

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
    /// Called after each request that has waited for the decode workers, after each function of
    /// work_beside(), and when no more requests wait for their turns.
    std::function<void()> ended;
  };
  RequestIntake(const ServerOptions& options, Parts parts);

  /// Takes a request. It keeps its room until its turn.
  void receive(const Peer& peer, ReceivedBytes received, ReceivedRoom room = {});
  /// Takes a message that is not a request, to refuse it.
  void receive_malformed(const Peer& peer, ReceivedRoom room);
  /// Call it when requests that change something may be handled again.
  void go_on();
  /// Drops the requests of connections that wait for their turns, and those that come later.
  /// Requests over HTTP and WebSockets are still handled.
  void stop();
  /// Runs `function` on a worker of the lane for long requests, and then the function that it
  /// returns on the loop. Until then, `bytes` count as the bytes of a request.
  void work_beside(std::size_t bytes, std::function<std::function<void()>()> function);

  /// Return the numbers of requests that wait for their turn, that had it and are not handled yet,
  /// and of both.
  std::size_t waiting_for_turns() const { return turns_.size(); }
  std::size_t decoding() const { return medium_.pool.waiting() + long_.pool.waiting(); }
  std::size_t waiting() const { return waiting_for_turns() + decoding(); }
  std::size_t decoding_bytes() const { return medium_.bytes + long_.bytes; }

 private:
  /// Requests that are decoded beside the loop, and complete in the order of their turns.
  struct Lane {
    Lane(RequestIntake& intake, unsigned threads, ThreadPriority priority);
    bool has(const Payer& payer) const { return requests_of.contains(payer); }
    /// Counts a request, and calls `submit`, which hands it to the pool.
    template <class Submit>
    void enter(const Payer& payer, std::size_t request_bytes, std::int64_t now_us,
               const Submit& submit);
    void leave(const Payer& payer, std::size_t request_bytes);

    std::size_t bytes = 0;
    bool is_waited_for = false;  ///< a payer waits for this lane
    std::map<Payer, std::size_t> requests_of;
    DecodeWindow window;
    OrderedPool pool;  ///< declared last, so that it ends first
  };
  struct Waiting {
    Peer peer;
    ReceivedBytes received{};
    ReceivedRoom room{};
    bool is_malformed = false;
    std::unique_ptr<PreparedRequest> prepared{};  ///< decoded, and waits for room among the workers
  };
  /// What a request has cost, when it has passed the decode workers.
  struct Applied {
    Payer payer;
    std::size_t bytes = 0;
    std::int64_t us = 0;
  };

  bool has_room(Lane& lane) const;
  bool may_change() const;
  Lane* lane_for(const Payer& payer, std::size_t bytes);
  void turn_soon();
  void take_turns();
  bool serve_at_once(Waiting& request);
  bool serve(const Payer& payer, Waiting& request);
  bool serve_short(const Payer& payer, Waiting& request);
  PreparedRequest prepare(const Peer& peer, ReceivedBytes received);
  void decode_beside(Lane& lane, const Payer& payer, Waiting& request);
  /// `beside_us`: how long a worker has decoded the request.
  OrderedPool::Completion completion_of(Lane& lane, const Payer& payer, const Peer& peer,
                                        PreparedRequest request, std::int64_t beside_us);
  void round_ended(Lane& lane);

  const ServerOptions& options_;
  Executor& executor_;
  Access& access_;
  Metrics& metrics_;
  Requests& requests_;
  Tables& tables_;
  const Journal* journal_;
  std::function<void()> ended_;
  FairQueue<Waiting> turns_;
  bool is_turn_posted_ = false;
  bool may_serve_at_once_ = true;
  bool is_stopped_ = false;
  bool long_was_last_ = false;    ///< the last round was of the long lane
  std::vector<Applied> applied_;  ///< the requests of the round that goes on
  Lane medium_;
  Lane long_;
};

}  // namespace starling::stream
