// SPDX-License-Identifier: Apache-2.0
// A job is charged with its estimate when it begins, and with the difference when it ends: see
// fair_jobs.hpp.
#include "starling/stream/turns/fair_jobs.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

namespace {

/// A job with an estimate is charged with this multiple of it at most. If it seems to have taken
/// longer, it has waited for a tick.
constexpr std::int64_t estimate_factor_max = 10;
/// If the times of more owners than this are known, all are forgotten.
constexpr std::size_t last_times_max = 4096;

}  // namespace

void FairJobs::add(const Payer& payer, Job job, std::int64_t now_us) {
  if (count() >= limits_.jobs_max && !make_place(payer.owner)) return job.refuse();
  waiting_.push(payer, std::move(job));
  begin_some(now_us);
}

/// Makes a place for one more job of `owner`: refuses the last waiting job of the owner with the
/// most jobs. Returns false, and refuses nothing, if no owner has at least two jobs more than
/// `owner`.
bool FairJobs::make_place(const RequestOwner& owner) {
  const auto size_of = [this](const RequestOwner& each, std::size_t waiting) {
    return count_of(each, waiting);
  };
  const auto last =
      waiting_.take_last_of_largest(size_of, count_of(owner, waiting_.size_of(owner)) + 1);
  if (!last) return false;
  last->refuse();
  return true;
}

std::size_t FairJobs::count_of(const RequestOwner& owner, std::size_t waiting) const {
  const auto running = std::ranges::count_if(
      running_, [&](const Running& each) { return each.payer.owner == owner; });
  return waiting + static_cast<std::size_t>(running);
}

void FairJobs::begin_some(std::int64_t now_us) {
  while (waiting_.is_ready() && running_.size() < limits_.running_max &&
         running_us_ < limits_.running_us_enough)
    waiting_.serve_next([&](const Payer& payer, Job& job) -> std::optional<std::int64_t> {
      const bool is_long = job.estimate_us >= limits_.long_us;
      if (long_of_ && (is_long || *long_of_ == payer)) return std::nullopt;
      const auto last = last_us_.find(payer.owner);
      const std::int64_t estimate_us =
          std::max(job.estimate_us, last == last_us_.end() ? 0 : last->second);
      try {
        running_.push_back({payer, now_us, estimate_us, job.estimate_us, is_long});
      } catch (const std::bad_alloc&) {
        job.refuse();
        return 0;
      }
      bool has_begun = false;
      bool has_memory = true;
      try {
        has_begun = job.begin();
      } catch (const std::bad_alloc&) {
        has_memory = false;
      }
      if (has_begun) {
        if (is_long)
          long_of_ = payer;
        else
          running_us_ += estimate_us;
        return estimate_us;
      }
      running_.pop_back();
      if (!has_memory) job.refuse();
      return 0;
    });
}

/// Without memory, the owner's next job is charged its own estimate.
void FairJobs::note_last(const RequestOwner& owner, std::int64_t took_us) try {
  if (last_us_.size() >= last_times_max) last_us_.clear();
  last_us_[owner] = took_us;
} catch (const std::bad_alloc&) {
}

// One short job ends after another, so the time before the last end belongs to the job before this
// one.
std::int64_t FairJobs::ended(const Payer& payer, std::int64_t now_us) {
  const auto found = std::ranges::find(running_, payer, &Running::payer);
  check_invariant(found != running_.end(), "a job that ends has begun");
  const Running ended = *found;
  running_.erase(found);
  std::int64_t took_us = now_us - ended.since_us;
  if (ended.is_long) {
    long_of_ = std::nullopt;
    waiting_.release();
  } else {
    running_us_ -= ended.estimate_us;
    took_us = now_us - std::max(ended.since_us, last_end_us_);
    last_end_us_ = now_us;
  }
  if (ended.own_us > 0) took_us = std::min(took_us, ended.own_us * estimate_factor_max);
  if (!ended.is_long) note_last(payer.owner, took_us);
  waiting_.charge(payer, took_us - ended.estimate_us);
  begin_some(now_us);
  return ended.own_us > 0 ? std::min(took_us, ended.own_us) : took_us;
}

}  // namespace starling::stream
