// SPDX-License-Identifier: Apache-2.0
// Questions that wait for the engine. Each owner, a connection or a principal, has a queue of its
// own. The owner that has used the least time of the engine is next, so an expensive question of
// one owner delays only a few cheap questions of another owner. QuestionRequests owns a FairQueue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "starling/stream/state/request_owner.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class FairQueue {
 public:
  using Owner = RequestOwner;

  struct Job {
    std::function<bool()> begin;   ///< returns false if the job has ended already; must not throw
    std::function<void()> refuse;  ///< called instead of `begin` if the queue is full
    std::int64_t estimate_us = 0;  ///< about how long the job takes
  };

  /// At most `jobs_max` jobs wait and run together.
  explicit FairQueue(std::size_t jobs_max) : jobs_max_(jobs_max) {}

  /// Begins the job, now or later. If the queue is full, refuses the last waiting job of the owner
  /// with the most jobs, or this job.
  void add(Owner owner, Job job, std::int64_t now_us);
  /// Call it when a job of the owner, which has begun, ends. Charges the owner for the job's time.
  /// Other jobs may begin in the call.
  void ended(Owner owner, std::int64_t now_us);

  /// Returns the number of jobs that wait or run.
  std::size_t count() const { return waiting_ + running_; }

 private:
  struct Running {
    std::int64_t since_us = 0;
    std::int64_t estimate_us = 0;
  };
  struct Account {
    std::deque<Job> waiting;
    std::deque<Running> running;  ///< sorted by the time at which they began
    std::int64_t used_us = 0;     ///< the owner's time on the virtual clock
    std::int64_t last_us = 0;     ///< how long the owner's last job took
    std::size_t count() const { return waiting.size() + running.size(); }
  };
  using Accounts = std::map<Owner, Account>;

  bool make_place(const Account& account);
  void begin_some(std::int64_t now_us);
  Accounts::iterator next();
  void forget_idle();

  const std::size_t jobs_max_;
  Accounts accounts_;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
  std::int64_t running_us_ = 0;   ///< sum of the estimates of the running jobs
  std::int64_t virtual_us_ = 0;   ///< used_us of the owner that was served last
  std::int64_t last_end_us_ = 0;  ///< time of the steady clock when a job last ended
};

}  // namespace starling::stream
