// SPDX-License-Identifier: Apache-2.0
// Updates objects by the same random batches on 1, 2 and 16 threads. The statuses, the staged rows
// and the exported state must not show how many threads took part.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/tables/object_partition.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "tests/support/random.hpp"

namespace starling {
namespace {

constexpr std::uint32_t dimension = 3;

/// The rows of one call of update, in batches.
struct Script {
  std::vector<std::vector<ObjectUpdate>> rows;
  std::vector<std::vector<VectorUpdate>> vector_rows;  ///< the same rows, without positions
  std::vector<std::vector<float>> components;
  std::vector<std::int64_t> time_us_max;
};

/// A table that takes batches on some number of threads, with its staging half.
class ThreadedTable {
 public:
  ThreadedTable(const ObjectTableOptions& options, unsigned threads)
      : table_(options), pool_(threads), is_vector_(options.dimension > 0) {}

  std::vector<UpdateStatus> update(const Script& script) {
    std::vector<UpdateStatus> statuses;
    for (const auto& rows : script.rows) statuses.resize(statuses.size() + rows.size());
    std::vector<ObjectBatch> batches;
    std::vector<VectorBatch> vector_batches;
    std::size_t first = 0;
    for (std::size_t i = 0; i < script.rows.size(); ++i) {
      const auto of_batch = std::span(statuses).subspan(first, script.rows[i].size());
      batches.push_back({script.rows[i], script.time_us_max[i], of_batch});
      vector_batches.push_back({script.vector_rows[i],
                                {script.components[i], dimension},
                                script.time_us_max[i],
                                of_batch});
      first += script.rows[i].size();
    }
    if (is_vector_)
      table_.update_vectors(vector_batches, half_, pool_);
    else
      table_.update(batches, half_, pool_);
    return statuses;
  }

  void tick(std::int64_t tau_us) {
    while (!table_.prepare_tick(tau_us, 2, half_)) continue;
    half_.clear();
  }

  ObjectTable& table() { return table_; }
  Staging& half() { return half_; }

 private:
  ObjectTable table_;
  ThreadPool pool_;
  Staging half_;
  bool is_vector_;
};

/// A staged row with its vector and targets. sorted_rows() orders such rows without regard to their
/// place.
struct StagedRow {
  ObjectRow row;
  std::vector<float> components;
  Targets targets;
};

std::vector<StagedRow> sorted_rows(const Staging& half) {
  std::vector<StagedRow> rows;
  for (std::size_t i = 0; i < half.objects.size(); ++i) {
    StagedRow& row = rows.emplace_back();
    row.row = half.objects[i];
    if (half.object_targets.empty()) continue;
    row.targets = half.object_targets[i];
    const auto first = half.object_components.begin() + static_cast<std::ptrdiff_t>(i * dimension);
    row.components.assign(first, first + dimension);
  }
  std::ranges::sort(rows, {}, [](const StagedRow& staged) { return staged.row.slot; });
  return rows;
}

void expect_equal(const ObjectRow& row, const ObjectRow& expected) {
  ASSERT_EQ(row.slot, expected.slot);
  ASSERT_EQ(row.generation, expected.generation);
  ASSERT_EQ(row.tags, expected.tags);
  ASSERT_EQ(row.position, expected.position);
  ASSERT_EQ(row.time_us, expected.time_us);
}

void expect_equal(const Staging& half, const Staging& expected) {
  ASSERT_EQ(half.births.size(), expected.births.size());
  for (std::size_t i = 0; i < half.births.size(); ++i) {
    ASSERT_EQ(half.births[i].slot, expected.births[i].slot);
    ASSERT_EQ(half.births[i].id, expected.births[i].id);
  }
  const std::vector<StagedRow> rows = sorted_rows(half);
  const std::vector<StagedRow> expected_rows = sorted_rows(expected);
  ASSERT_EQ(rows.size(), expected_rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expect_equal(rows[i].row, expected_rows[i].row);
    ASSERT_EQ(rows[i].targets.label, expected_rows[i].targets.label);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(rows[i].targets.value),
              std::bit_cast<std::uint64_t>(expected_rows[i].targets.value));
    ASSERT_EQ(rows[i].components, expected_rows[i].components);
  }
}

void expect_equal(const ObjectTableState& state, const ObjectTableState& expected) {
  ASSERT_EQ(state.records.size(), expected.records.size());
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    expect_equal(state.records[i].row, expected.records[i].row);
    ASSERT_EQ(state.records[i].id, expected.records[i].id);
    ASSERT_EQ(state.records[i].tags_owned, expected.records[i].tags_owned);
  }
  ASSERT_EQ(state.free_slots.size(), expected.free_slots.size());
  for (std::size_t i = 0; i < state.free_slots.size(); ++i)
    ASSERT_EQ(state.free_slots[i].slot, expected.free_slots[i].slot);
  ASSERT_EQ(state.tombstones, expected.tombstones);
  ASSERT_EQ(state.leavers, expected.leavers);
  ASSERT_EQ(state.newest_time_us, expected.newest_time_us);
}

