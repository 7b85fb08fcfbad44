// SPDX-License-Identifier: Apache-2.0
// A FinishedTick has two indexes that alternate, a third one that takes the place of a kept tick's,
// and a mutex. One-shot queries hold the mutex for a few searches at most, so the engine gets it
// soon. See finished_tick.hpp.
#include "starling/cpu/points/finished_tick.hpp"

#include <mutex>
#include <stdexcept>
#include <utility>

#include "starling/knn/engine/engine_answers.hpp"

namespace starling::cpu {
namespace {

void append_answer(const OneShotQuery& query, const SpatialIndex& index,
                   const ObjectSnapshot& objects, QuestionScratch& scratch, Answers& answers) {
  SearchRequest request = request_for(query.filter, query.k, answers.tau_us);
  request.position = query.position;
  if (query.anchor == AnchorKind::follow) ask_around(query.object, objects, request);
  const std::size_t first = answers.neighbors.size();
  answers.neighbors.resize(first + request.k);
  scratch.slots.resize(request.k);
  request.neighbors = answers.neighbors.data() + first;
  request.slots = scratch.slots.data();
  search(index, objects, std::span(&request, 1), scratch.search);
  answers.neighbors.resize(first + request.found);
  Answers::List& list = answers.lists.emplace_back();
  list.query = static_cast<Slot>(answers.lists.size() - 1);
  list.count = request.found;
  list.first = first;
  list.is_unknown = query.anchor == AnchorKind::follow && !objects.is_known_alive(query.object);
}

}  // namespace

Answers KeptTick::answer(std::span<const OneShotQuery> queries, QuestionScratch& scratch) const {
  Answers answers;
  answers.tick = tick;
  answers.tau_us = tau_us;
  for (const OneShotQuery& query : queries) append_answer(query, *index, objects, scratch, answers);
  return answers;
}

// Lets the engine have the mutex before the next one-shot query, which a mutex alone does not
// guarantee.
std::unique_lock<std::shared_mutex> FinishedTick::lock() {
  engine_waits_ = true;
  std::unique_lock lock(mutex_);
  engine_waits_ = false;
  engine_waits_.notify_all();
  return lock;
}

void FinishedTick::finish(Tick tick, std::int64_t tau_us) {
  {
    const auto locked = lock();
    std::swap(index_, next_index_);
    tick_ = tick;
    tau_us_ = tau_us;
    objects_ahead_ = false;
  }
  // The kept tick was the last one, so its index is the one that would be built anew now.
  if (third_index_) next_index_ = std::move(third_index_);
}

void FinishedTick::fail() {
  const auto locked = lock();
  objects_ahead_ = true;
}

std::shared_ptr<const KeptTick> FinishedTick::keep() {
  if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
  if (const auto kept = kept_.lock()) return kept->tick == tick_ ? kept : nullptr;
  if (!third_index_) third_index_ = std::make_shared<SpatialIndex>(space_);
  auto kept = std::make_shared<const KeptTick>(index_, objects_, tick_, tau_us_);
  kept_ = kept;
  return kept;
}

std::uint64_t FinishedTick::spare_bytes_used() const {
  const auto kept = kept_.lock();
  const bool keeps_index = kept && kept->index != index_;
  return next_index_->bytes_used() + (keeps_index ? kept->index->bytes_used() : 0) +
         (kept ? kept->objects.bytes_used() : 0);
}

std::optional<Answers> FinishedTick::answer(std::span<const OneShotQuery> queries,
                                            QuestionScratch& scratch) {
  Answers answers;
  {
    const std::shared_lock locked(mutex_);
    answers.tick = tick_;
    answers.tau_us = tau_us_;
  }
  for (const OneShotQuery& query : queries) {
    engine_waits_.wait(true);
    const std::shared_lock locked(mutex_);
    if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
    if (tick_ != answers.tick) return std::nullopt;
    append_answer(query, *index_, objects_, scratch, answers);
  }
  return answers;
}

std::optional<Answers> FinishedTick::answer_at_once(std::span<const OneShotQuery> queries,
                                                    QuestionScratch& scratch) {
  if (engine_waits_) return std::nullopt;
  const std::shared_lock locked(mutex_, std::try_to_lock);
  if (!locked || objects_ahead_) return std::nullopt;
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  for (const OneShotQuery& query : queries)
    append_answer(query, *index_, objects_, scratch, answers);
  return answers;
}

}  // namespace starling::cpu
