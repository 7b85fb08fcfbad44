// SPDX-License-Identifier: Apache-2.0
// Fair queueing with a virtual clock. Each job moves its owner ahead by the time that the job took.
// An owner that comes back starts at the time of the owner that was served last, so it cannot save
// up time. See fair_queue.hpp.
#include "starling/stream/state/fair_queue.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

namespace {

/// While the running jobs are expected to take longer than this, no other job begins: a job that
/// has begun cannot be overtaken.
constexpr std::int64_t running_us_enough = 1000;
/// If there are more accounts than this, those without jobs are forgotten.
constexpr std::size_t idle_accounts_max = 4096;

}  // namespace

void FairQueue::add(Owner owner, Job job, std::int64_t now_us) {
  Account& account = accounts_[owner];
  if (count() >= jobs_max_ && !make_place(account)) return job.refuse();
  if (account.count() == 0) account.used_us = std::max(account.used_us, virtual_us_);
  account.waiting.push_back(std::move(job));
  ++waiting_;
  begin_some(now_us);
}

/// Makes a place for one more job of `account`: refuses the last waiting job of the owner with the
/// most jobs. Returns false, and refuses nothing, if no owner has at least two jobs more than
/// `account`.
bool FairQueue::make_place(const Account& account) {
  const auto size_of = [](const auto& each) {
    return each.second.waiting.empty() ? 0 : each.second.count();
  };
  const auto most = std::ranges::max_element(accounts_, {}, size_of);
  if (most == accounts_.end() || size_of(*most) <= account.count() + 1) return false;
  const Job last = std::move(most->second.waiting.back());
  most->second.waiting.pop_back();
  --waiting_;
  last.refuse();
  return true;
}

void FairQueue::begin_some(std::int64_t now_us) {
  while (waiting_ > 0 && (running_ == 0 || running_us_ < running_us_enough)) {
    Account& account = next()->second;
    const Job job = std::move(account.waiting.front());
    account.waiting.pop_front();
    --waiting_;
    virtual_us_ = std::max(virtual_us_, account.used_us);
    if (!job.begin()) continue;
    const std::int64_t estimate_us = std::max(job.estimate_us, account.last_us);
    account.running.push_back({now_us, estimate_us});
    account.used_us += estimate_us;
    running_us_ += estimate_us;
    ++running_;
  }
}

FairQueue::Accounts::iterator FairQueue::next() {
  auto found = accounts_.end();
  for (auto each = accounts_.begin(); each != accounts_.end(); ++each)
    if (!each->second.waiting.empty() &&
        (found == accounts_.end() || each->second.used_us < found->second.used_us))
      found = each;
  return found;
}

// The engine answers one question after another, so the time before the last answer belongs to the
// question before this one.
void FairQueue::ended(Owner owner, std::int64_t now_us) {
  Account& account = accounts_[owner];
  check_invariant(!account.running.empty(), "a job that ends has begun");
  const Running ended = account.running.front();
  account.running.pop_front();
  --running_;
  running_us_ -= ended.estimate_us;
  account.last_us = now_us - std::max(ended.since_us, last_end_us_);
  account.used_us += account.last_us - ended.estimate_us;
  last_end_us_ = now_us;
  begin_some(now_us);
  if (accounts_.size() > idle_accounts_max) forget_idle();
}

void FairQueue::forget_idle() {
  std::erase_if(accounts_, [](const auto& each) { return each.second.count() == 0; });
}

}  // namespace starling::stream
