// SPDX-License-Identifier: Apache-2.0
// The engine in this process: objects that move, standing queries, ticks and the lists that
// changed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling.h>

#include "starling/clients/cpp/error.hpp"
#include "starling/clients/cpp/lists.hpp"
#include "starling/clients/cpp/words.hpp"

namespace starling {
inline namespace v0 {

/// Takes objects and standing queries, and at each tick returns the lists that changed. Updates
/// wait for the next tick. Times are microseconds since an epoch that the program chooses. Calls
/// without a time use the time since 1970.
class Engine {
 public:
  explicit Engine(Space space = Space::planar2) : Engine(EngineOptions{.space = space}) {}
  explicit Engine(const EngineOptions& options) : space_(options.space) {
    starling_engine_options given{};
    detail::check(starling_engine_options_init(&given, sizeof(given)));
    given.space = static_cast<starling_space>(options.space);
    std::ranges::copy(std::array{options.origin.x, options.origin.y, options.origin.z},
                      given.origin);
    given.dimension = options.dimension;
    given.metric = static_cast<starling_metric>(options.metric);
    given.backend = static_cast<starling_backend>(options.backend);
    given.device = options.device;
    given.threads = options.threads;
    given.update_threads = options.update_threads;
    given.resolution_m = options.resolution_m.value_or(given.resolution_m);
    given.objects_max = options.objects_max.value_or(given.objects_max);
    given.queries_max = options.queries_max.value_or(given.queries_max);
    given.neighbors_max = options.neighbors_max.value_or(given.neighbors_max);
    given.object_ttl_us = options.object_ttl_us.value_or(given.object_ttl_us);
    given.tombstone_ttl_us = options.tombstone_ttl_us.value_or(given.tombstone_ttl_us);
    dimension_ = given.dimension;
    starling_engine* made = nullptr;
    detail::check(starling_engine_create(&given, &made));
    handle_.reset(made);
  }

  /// Adds or moves an object. Without `tags`, an object keeps its tags. Returns false if the engine
  /// holds a newer position. Throws Error if the position has no place in the space or a limit is
  /// reached.
  bool update(std::uint64_t id, const Position& at, std::int64_t time_us = now_us(),
              std::optional<std::uint32_t> tags = {}) {
    detail::check_argument(space_ != Space::vector,
                           "A vector space takes a span of float32 components, not a Position.");
    const std::array coordinates{at.x, at.y, at.z};
    const std::size_t components = space_ == Space::planar2 ? 2 : 3;
    return update({.ids = {&id, 1},
                   .coordinates = std::span(coordinates).first(components),
                   .times_us = {&time_us, 1},
                   .tags = {tags ? &*tags : nullptr, tags ? 1U : 0U}})
               .late == 0;
  }
  /// Adds or changes an object in a vector space. Otherwise like update() of a Position.
  bool update(std::uint64_t id, std::span<const float> vector, std::int64_t time_us = now_us(),
              std::optional<std::uint32_t> tags = {}) {
    return update({.ids = {&id, 1},
                   .coordinates_f32 = vector,
                   .times_us = {&time_us, 1},
                   .tags = {tags ? &*tags : nullptr, tags ? 1U : 0U}})
               .late == 0;
  }
  /// Adds or changes many objects. If a row is refused, the other rows still count, and the call
  /// throws Error, which names the first refused row (counted from 0). If `statuses` is given (one
  /// entry per row), it receives the status of each row, and refused rows throw nothing.
  starling_counts update(const Rows& rows, std::span<starling_row_status> statuses = {}) {
    const std::size_t count = rows.ids.size();
    const bool is_f32 = !rows.coordinates_f32.empty();
    const std::size_t numbers = is_f32 ? rows.coordinates_f32.size() : rows.coordinates.size();
    detail::check_argument(count == 0 ? numbers == 0 : numbers % count == 0, count, " ids have ",
                           numbers, " coordinates; give each id the same number of them.");
    for (const auto& [name, size] :
         {std::pair{"times_us", rows.times_us.size()}, std::pair{"tags", rows.tags.size()},
          std::pair{"labels", rows.labels.size()}, std::pair{"values", rows.values.size()},
          std::pair{"statuses", statuses.size()}})
      detail::check_argument(size == 0 || size == count, name, " has ", size, " entries for ",
                             count, " ids; give one for each, or none.");
    auto given = detail::sized<starling_rows>();
    given.count = count;
    given.ids = rows.ids.data();
    given.times_us = rows.times_us.empty() ? nullptr : rows.times_us.data();
    given.time_us = given.times_us == nullptr ? now_us() : 0;
    given.coordinates = is_f32 ? nullptr : rows.coordinates.data();
    given.coordinates_f32 = is_f32 ? rows.coordinates_f32.data() : nullptr;
    given.components = count == 0 ? std::max(dimension_, std::uint32_t{2})
                                  : static_cast<std::uint32_t>(numbers / count);
    given.tags = rows.tags.empty() ? nullptr : rows.tags.data();
    given.labels = rows.labels.empty() ? nullptr : rows.labels.data();
    given.values = rows.values.empty() ? nullptr : rows.values.data();
    return take(count, statuses, "Row", rows.ids, [&](auto* told, starling_counts* counts) {
      return starling_engine_update(handle(), &given, std::numeric_limits<std::int64_t>::max(),
                                    told, counts);
    });
  }
  /// Sets and clears tag bits of an object. Returns false if the engine holds newer tags.
  bool update_tags(std::uint64_t id, std::uint32_t set, std::uint32_t clear,
                   std::int64_t time_us = now_us()) {
    return take(1, {}, "Row", {&id, 1}, [&](auto* told, starling_counts* counts) {
             return starling_engine_update_tags(handle(), 1, &id, &time_us, &set, &clear, told,
                                                counts);
           }).late == 0;
  }
  /// Removes an object. Older rows do not bring it back. Returns false if the engine holds a newer
  /// row.
  bool remove(std::uint64_t id, std::int64_t time_us = now_us()) {
    return take(1, {}, "Row", {&id, 1}, [&](auto* told, starling_counts* counts) {
             return starling_engine_remove_objects(handle(), 1, &id, &time_us, told, counts);
           }).late == 0;
  }

  /// Adds a stream, or changes what it reports. A name has 1 to 255 bytes.
  void put_stream(const std::string& name, const StreamOptions& stream = {}) {
    const starling_stream given{
        .size = sizeof(starling_stream),
        .name = name.c_str(),
        .on = static_cast<starling_report_on>(stream.on),
        .with = (stream.with_distance ? std::uint32_t{STARLING_WITH_DISTANCE} : 0U) |
                (stream.with_position ? std::uint32_t{STARLING_WITH_POSITION} : 0U) |
                (stream.with_tags ? std::uint32_t{STARLING_WITH_TAGS} : 0U)};
    detail::check(starling_engine_put_stream(handle(), &given));
  }
  /// Removes a stream and its queries. The next tick reports the removals.
  void remove_stream(const std::string& name) {
    detail::check(starling_engine_remove_stream(handle(), name.c_str()));
  }
  /// Adds queries to a stream, or replaces the queries with the same ids. If a query is malformed,
  /// throws Error and puts no query. If a query has no place in the space or reaches a limit,
  /// throws Error, but puts the other queries.
  void put_queries(const std::string& stream, std::span<const Query> queries) {
    const std::vector<starling_query> given = given_queries(queries);
    std::vector<std::uint64_t> ids;
    for (const Query& query : queries) ids.push_back(query.id);
    take(ids.size(), {}, "Query", ids, [&](auto* told, starling_counts* counts) {
      return starling_engine_put_queries(handle(), stream.c_str(), given.data(), given.size(), told,
                                         counts);
    });
  }
  void put_query(const std::string& stream, const Query& query) {
    put_queries(stream, {&query, 1});
  }
  void remove_query(const std::string& stream, std::uint64_t id) {
    take(1, {}, "Query", {&id, 1}, [&](auto* told, starling_counts* counts) {
      return starling_engine_remove_queries(handle(), stream.c_str(), &id, 1, told, counts);
    });
  }

  /// Runs a tick, waits for it, and returns the lists that changed. tau_us must not be less than
  /// the last tick's. Without tau_us, the time is now, or the last tick's time if the clock was set
  /// back.
  Result tick(std::int64_t tau_us) {
    begin_tick(tau_us);
    return finish_tick();
  }
  Result tick() { return tick(std::max(now_us(), last_tau_us_)); }
  /// tick() in two steps. Between them, the program may put rows of the next tick.
  void begin_tick(std::int64_t tau_us) {
    detail::check(starling_engine_begin_tick(handle(), tau_us));
    last_tau_us_ = tau_us;
  }
  Result finish_tick() {
    starling_result* result = nullptr;
    detail::check(starling_engine_finish_tick(handle(), &result));
    return Result(result);
  }
  /// Answers questions from the last finished tick. The lists are in the order of the questions.
  Result neighbors(std::span<const Query> questions) {
    const std::vector<starling_query> given = given_queries(questions);
    starling_result* result = nullptr;
    detail::check(starling_engine_neighbors(handle(), given.data(), given.size(), &result));
    return Result(result);
  }
  /// Answers one question. Throws Error if it follows an object that the last finished tick does
  /// not have.
  std::vector<Neighbor<std::uint64_t>> neighbors(const Query& question) {
    const Result result = neighbors(std::span(&question, 1));
    const List list = result[0];
    if (list.is_unknown)
      throw Error(STARLING_REFUSED,
                  "The last tick has no object " + std::to_string(*question.follow) +
                      ": it was never put, was removed or has expired. An object that was just put "
                      "is there from the next tick on.",
                  "unknown_object");
    return {list.begin(), list.end()};
  }

  const char* backend() const { return starling_engine_name(handle()); }  ///< "cpu" or "cuda"
  /// Returns the handle that functions of starling.h take.
  starling_engine* handle() const { return handle_.get(); }

 private:
  /// Calls `function`. Throws Error for the first refused row, unless the caller gave `statuses`.
  template <class Function>
  static starling_counts take(std::size_t count, std::span<starling_row_status> statuses,
                              const char* row, std::span<const std::uint64_t> ids,
                              const Function& function) {
    std::vector<starling_row_status> own(statuses.empty() ? count : 0);
    auto counts = detail::sized<starling_counts>();
    detail::check(function(statuses.empty() ? own.data() : statuses.data(), &counts));
    if (statuses.empty() && counts.rejected > 0) detail::refuse(own, row, ids);
    return counts;
  }
  std::vector<starling_query> given_queries(std::span<const Query> queries) const {
    std::vector<starling_query> given;
    given.reserve(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) given.push_back(given_query(queries[i], i));
    return given;
  }
  starling_query given_query(const Query& query, std::size_t i) const {
    detail::check_argument(!query.follow || !query.every_object, "Query ", i,
                           " follows an object and is for every object; choose one.");
    const bool is_fixed = !query.follow && !query.every_object;
    if (is_fixed && space_ == Space::vector)
      detail::check_argument(query.vector.size() == dimension_, "Query ", i, " has ",
                             query.vector.size(), " components in `vector`; the space has ",
                             dimension_, ".");
    auto given = detail::sized<starling_query>();
    given.id = query.id;
    given.k = query.k;
    given.anchor = is_fixed       ? STARLING_FIXED
                   : query.follow ? STARLING_FOLLOW
                                  : STARLING_EVERY_OBJECT;
    std::ranges::copy(std::array{query.at.x, query.at.y, query.at.z}, given.position);
    given.vector = query.vector.data();
    given.object = query.follow.value_or(0);
    given.tags_required = query.tags_required;
    given.tags_forbidden = query.tags_forbidden;
    given.distance_max = query.distance_max;
    given.age_max_us = query.age_max_us;
    given.subject_required = query.subject_required;
    given.subject_forbidden = query.subject_forbidden;
    given.lease_us = query.lease_us;
    given.vote = query.vote ? 1 : 0;
    given.regress = static_cast<starling_weights>(query.regress);
    return given;
  }

  std::unique_ptr<starling_engine, detail::Destroy<starling_engine_destroy>> handle_;
  Space space_;
  std::uint32_t dimension_ = 0;
  std::int64_t last_tau_us_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace v0
}  // namespace starling
