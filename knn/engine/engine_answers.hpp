// What every Engine says when it cannot answer, and which questions wait for a tick under way.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"

namespace starling {

inline constexpr const char* ask_after_next_tick =
    "the last tick failed; ask again when one has finished";

/// What went wrong, and of memory, whose exception says nothing, what helps.
inline std::string sentence_of(const std::exception& error, const char* what_helps) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  return std::string("out of memory; ") + what_helps;
}

/// What `make` returns, or the error that it met, for whoever asked.
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

/// The index of the last finished tick stays whole while the next one is built; the objects' tags,
/// times and slots do not, so questions that read them wait their turn between ticks.
inline bool reads_objects(const OneShotQuery& query) {
  return query.anchor != AnchorKind::fixed || !query.filter.tags.is_empty() ||
         query.filter.age_us_max != Filter::any_age;
}

}  // namespace starling
