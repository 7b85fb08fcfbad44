// SPDX-License-Identifier: Apache-2.0
// A table of objects by itself, with a staging half that takes the place of an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <gtest/gtest.h>

#include "starling/knn/tables/object_table.hpp"

namespace starling {

class ObjectTableTest : public ::testing::Test {
 protected:
  static constexpr ObjectId ann{1};
  static constexpr ObjectId bob{2};
  static constexpr ObjectId cat{3};
  static constexpr std::int64_t no_limit = ObjectTableOptions::never_us;

  void start(const ObjectTableOptions& options) {
    table_ = std::make_unique<ObjectTable>(options);
    half_.clear();
  }
  UpdateStatus update(const ObjectUpdate& row, std::int64_t time_us_max = no_limit) {
    UpdateStatus status{};
    table_->update(std::span(&row, 1), time_us_max, std::span(&status, 1), half_);
    return status;
  }
  UpdateStatus update_tags(const TagUpdate& row, std::int64_t time_us_max = no_limit) {
    UpdateStatus status{};
    table_->update_tags(std::span(&row, 1), time_us_max, std::span(&status, 1), half_);
    return status;
  }
  UpdateStatus remove(ObjectId id, std::int64_t time_us, std::int64_t time_us_max = no_limit) {
    const ObjectRemoval row{id, time_us};
    UpdateStatus status{};
    table_->remove(std::span(&row, 1), time_us_max, std::span(&status, 1), half_);
    return status;
  }
  /// Prepares the half for a tick, returns a copy, and empties the half.
  Staging tick(std::int64_t tau_us) {
    while (!table_->prepare_tick(tau_us, 2, half_)) continue;
    Staging taken = half_;
    half_.clear();
    return taken;
  }

  std::unique_ptr<ObjectTable> table_ = std::make_unique<ObjectTable>(ObjectTableOptions{});
  Staging half_;
};

}  // namespace starling
