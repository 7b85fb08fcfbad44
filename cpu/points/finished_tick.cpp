// SPDX-License-Identifier: Apache-2.0
// A FinishedTick has two indexes that alternate, and a mutex. One-shot queries hold the mutex for a
// few searches at most, so the engine gets it soon. See finished_tick.hpp.
#include "starling/cpu/points/finished_tick.hpp"

#include <stdexcept>

#include "starling/knn/engine/engine_answers.hpp"

namespace starling::cpu {

// Lets the engine have the mutex before the next one-shot query, which a mutex alone does not
// guarantee.
std::unique_lock<std::mutex> FinishedTick::lock() {
  engine_waits_ = true;
  std::unique_lock lock(mutex_);
  engine_waits_ = false;
  engine_waits_.notify_one();
  return lock;
}

void FinishedTick::finish(Tick tick, std::int64_t tau_us) {
  const auto locked = lock();
  index_ = 1 - index_;
  tick_ = tick;
  tau_us_ = tau_us;
  objects_ahead_ = false;
}

void FinishedTick::fail() {
  const auto locked = lock();
  objects_ahead_ = true;
}

std::optional<Answers> FinishedTick::answer(std::span<const OneShotQuery> queries) {
  Answers answers;
  {
    const std::lock_guard locked(mutex_);
    answers.tick = tick_;
    answers.tau_us = tau_us_;
  }
  for (const OneShotQuery& query : queries) {
    engine_waits_.wait(true);
    const std::lock_guard locked(mutex_);
    if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
    if (tick_ != answers.tick) return std::nullopt;
    append_answer(query, answers);
  }
  return answers;
}

std::optional<Answers> FinishedTick::answer_at_once(std::span<const OneShotQuery> queries) {
  const std::unique_lock locked(mutex_, std::try_to_lock);
  if (!locked || engine_waits_ || objects_ahead_) return std::nullopt;
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  for (const OneShotQuery& query : queries) append_answer(query, answers);
  return answers;
}

void FinishedTick::append_answer(const OneShotQuery& query, Answers& answers) {
  SearchRequest request = request_for(query.filter, query.k, tau_us_);
  request.position = query.position;
  if (query.anchor == AnchorKind::follow) ask_around(query.object, objects_, request);
  const std::size_t first = answers.neighbors.size();
  answers.neighbors.resize(first + request.k);
  slots_.resize(request.k);
  request.neighbors = answers.neighbors.data() + first;
  request.slots = slots_.data();
  search(indexes_[index_], objects_, std::span(&request, 1), scratch_);
  answers.neighbors.resize(first + request.found);
  Answers::List& list = answers.lists.emplace_back();
  list.query = static_cast<Slot>(answers.lists.size() - 1);
  list.count = request.found;
  list.first = first;
  list.is_unknown = query.anchor == AnchorKind::follow && !objects_.is_known_alive(query.object);
}

}  // namespace starling::cpu