/// Draws batches. A batch names objects in order, at random, or a few of them again and again. Some
/// rows are late, in the future, of an impossible time, or have an infinite value.
class ScriptSource {
 public:
  ScriptSource(std::uint64_t seed, std::uint64_t universe) : random_(seed), universe_(universe) {}

  Script draw(std::int64_t now_us, std::size_t rows) {
    Script script;
    while (rows > 0) {
      const std::size_t count = std::min<std::size_t>(rows, 1 + random_.below(9'000));
      rows -= count;
      add_batch(now_us, count, script);
    }
    return script;
  }

 private:
  void add_batch(std::int64_t now_us, std::size_t count, Script& script) {
    auto& rows = script.rows.emplace_back();
    auto& vector_rows = script.vector_rows.emplace_back();
    auto& components = script.components.emplace_back();
    script.time_us_max.push_back(now_us + static_cast<std::int64_t>(random_.below(5)));
    const std::uint64_t order = random_.below(3);
    std::uint64_t next = random_.below(universe_);
    for (std::size_t i = 0; i < count; ++i) {
      if (order == 0) next = (next + 1) % universe_;
      if (order == 1) next = random_.below(universe_);
      if (order == 2 && random_.below(3) > 0)
        next = random_.below(std::min<std::uint64_t>(universe_, 50));
      ObjectUpdate& row = rows.emplace_back();
      row.id = ObjectId{next};
      row.time_us = now_us - 3 + static_cast<std::int64_t>(random_.below(10));
      if (random_.below(1'000) == 0) row.time_us = std::numeric_limits<std::int64_t>::max();
      row.position.x = static_cast<std::int32_t>(random_.below(1'000'000));
      row.tags = static_cast<std::uint32_t>(random_.below(16));
      row.has_tags = random_.below(2) == 0;
      vector_rows.push_back({.id = row.id,
                             .time_us = row.time_us,
                             .label = static_cast<Label>(random_.below(4)),
                             .value = draw_value(),
                             .tags = row.tags,
                             .has_tags = row.has_tags,
                             .has_label = random_.below(2) == 0,
                             .has_value = random_.below(2) == 0});
      for (std::uint32_t j = 0; j < dimension; ++j)
        components.push_back(static_cast<float>(random_.below(1'000)));
    }
  }

  double draw_value() {
    if (random_.below(1'000) == 0) return std::numeric_limits<double>::infinity();
    if (random_.below(10) == 0) return no_value;
    return static_cast<double>(random_.below(1'000)) / 8;
  }

  test::Random random_;
  std::uint64_t universe_;
};

/// Runs a script of updates, tags, removals, followers and ticks on tables with 1, 2 and 16
/// threads.
void expect_that_threads_do_not_show(std::uint64_t seed, const ObjectTableOptions& options,
                                     std::uint64_t universe) {
  SCOPED_TRACE(test::replay_hint(seed));
  test::Random random(seed);
  std::vector<std::unique_ptr<ThreadedTable>> tables;
  for (const unsigned threads : {1u, 2u, 16u})
    tables.push_back(std::make_unique<ThreadedTable>(options, threads));
  ScriptSource source(random.next(), universe);
  std::int64_t now_us = 0;
  for (int step = 0; step < 12; ++step) {
    now_us += static_cast<std::int64_t>(random.below(8));
    const Script script = source.draw(now_us, 1 + random.below(40'000));
    const TagUpdate tags{ObjectId{random.below(universe)}, now_us, 1, 2};
    const ObjectRemoval removal{ObjectId{random.below(universe)}, now_us};
    const ObjectId followed{random.below(universe)};
    const bool ticks = random.below(2) == 0;
    std::vector<UpdateStatus> expected;
    for (const auto& table : tables) {
      const std::vector<UpdateStatus> statuses = table->update(script);
      if (table == tables[0]) expected = statuses;
      ASSERT_EQ(statuses, expected);
      UpdateStatus status{};
      table->table().update_tags({&tags, 1}, now_us, {&status, 1}, table->half());
      table->table().remove({&removal, 1}, now_us, {&status, 1}, table->half());
      table->table().follow(followed, table->half());
      ASSERT_EQ(table->table().alive_count(), tables[0]->table().alive_count());
      ASSERT_EQ(table->table().known_count(), tables[0]->table().known_count());
      expect_equal(table->half(), tables[0]->half());
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const auto& table : tables) {
      if (ticks) table->tick(now_us);
      expect_equal(table->table().export_state(), tables[0]->table().export_state());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ObjectTableThreads, DoNotShowInStatusesStagedRowsOrStates) {
  for (const std::uint64_t seed : test::seeds(6))
    expect_that_threads_do_not_show(seed, {.object_ttl_us = 30, .tombstone_ttl_us = 10}, 20'000);
}

TEST(ObjectTableThreads, DoNotShowInASpaceOfVectors) {
  for (const std::uint64_t seed : test::seeds(6))
    expect_that_threads_do_not_show(
        seed, {.object_ttl_us = 30, .tombstone_ttl_us = 10, .dimension = dimension}, 20'000);
}

TEST(ObjectTableThreads, RefuseTheSameRowsAtTheLimitOfObjects) {
  for (const std::uint64_t seed : test::seeds(6))
    expect_that_threads_do_not_show(
        seed, {.objects_max = 5'000, .object_ttl_us = 30, .tombstone_ttl_us = 10}, 20'000);
}

TEST(ObjectTableThreads, DoNotShowWhenAllIdsAreOfOnePartition) {
  std::vector<ObjectUpdate> rows;
  for (std::uint64_t id = 0; rows.size() < 10'000; ++id)
    if (partition_of(ObjectId{id}) == 7)
      rows.push_back({.id = ObjectId{id}, .time_us = 1, .position = {static_cast<int>(id), 0, 0}});
  for (const unsigned threads : {1u, 16u}) {
    ObjectTable table({});
    ThreadPool pool(threads);
    Staging half;
    for (int round = 0; round < 2; ++round) {
      std::vector<UpdateStatus> statuses(rows.size());
      const ObjectBatch batch{rows, 1, statuses};
      table.update({&batch, 1}, half, pool);
      EXPECT_THAT(statuses, ::testing::Each(UpdateStatus::accepted));
    }
    ASSERT_EQ(half.objects.size(), rows.size());
    EXPECT_EQ(table.alive_count(), rows.size());
    for (const ObjectUpdate& row : rows) ASSERT_NE(table.find(row.id), no_slot);
  }
}

}  // namespace
}  // namespace starling
