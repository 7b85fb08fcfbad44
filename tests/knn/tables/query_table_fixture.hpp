// SPDX-License-Identifier: Apache-2.0
// A table of queries with one stream, beside a table of objects and a staging half that takes the
// place of an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "tests/support/words.hpp"

namespace starling {

inline constexpr StreamId first_stream{0};

class QueryTableTest : public ::testing::Test {
 protected:
  void start(const QueryTableOptions& options, const ObjectTableOptions& objects = {}) {
    half_.clear();
    table_ = std::make_unique<QueryTable>(options);
    objects_ = std::make_unique<ObjectTable>(objects);
    table_->put_stream(test::stream("s"));
  }
  void SetUp() override { start({}); }

  QueryStatus put(const QueryDefinition& definition, StreamId stream = first_stream) {
    return table_->put(stream, definition, *objects_, half_);
  }
  QueryStatus remove(std::uint64_t id) {
    return table_->remove(first_stream, QueryId{id}, {}, *objects_, half_);
  }
  /// Removes all queries that have outgrown a limit, in slices of 2. Returns their number.
  std::size_t remove_outgrown(const NeighborQuotas& quotas = {}) {
    std::size_t removed = 0;
    for (std::size_t last = 2; last == 2; removed += last)
      last = table_->remove_outgrown(quotas, 2, *objects_, half_).size();
    return removed;
  }
  void add_objects(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t id = first; id < end; ++id) {
      const ObjectUpdate row = test::fix(ObjectId{id}, 0, 0);
      UpdateStatus status{};
      objects_->update(std::span(&row, 1), 0, std::span(&status, 1), half_);
    }
  }
  Slot find(std::uint64_t id) const { return table_->find(first_stream, QueryId{id}); }
  Staging tick(std::int64_t tau_us) {
    while (!table_->prepare_tick(tau_us, 2, *objects_, half_)) continue;
    Staging taken = half_;
    half_.clear();
    table_->tick_begun();
    table_->tick_finished();
    return taken;
  }

  std::unique_ptr<ObjectTable> objects_;
  std::unique_ptr<QueryTable> table_;
  Staging half_;
};

}  // namespace starling
