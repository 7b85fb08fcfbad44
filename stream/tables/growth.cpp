// SPDX-License-Identifier: Apache-2.0
// Asks the memory budget before the tables grow: see growth.hpp.
#include "starling/stream/tables/growth.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "starling/knn/base/plain_text.hpp"

namespace starling::stream {

Growth::Growth(Executor& executor, MemoryBudget::Options options, Processor& processor,
               NameTable& names)
    : executor_(executor), processor_(processor), names_(names), budget_(std::move(options)) {}

bool Growth::let_grow(std::uint64_t bytes) {
  const std::int64_t now_us = executor_.now_us();
  budget_.expect(bytes);
  // The engine takes the objects that are new since the last tick at the next tick, and may then
  // copy its arrays.
  constexpr std::uint64_t engine_bytes_per_object = 100;
  const std::uint64_t later_bytes =
      engine_bytes_ + processor_.engine().staging().births.size() * engine_bytes_per_object;
  const bool has_room =
      budget_.has_room(now_us, processor_.objects().largest_copied_bytes() + later_bytes);
  processor_.set_may_grow(has_room);
  names_.set_may_grow(has_room);
  if (!has_room && !is_short_) warn(now_us);
  is_short_ = !has_room;
  return has_room;
}

void Growth::warn(std::int64_t now_us) {
  constexpr std::int64_t pause_us = 10'000'000;
  if (now_us - warned_us_ <= pause_us) return;
  warned_us_ = now_us;
  spdlog::warn(
      "memory is short: {} are in use, and memory-bytes-max is {}. Ticks go on, and nothing is "
      "added until memory is free. Remove queries or objects, or give the server more memory",
      bytes_text(budget_.used()), bytes_text(budget_.bytes_max()));
}

}  // namespace starling::stream
