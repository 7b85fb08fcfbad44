// SPDX-License-Identifier: Apache-2.0
// Implements the store of faulty_store.hpp, which passes calls on to another store and throws on
// request.
#include "tests/vector_ticks/faulty_store.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace starling::test {
namespace {

class FaultyStore final : public VectorStore {
 public:
  FaultyStore(std::unique_ptr<VectorStore> store, std::shared_ptr<StoreFaults> faults)
      : store_(std::move(store)), faults_(std::move(faults)) {}

  std::string_view name() const override { return store_->name(); }
  std::uint64_t bytes_used() const override { return store_->bytes_used(); }

  std::pmr::memory_resource* staging_memory() override { return store_->staging_memory(); }
  bool is_lost() const override { return store_->is_lost(); }
  VectorDeviceTimes take_device_times() override { return store_->take_device_times(); }

  bool copy_ahead(unsigned half, VectorsView components, std::size_t copied) override {
    return store_->copy_ahead(half, components, copied);
  }

  void apply(const VectorRows& rows) override {
    fail_at(StoreFaults::At::before_apply);
    if (faults_->at == StoreFaults::At::amid_apply) {
      const std::size_t half = rows.slots.size() / 2;
      VectorRows some = rows;
      some.slots = rows.slots.first(half);
      some.components.components =
          rows.components.components.first(half * rows.components.dimension);
      some.copied = std::min(rows.copied, half);
      store_->apply(some);
      store_->wait();
      fail_at(StoreFaults::At::amid_apply);
    }
    store_->apply(rows);
    faults_->applied_rows += rows.slots.size();
    fail_at(StoreFaults::At::after_apply);
  }

  void wait() override { store_->wait(); }

  void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks, std::uint32_t k,
               std::span<VectorNeighbor> lists) override {
    faults_->nearest_queries += queries.size();
    store_->nearest(queries, masks, k, lists);
    fail_at(StoreFaults::At::nearest);
  }

  void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                    const VectorMasks& masks, std::vector<VectorMatch>& matches) override {
    faults_->near_applied_queries += queries.size();
    store_->near_applied(applied, queries, masks, matches);
    fail_at(StoreFaults::At::near_applied);
  }

  void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                std::vector<VectorMatch>& matches) override {
    faults_->near_any_queries += queries.size();
    store_->near_any(queries, masks, matches);
    fail_at(StoreFaults::At::near_any);
  }

  void read(std::span<const Slot> slots, std::span<float> components) const override {
    store_->read(slots, components);
  }

 private:
  void fail_at(StoreFaults::At at) const {
    if (faults_->at == at) throw std::runtime_error("the store failed");
  }

  std::unique_ptr<VectorStore> store_;
  std::shared_ptr<StoreFaults> faults_;
};

}  // namespace

std::unique_ptr<VectorStore> make_faulty_store(std::unique_ptr<VectorStore> store,
                                               std::shared_ptr<StoreFaults> faults) {
  return std::make_unique<FaultyStore>(std::move(store), std::move(faults));
}

}  // namespace starling::test
