// SPDX-License-Identifier: Apache-2.0
// Jobs that something beside the loop carries out, such as an engine or a reader of the log. They
// begin in the order of a FairQueue. A few run together if they are short, also beside a long one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "starling/stream/turns/fair_queue.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class FairJobs {
 public:
  struct Job {
    /// Returns false if the job has ended already. If it throws std::bad_alloc, the job has not
    /// begun and is refused.
    std::function<bool()> begin;
    std::function<void()> refuse;  ///< called if there are too many jobs, or too little memory
    std::int64_t estimate_us = 0;  ///< about how long the job takes; 0: it is not known
  };
  struct Limits {
    std::size_t jobs_max = 0;  ///< jobs that wait and run together
    std::size_t running_max = std::numeric_limits<std::size_t>::max();
    /// While the running jobs are expected to take longer than this, no other job begins: a job
    /// that has begun cannot be overtaken.
    std::int64_t running_us_enough = 1000;
    /// Jobs with an estimate of at least this are long: one of them runs at a time, and does not
    /// count as one of those that others wait for. Only jobs of its payer wait for its end.
    std::int64_t long_us = std::numeric_limits<std::int64_t>::max();
  };

  explicit FairJobs(const Limits& limits) : limits_(limits) {}

  /// Begins the job, now or later. If there are too many, refuses the last waiting job of the owner
  /// with the most jobs, or this job.
  void add(const Payer& payer, Job job, std::int64_t now_us);
  /// Call it when a job of the payer, which has begun, ends. Charges the payer for the job's time.
  /// Returns that time, but the job's own estimate at most: the job may have waited for a tick.
  /// Other jobs may begin in the call.
  std::int64_t ended(const Payer& payer, std::int64_t now_us);

  /// Returns the number of jobs that wait or run.
  std::size_t count() const { return waiting_.size() + running_.size(); }

 private:
  struct Running {
    Payer payer;
    std::int64_t since_us = 0;
    std::int64_t estimate_us = 0;
    std::int64_t own_us = 0;  ///< Job::estimate_us
    bool is_long = false;
  };

  bool make_place(const RequestOwner& owner);
  std::size_t count_of(const RequestOwner& owner, std::size_t waiting) const;
  void begin_some(std::int64_t now_us);
  void note_last(const RequestOwner& owner, std::int64_t took_us);

  const Limits limits_;
  FairQueue<Job> waiting_;
  std::deque<Running> running_;   ///< sorted by the time at which they began
  std::int64_t running_us_ = 0;   ///< sum of the estimates of the running jobs that are not long
  std::optional<Payer> long_of_;  ///< the payer of the long job that runs
  std::int64_t last_end_us_ = 0;  ///< time of the steady clock when a job last ended
  /// How long the last job of each owner took.
  std::map<RequestOwner, std::int64_t> last_us_;
};

}  // namespace starling::stream
