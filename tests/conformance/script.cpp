// SPDX-License-Identifier: Apache-2.0
// Runs random scripts: see script.hpp. Event times vary, so that late rows, equal times and expiry
// occur. There are few ids, so that objects leave, are forgotten and return, and slots are used
// again. Queries are put, changed and removed between the ticks.
#include "tests/conformance/script.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/shapes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/words.hpp"

namespace starling::test {

namespace {

constexpr std::int64_t ms = 1000;
constexpr std::uint32_t tag_bits = 0b111;

template <class T, std::size_t count>
const T& one_of(Random& random, const std::array<T, count>& choices) {
  return random.pick(std::span<const T>(choices));
}

class Script {
 public:
  Script(const EngineChoice& engine, const ScriptOptions& options)
      : random_(options.seed),
        options_(options),
        space_(one_of(random_, std::array{Space::planar2, Space::planar3, Space::wgs84})),
        shape_(random_.pick(shapes_of(space_))),
        points_(space_, shape_, random_),
        twin_(engine, draw_twin_options()) {
    draw_ids();
    for (std::size_t i = 0; i < 3; ++i) put_stream(i);
  }

  Transcript run() {
    SCOPED_TRACE(std::string(to_string(space_)) + ", " + std::string(to_string(shape_)) + ", " +
                 std::to_string(ids_.size()) + " ids");
    const std::int64_t ticks = random_.between(4, ids_.size() > 200 ? 6 : 24);
    for (std::int64_t i = 0; i < ticks && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("tick " + std::to_string(i + 1));
      one_tick();
    }
    twin_.finish_ticks();
    return twin_.transcript();
  }

 private:
  TwinOptions draw_twin_options() {
    TwinOptions twin;
    twin.space = space_;
    twin.threads = options_.threads;
    twin.ahead = options_.ahead;
    if (random_.chance(0.6)) twin.oracle.object_ttl_us = random_.between(100, 4000) * ms;
    if (random_.chance(0.8)) twin.oracle.tombstone_ttl_us = random_.between(0, 3000) * ms + 1;
    return twin;
  }

  void draw_ids() {
    const auto count =
        one_of(random_, std::array<std::int64_t, 10>{1, 2, 5, 10, 20, 33, 40, 65, 150, 700});
    for (std::int64_t i = 0; i < count; ++i)
      ids_.push_back(
          ObjectId{random_.chance(0.1) ? random_.next() : static_cast<std::uint64_t>(i)});
    ids_.push_back(ObjectId{~std::uint64_t{0}});
  }

  void one_tick() {
    tau_us_ += random_.chance(0.1) ? 0 : random_.between(1, 800) * ms;
    if (random_.chance(0.1)) twin_.set_time_limit(tau_us_ + 200 * ms);
    change_objects();
    change_queries();
    twin_.tick(tau_us_);
    if (random_.chance(0.3)) twin_.compare_current_lists();
    if (random_.chance(0.5)) ask_question();
    if (random_.chance(0.2)) change_objects();
    const bool moves = random_.chance(0.1);
    const auto threads = static_cast<int>(random_.between(1, 3));
    if (moves && options_.moves) twin_.move_to_new_engine(threads);
  }

  void ask_question() {
    const std::uint32_t k = draw_k();
    const Anchor anchor = draw_question_anchor();
    twin_.compare_answer(k, anchor, draw_filter());
  }

  void change_objects() {
    const double moving = one_of(random_, std::array{0.0, 0.1, 0.5, 1.0});
    for (const ObjectId id : ids_) {
      if (random_.chance(moving)) twin_.update(draw_fix(id));
      if (random_.chance(0.05)) twin_.update_tags(draw_tag_update(id));
      if (random_.chance(0.04)) twin_.remove(id, draw_time());
    }
  }

  void change_queries() {
    const std::uint64_t changes = random_.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto stream = static_cast<std::uint32_t>(random_.below(3));
      const QueryId id{random_.below(6)};
      if (random_.chance(0.25))
        twin_.remove_query(stream, id);
      else
        twin_.put_query(stream, draw_query(id));
      if (random_.chance(0.1)) put_stream(stream);
    }
  }

  void put_stream(std::size_t index) {
    const ReportOn on =
        one_of(random_, std::array{ReportOn::membership, ReportOn::order, ReportOn::distance});
    const ReportWith with{random_.chance(0.5), random_.chance(0.3), random_.chance(0.3)};
    twin_.put_stream(stream("stream " + std::to_string(index), on, with));
  }

  // Returns a time that differs from tau by a multiple of a quarter second. So equal times are
  // common.
  std::int64_t draw_time() { return tau_us_ + random_.between(-8, 2) * 250 * ms; }

  ObjectUpdate draw_fix(ObjectId id) {
    LatticePoint position = points_.next();
    if (random_.chance(0.3)) position = points_.near(last_position_, 3);
    if (random_.chance(0.1)) position = last_position_;
    last_position_ = position;
    ObjectUpdate update = fix(id, draw_time(), position);
    return random_.chance(0.5) ? tagged(update, draw_tags()) : update;
  }

  TagUpdate draw_tag_update(ObjectId id) { return {id, draw_time(), draw_tags(), draw_tags()}; }

  std::uint32_t draw_tags() { return static_cast<std::uint32_t>(random_.next()) & tag_bits; }

  TagFilter draw_tag_filter() {
    if (random_.chance(0.5)) return {};
    const auto bit = [&] { return random_.chance(0.5) ? 1u << random_.below(3) : 0u; };
    return {bit(), bit()};
  }

  Filter draw_filter() {
    Filter filter;
    if (random_.chance(0.5)) return filter;
    filter.tags = draw_tag_filter();
    if (random_.chance(0.3)) filter.age_us_max = random_.between(0, 8) * 250 * ms;
    if (random_.chance(0.3)) {
      const LatticePoint there = points_.next();
      const LatticePoint here = points_.next();
      filter.key_max = RankKey{distance_sq(here, there)};
    }
    return filter;
  }

  std::uint32_t draw_k() {
    return one_of(random_, std::array<std::uint32_t, 10>{1, 1, 2, 3, 8, 31, 32, 33, 64, 1024});
  }

  Anchor draw_question_anchor() {
    return random_.chance(0.5) ? fixed_at(points_.next()) : follow(random_.pick(ids_));
  }

  QueryDefinition draw_query(QueryId id) {
    const Anchor anchor = random_.chance(0.3) ? every_object() : draw_question_anchor();
    const std::uint32_t k = draw_k();
    QueryDefinition definition = query(to_number(id), k, anchor, draw_filter());
    definition.subject = draw_tag_filter();
    if (random_.chance(0.2)) definition.lease_end_us = tau_us_ + random_.between(-100, 3000) * ms;
    return definition;
  }

  Random random_;
  ScriptOptions options_;
  Space space_;
  Shape shape_;
  PointSource points_;
  Twin twin_;
  std::vector<ObjectId> ids_;
  LatticePoint last_position_;
  std::int64_t tau_us_ = 1'000'000'000;
};

}  // namespace

Transcript run_script(const EngineChoice& engine, const ScriptOptions& options) {
  return Script(engine, options).run();
}

}  // namespace starling::test
