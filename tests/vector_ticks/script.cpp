// SPDX-License-Identifier: Apache-2.0
// Runs random scripts: see script.hpp. Some scripts draw vectors from few values, so that equal
// scores and equal rows are common. Event times vary, so that late rows, equal times and expiry
// occur. There are few ids, so that objects leave, are forgotten and return, and slots are used
// again. Queries are put, changed and removed between the ticks.
#include "tests/vector_ticks/script.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"
#include "tests/support/vector_oracle.hpp"
#include "tests/support/words.hpp"

namespace starling::test {

namespace {

constexpr std::int64_t ms = 1000;
constexpr std::uint32_t tag_bits = 0b111;
constexpr std::uint32_t streams = 3;
constexpr std::size_t every_object_ids_max = 70;  // the oracle sorts once for each subject

using Components = std::vector<float>;

template <class T, std::size_t count>
const T& one_of(Random& random, const std::array<T, count>& choices) {
  return random.pick(std::span<const T>(choices));
}

/// How the components of raw vectors are drawn.
enum class Kind { all_equal, few_values, normal, clustered, large };

class Script {
 public:
  Script(const EngineChoice& engine, const VectorScriptOptions& options)
      : random_(options.seed),
        options_(options),
        dimension_(one_of(random_, std::array<std::uint32_t, 7>{1, 2, 3, 31, 33, 65, 128})),
        metric_(one_of(random_, all_metrics)),
        kind_(one_of(random_, std::array{Kind::all_equal, Kind::few_values, Kind::normal,
                                         Kind::clustered, Kind::large})),
        moving_(one_of(random_, std::array{0.01, 0.05, 0.3, 1.0})),
        twin_(engine, draw_twin_options()) {
    draw_ids();
    for (std::size_t i = 0; i < streams; ++i) put_stream(i);
  }

  Transcript run() {
    SCOPED_TRACE("dimension " + std::to_string(dimension_) + ", " + std::string(name_of(metric_)) +
                 ", kind " + std::to_string(static_cast<int>(kind_)) + ", " +
                 std::to_string(ids_.size()) + " ids");
    const std::int64_t ticks = random_.between(8, ids_.size() > 200 ? 12 : 40);
    for (std::int64_t i = 0; i < ticks && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("tick " + std::to_string(i + 1));
      one_tick(i == 0);
    }
    return twin_.transcript();
  }

 private:
  TwinOptions draw_twin_options() {
    TwinOptions twin;
    twin.space = Space::vector;
    twin.threads = options_.threads;
    twin.oracle.dimension = dimension_;
    twin.oracle.metric = metric_;
    // In runs with faults nothing expires. A failed tick already expires objects in the engine's
    // tables, but the oracle would expire them only at the next tick.
    if (options_.faults != nullptr) return twin;
    if (random_.chance(0.5)) twin.oracle.object_ttl_us = random_.between(100, 6000) * ms;
    if (random_.chance(0.8)) twin.oracle.tombstone_ttl_us = random_.between(0, 3000) * ms + 1;
    return twin;
  }

  void draw_ids() {
    const auto count =
        one_of(random_, std::array<std::int64_t, 10>{0, 1, 2, 10, 33, 65, 65, 130, 200, 1100});
    for (std::int64_t i = 0; i < count; ++i)
      ids_.push_back(
          ObjectId{random_.chance(0.1) ? random_.next() : static_cast<std::uint64_t>(i)});
    ids_.push_back(ObjectId{~std::uint64_t{0}});
  }

  void one_tick(bool is_first) {
    tau_us_ += random_.chance(0.1) ? 0 : random_.between(1, 800) * ms;
    if (random_.chance(0.1)) twin_.set_time_limit(tau_us_ + 200 * ms);
    change_objects(is_first && random_.chance(0.8) ? 1.0 : moving_);
    change_queries(is_first ? 6 : random_.below(3));
    if (options_.faults != nullptr && random_.chance(0.3)) fail_tick();
    twin_.tick(tau_us_);
    if (random_.chance(0.2)) twin_.compare_current_lists();
    if (random_.chance(0.4)) ask_question();
    if (random_.chance(0.2)) change_objects(moving_);
    const bool moves = random_.chance(0.08);
    const auto threads = static_cast<int>(random_.between(1, 3));
    if (moves && options_.moves) twin_.move_to_new_engine(threads);
  }

  // Makes the store fail in apply, because every tick calls apply. Not every tick calls the other
  // functions.
  void fail_tick() {
    options_.faults->at =
        one_of(random_, std::array{StoreFaults::At::before_apply, StoreFaults::At::amid_apply,
                                   StoreFaults::At::after_apply});
    twin_.fail_tick(tau_us_);
    options_.faults->at = StoreFaults::At::none;
    if (random_.chance(0.5)) change_objects(moving_);
    if (random_.chance(0.5)) change_queries(2);
  }

  void ask_question() {
    const std::uint32_t k = draw_k();
    const bool is_fixed = random_.chance(0.5);
    const Anchor anchor = is_fixed ? Anchor{} : follow(random_.pick(ids_));
    const Filter filter = draw_filter();
    twin_.compare_answer(k, anchor, filter, is_fixed ? draw_components() : Components{});
  }

  void change_objects(double moving) {
    for (const ObjectId id : ids_) {
      if (random_.chance(moving)) update(id);
      if (random_.chance(0.01)) twin_.update_tags({id, draw_time(), draw_tags(), draw_tags()});
      if (random_.chance(0.01)) twin_.remove(id, draw_time());
    }
  }

