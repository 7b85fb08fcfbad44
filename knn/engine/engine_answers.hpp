// SPDX-License-Identifier: Apache-2.0
// Refuses one-shot queries that no engine can answer, makes the error text of an Engine that cannot
// answer, and decides which queries wait for a tick under way and which take long. The CPU, GPU and
// vector engines include this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "starling/knn/base/usage.hpp"
#include "starling/knn/engine/answers.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/space.hpp"

namespace starling {

/// Throws std::invalid_argument unless the engine can answer the queries. Engines call it first, on
/// the caller's thread.
inline void check_questions(std::span<const OneShotQuery> queries, const Engine& engine) {
  const SpaceOptions space = engine.space();
  const std::uint32_t k_most = engine.limits().k_max;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const OneShotQuery& query = queries[i];
    check_usage(query.k >= 1 && query.k <= k_most, "search_finished: query ", i,
                " has k = ", query.k, "; k is 1 to ", k_most);
    check_usage(query.anchor != AnchorKind::every_object, "search_finished: query ", i,
                " asks for every object; a one-shot query has a fixed anchor or follows an object");
    check_usage(query.anchor != AnchorKind::fixed || query.components.size() == space.dimension,
                "search_finished: query ", i, " has ", query.components.size(),
                " components; the space has ", space.dimension);
    check_usage(space.is_vector() || (!query.vote && query.regress == RegressionWeights::none),
                "search_finished: query ", i,
                " asks for a vote or a mean, which only vector spaces have");
    check_usage(
        query.regress != RegressionWeights::distance || space.metric != Metric::inner_product,
        "search_finished: query ", i,
        " weights by inner products, which may be negative; choose uniform weights");
  }
}

inline constexpr const char* ask_after_next_tick =
    "the last tick failed; ask again after the next tick that finishes";

/// Returns the error's own sentence. std::bad_alloc has no sentence; for it, returns "out of
/// memory" and `what_helps`.
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

/// Returns about how long an engine on a CPU takes for the queries, in microseconds.
inline std::int64_t estimated_us(std::span<const OneShotQuery> queries) {
  constexpr double us_per_query = 10;
  constexpr double us_per_neighbor = 0.2;
  double us = 0;
  for (const OneShotQuery& query : queries) us += us_per_query + us_per_neighbor * query.k;
  return static_cast<std::int64_t>(us);
}

/// Queries that an engine takes longer for, by estimated_us, give way to others.
inline constexpr std::int64_t long_search_us = 1000;

/// Returns true if a query must wait until no tick is under way. The index of the last finished
/// tick stays unchanged while the next index is built. The tags, times and slots of the objects
/// change during a tick, so queries that read these data are answered between ticks.
inline bool reads_objects(const OneShotQuery& query) {
  return query.anchor != AnchorKind::fixed || !query.filter.tags.is_empty() ||
         query.filter.age_us_max != Filter::any_age;
}

}  // namespace starling
