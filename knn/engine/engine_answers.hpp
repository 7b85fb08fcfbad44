// SPDX-License-Identifier: Apache-2.0
// Makes the error text of an Engine that cannot answer, and decides which one-shot queries wait for
// a tick under way. The CPU, GPU and vector engines include this file.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"

namespace starling {

inline constexpr const char* ask_after_next_tick =
    "the last tick failed; ask again after the next tick that finishes";

/// Returns the error's own sentence. For std::bad_alloc, which has none, returns "out of memory"
/// and `what_helps`.
inline std::string sentence_of(const std::exception& error, const char* what_helps) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  return std::string("out of memory; ") + what_helps;
}

/// Returns the answers of `make`. If `make` throws, returns Answers with the error.
template <class Make>
auto answers_or_error(Make make) -> decltype(make()) {
  Answers failed;
  try {
    return make();
  } catch (const std::exception& error) {
    failed.error = sentence_of(error, "ask in smaller parts, or for fewer neighbours");
  }
  return failed;
}

/// Returns true if a query must wait until no tick is under way. The index of the last finished
/// tick stays unchanged while the next index is built. The tags, times and slots of the objects
/// change during a tick, so queries that read these data are answered between ticks.
inline bool reads_objects(const OneShotQuery& query) {
  return query.anchor != AnchorKind::fixed || !query.filter.tags.is_empty() ||
         query.filter.age_us_max != Filter::any_age;
}

}  // namespace starling
