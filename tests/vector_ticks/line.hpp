// SPDX-License-Identifier: Apache-2.0
// Line is a Twin for vectors of one component, with short forms of updates and queries. Tests that
// write down the expected lists use it.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/conformance/twin.hpp"
#include "tests/support/words.hpp"

namespace starling::test {

class Line : public Twin {
 public:
  explicit Line(const EngineChoice& engine, Metric metric = Metric::l2,
                std::int64_t tombstone_ttl_us = OracleOptions{}.tombstone_ttl_us)
      : Twin(engine, options(metric, tombstone_ttl_us)) {}

  /// Each call of move, label, value, tag or remove has a later event time than the call before.
  void move(std::uint64_t id, float place) { move(id, place, {}); }
  void label(std::uint64_t id, float place, Label label) {
    VectorUpdate row;
    row.label = label;
    row.has_label = true;
    move(id, place, row);
  }
  UpdateStatus value(std::uint64_t id, float place, double value) {
    VectorUpdate row;
    row.value = value;
    row.has_value = true;
    return move(id, place, row);
  }
  void tag(std::uint64_t id, float place, std::uint32_t tags) {
    VectorUpdate row;
    row.tags = tags;
    row.has_tags = true;
    move(id, place, row);
  }
  void remove(std::uint64_t id) { Twin::remove(ObjectId{id}, ++time_us_); }
  OracleTick next_tick() { return tick(++time_us_); }
  std::int64_t time_us() const { return time_us_; }

  static QueryDefinition at_place(std::uint64_t id, std::uint32_t k, float place,
                                  const Filter& filter = {}) {
    QueryDefinition definition = query(id, k, {}, filter);
    definition.components = {place};
    return definition;
  }
  static QueryDefinition voting(QueryDefinition definition) {
    definition.vote = true;
    return definition;
  }
  static QueryDefinition regressing(QueryDefinition definition,
                                    RegressionWeights weights = RegressionWeights::uniform) {
    definition.regress = weights;
    return definition;
  }

 private:
  static TwinOptions options(Metric metric, std::int64_t tombstone_ttl_us) {
    TwinOptions twin;
    twin.space = Space::vector;
    twin.oracle.dimension = 1;
    twin.oracle.metric = metric;
    twin.oracle.tombstone_ttl_us = tombstone_ttl_us;
    return twin;
  }
  UpdateStatus move(std::uint64_t id, float place, VectorUpdate row) {
    row.id = ObjectId{id};
    row.time_us = ++time_us_;
    return update_vector(row, {place});
  }

  std::int64_t time_us_ = 0;
};

}  // namespace starling::test
