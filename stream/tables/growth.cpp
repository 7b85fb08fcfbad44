// SPDX-License-Identifier: Apache-2.0
// Asks the memory budget before the tables grow: see growth.hpp.
#include "starling/stream/tables/growth.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/spdlog.h>

#include "starling/knn/base/plain_text.hpp"

namespace starling::stream {

namespace {

constexpr std::uint64_t unlimited_bytes = std::numeric_limits<std::uint64_t>::max();

}  // namespace

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

std::uint64_t Growth::list_bytes() const {
  return processor_.queries().list_bytes(processor_.objects());
}

/// Returns about how much memory the objects take that have come since the lists last grew.
std::uint64_t Growth::bytes_of_new_objects() const {
  constexpr std::uint64_t bytes_per_object = 300;
  constexpr std::uint64_t bytes_per_component = 12;
  const std::uint64_t objects = processor_.objects().slot_end() - objects_then_;
  return objects * (bytes_per_object + bytes_per_component * processor_.space().dimension);
}

void Growth::limit_lists() {
  const std::uint64_t left = budget_.bytes_left(executor_.now_us());
  std::uint64_t promised = 0;
  // The process may have freed other memory since. No more than all lists is still to come.
  bytes_with_lists_ = std::min(bytes_with_lists_, budget_.used() + list_bytes_most_);
  if (bytes_with_lists_ > 0) {
    const std::uint64_t later = bytes_with_lists_ + bytes_of_new_objects();
    promised = later > budget_.used() ? later - budget_.used() : 0;
  }
  list_bytes_max_ = list_bytes_most_ + (left > promised ? left - promised : 0);
  processor_.set_list_bytes_max(list_bytes_max_);
}

void Growth::lists_begin() {
  // The engine frees memory when the lists take much less than before.
  constexpr std::uint64_t freed_part = 4;
  const std::uint64_t bytes = list_bytes();
  if (bytes > list_bytes_most_) {
    const std::uint64_t later =
        bytes_with_lists_ > 0 ? bytes_with_lists_ + bytes_of_new_objects() : 0;
    bytes_with_lists_ = std::max(later, budget_.used()) + (bytes - list_bytes_most_);
    objects_then_ = processor_.objects().slot_end();
    list_bytes_most_ = bytes;
  } else if (bytes < list_bytes_most_ / freed_part) {
    list_bytes_most_ = bytes;
    bytes_with_lists_ = 0;
  }
}

bool Growth::recover_lists() {
  limit_lists();
  processor_.set_list_bytes_max(unlimited_bytes);  // recovery takes all queries that the log has
  // The lists fitted when they were made, perhaps closely, and the recovery itself takes memory.
  constexpr std::uint64_t spared_part = 8;
  const std::uint64_t bytes = list_bytes();
  if (bytes - bytes / spared_part > std::exchange(list_bytes_max_, unlimited_bytes)) return false;
  lists_begin();
  return true;
}

void Growth::end_recovery() {
  if (list_bytes_most_ > 0) return;
  // The lists are those of a snapshot of the log. The engine has one of its copies, and no message
  // was made. That is less than half of what they will take.
  list_bytes_most_ = list_bytes();
  static_cast<void>(budget_.bytes_left(executor_.now_us()));
  bytes_with_lists_ = budget_.used() + list_bytes_most_ / 2;
  objects_then_ = processor_.objects().slot_end();
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
