// SPDX-License-Identifier: Apache-2.0
// Questions that wait for the engine. Each owner, a connection or a principal, has a queue of its
// own. The owner that has used the least time of the engine is next, so an expensive question of
// one delays only a few cheap ones of another. QuestionRequests owns a FairQueue.
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
    std::function<void()> refuse;  ///< called instead of `begin` if others need the place
    std::int64_t estimate_us = 0;  ///< about how long it takes
  };

  /// At most `jobs_max` jobs wait and run together.
  explicit FairQueue(std::size_t jobs_max) : jobs_max_(jobs_max) {}

  /// Begins the job, now or later. If there are too many jobs, refuses the last one of the owner
  /// that has the most.
  void add(Owner owner, Job job, std::int64_t now_us);
  /// A job of the owner, which `begin` began, has ended. The owner is charged for its time. Jobs
  /// may begin in the call.
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
    std::deque<Running> running;  ///< sorted by the time of their begin
    std::int64_t used_us = 0;     ///< a time of the queue's virtual clock
    std::int64_t last_us = 0;     ///< how long its last job took
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
  std::int64_t running_us_ = 0;   ///< the estimates of the jobs that run, together
  std::int64_t virtual_us_ = 0;   ///< used_us of the owner that was served last
  std::int64_t last_end_us_ = 0;  ///< a time of the steady clock
};

}  // namespace starling::stream