  void update(ObjectId id) {
    VectorUpdate row{.id = id, .time_us = draw_time()};
    row.has_tags = random_.chance(0.5);
    row.tags = draw_tags();
    row.has_label = random_.chance(0.7);
    row.label = random_.chance(0.1) ? no_label : random_.between(-1, 2);
    row.has_value = random_.chance(0.7);
    row.value = draw_value();
    // In some updates the vector stays the same, and only tags, label, value and time change.
    if (!random_.chance(0.1)) last_components_ = draw_components();
    twin_.update_vector(row, last_components_);
  }

  double draw_value() {
    if (random_.chance(0.1)) return -std::numeric_limits<double>::quiet_NaN();
    if (random_.chance(0.02)) return std::numeric_limits<double>::infinity();
    if (random_.chance(0.02)) return std::numeric_limits<double>::lowest();  // sums overflow
    if (random_.chance(0.5)) return static_cast<double>(random_.between(-1, 1));
    return std::ldexp(random_.normal(), static_cast<int>(random_.between(-40, 40)));
  }

  RegressionWeights draw_weights() {
    if (random_.chance(0.6)) return RegressionWeights::none;
    if (metric_ == Metric::inner_product || random_.chance(0.5)) return RegressionWeights::uniform;
    return RegressionWeights::distance;
  }

  void change_queries(std::uint64_t changes) {
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto stream = static_cast<std::uint32_t>(random_.below(streams));
      const QueryId id{random_.below(6)};
      if (random_.chance(0.2))
        twin_.remove_query(stream, id);
      else
        twin_.put_query(stream, draw_query(id));
      if (random_.chance(0.1)) put_stream(stream);
    }
  }

  void put_stream(std::size_t index) {
    const ReportOn on =
        one_of(random_, std::array{ReportOn::membership, ReportOn::order, ReportOn::distance});
    const ReportWith with{random_.chance(0.5), false, random_.chance(0.3)};
    twin_.put_stream(stream("stream " + std::to_string(index), on, with));
  }

  // Returns a time that differs from tau by a multiple of a quarter second. So equal times are
  // common.
  std::int64_t draw_time() { return tau_us_ + random_.between(-8, 2) * 250 * ms; }
  std::uint32_t draw_tags() { return static_cast<std::uint32_t>(random_.next()) & tag_bits; }

  Components draw_components() {
    Components raw(dimension_);
    const double centre = static_cast<double>(random_.below(4)) * 100;
    for (float& component : raw) component = static_cast<float>(draw_component(centre));
    if (!allows_negatives(metric_))
      for (float& component : raw) component = std::fabs(component);
    Components prepared(dimension_);
    EXPECT_FALSE(prepare_vectors(metric_, {raw, dimension_}, prepared).has_value());
    return prepared;
  }

  double draw_component(double centre) {
    switch (kind_) {
      case Kind::all_equal:
        return 0.5;
      case Kind::few_values:
        return static_cast<double>(random_.between(-1, 1));
      case Kind::normal:
        return random_.normal();
      case Kind::clustered:
        return centre + random_.normal() * 0.01;
      case Kind::large:
        return random_.chance(0.5) ? random_.normal() * 0x1p52 : -0.0;
    }
    return 0;
  }

  TagFilter draw_tag_filter() {
    if (random_.chance(0.5)) return {};
    const auto bit = [&] { return random_.chance(0.5) ? 1u << random_.below(3) : 0u; };
    return {bit(), bit()};
  }

  Filter draw_filter() {
    Filter filter;
    if (random_.chance(0.5)) return filter;
    filter.tags = draw_tag_filter();
    if (random_.chance(0.3)) filter.age_us_max = random_.between(0, 16) * 250 * ms;
    if (random_.chance(0.3)) filter.key_max = draw_distance_max();
    return filter;
  }

  RankKey draw_distance_max() {
    if (random_.chance(0.1))
      return RankKey{one_of(random_, std::array<std::uint64_t, 3>{0, 0x7fffffffu, 0x80000000u})};
    const float score = vector_oracle_score(metric_, draw_components(), draw_components());
    return twin_.processor().to_key_max(distance_of(metric_, score));
  }

  std::uint32_t draw_k() {
    const auto ids = static_cast<std::uint32_t>(ids_.size());
    return one_of(random_, std::array<std::uint32_t, 12>{1, 1, 2, 3, 8, 31, 32, 33, 64, 1024,
                                                         std::max(1u, std::min(1024u, ids - 1)),
                                                         std::min(1024u, ids + 1)});
  }

  QueryDefinition draw_query(QueryId id) {
    Anchor anchor;
    if (random_.chance(0.5)) anchor = follow(random_.pick(ids_));
    const bool is_small = ids_.size() <= every_object_ids_max;
    if (is_small && random_.chance(0.15)) anchor = every_object();
    const std::uint32_t k = draw_k();
    QueryDefinition definition = query(to_number(id), k, anchor, draw_filter());
    if (anchor.kind == AnchorKind::fixed) definition.components = draw_components();
    definition.subject = draw_tag_filter();
    definition.vote = random_.chance(0.4);
    definition.regress = draw_weights();
    if (options_.faults == nullptr && random_.chance(0.2))
      definition.lease_end_us = tau_us_ + random_.between(-100, 3000) * ms;
    return definition;
  }

  Random random_;
  VectorScriptOptions options_;
  std::uint32_t dimension_;
  Metric metric_;
  Kind kind_;
  double moving_;
  Twin twin_;
  std::vector<ObjectId> ids_;
  Components last_components_ = Components(dimension_, 0.0f);
  std::int64_t tau_us_ = 1'000'000'000;
};

}  // namespace

Transcript run_vector_script(const EngineChoice& engine, const VectorScriptOptions& options) {
  return Script(engine, options).run();
}

}  // namespace starling::test
