// SPDX-License-Identifier: Apache-2.0
// Keeps a copy of the rows of each staging half: see ahead_store.hpp.
#include "tests/vector_ticks/ahead_store.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace starling::test {
namespace {

class AheadStore final : public VectorStore {
 public:
  explicit AheadStore(std::unique_ptr<VectorStore> store) : store_(std::move(store)) {}

  std::string_view name() const override { return store_->name(); }
  std::uint64_t bytes_used() const override { return store_->bytes_used(); }

  bool copy_ahead(unsigned half, VectorsView components, std::size_t copied) override {
    if (++calls_ % 3 == 0) return false;  // so that parts differ in length
    std::vector<float>& copy = copies_.at(half);
    copy.resize(copied * components.dimension);
    const auto rest = components.components.subspan(copy.size());
    copy.insert(copy.end(), rest.begin(), rest.end());
    return true;
  }

  void apply(const VectorRows& rows) override {
    if (rows.copied == 0) return store_->apply(rows);
    const std::vector<float>& copy = copies_.at(rows.half);
    const std::span<const float> all = rows.components.components;
    const std::size_t copied = rows.copied * rows.components.dimension;
    ASSERT_GE(copy.size(), copied);
    const VectorsView before{copy, rows.components.dimension};
    for (VectorRow i = 0; i < rows.copied; ++i) {
      if (!rows.is_alive(i)) continue;
      EXPECT_TRUE(std::ranges::equal(rows.components.row(i), before.row(i)))
          << "row " << i << " changed after it was copied";
    }
    applied_.assign(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(copied));
    applied_.insert(applied_.end(), all.begin() + static_cast<std::ptrdiff_t>(copied), all.end());
    VectorRows now = rows;
    now.components.components = applied_;
    store_->apply(now);
  }

  void wait() override { store_->wait(); }

  void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks, std::uint32_t k,
               std::span<VectorNeighbor> lists) override {
    store_->nearest(queries, masks, k, lists);
  }
  void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                    const VectorMasks& masks, std::vector<VectorMatch>& matches) override {
    store_->near_applied(applied, queries, masks, matches);
  }
  void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                std::vector<VectorMatch>& matches) override {
    store_->near_any(queries, masks, matches);
  }
  void read(std::span<const Slot> slots, std::span<float> components) const override {
    store_->read(slots, components);
  }

 private:
  std::unique_ptr<VectorStore> store_;
  int calls_ = 0;  ///< number of calls of copy_ahead
  std::array<std::vector<float>, 2> copies_;
  std::vector<float> applied_;
};

}  // namespace

std::unique_ptr<VectorStore> make_ahead_store(std::unique_ptr<VectorStore> store) {
  return std::make_unique<AheadStore>(std::move(store));
}

}  // namespace starling::test
