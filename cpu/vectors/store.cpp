// SPDX-License-Identifier: Apache-2.0
// Implements the VectorStore of store.hpp. The row of a panel is a slot, and each slot has a bit
// that is 1 if the slot is alive. A search copies the components of at most queries_at_once_max
// queries at a time and passes the copies to PanelSearch.
#include "starling/cpu/vectors/store.hpp"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "starling/cpu/vectors/panel_search.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/scan.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t queries_at_once_max = 1024;  // queries whose components are copied at once
constexpr std::size_t rows_grain = 64;

class CpuVectorStore final : public VectorStore {
 public:
  explicit CpuVectorStore(const VectorStoreOptions& options)
      : metric_(options.metric),
        dimension_(options.dimension),
        pool_(options.threads == 0 ? std::max(1u, std::thread::hardware_concurrency())
                                   : options.threads,
              options.pin_threads),
        search_(pool_),
        rows_(dimension_, scan_panel_rows()),
        applied_(dimension_, scan_panel_rows()) {}

  std::string_view name() const override { return "cpu"; }
  std::uint64_t bytes_used() const override {
    return rows_.bytes_used() + applied_.bytes_used() + alive_.capacity() * sizeof(std::uint64_t);
  }

  void apply(const VectorRows& rows) override {
    if (rows.slots.empty()) return;
    std::size_t slots = rows_.rows();
    for (const Slot slot : rows.slots)
      if (slot != no_slot) slots = std::max(slots, std::size_t{slot} + 1);
    alive_.resize((slots + 63) / 64);
    rows_.grow(static_cast<std::uint32_t>(slots));
    pool_.for_ranges(
        rows.slots.size(), rows_grain, [&](std::size_t begin, std::size_t end, unsigned) {
          for (std::size_t i = begin; i < end; ++i)
            if (rows.is_alive(i))
              rows_.write(rows.slots[i], rows.components.row(static_cast<VectorRow>(i)));
        });
    for (std::size_t i = 0; i < rows.slots.size(); ++i) {
      if (rows.slots[i] == no_slot) continue;
      const std::uint64_t bit = std::uint64_t{1} << rows.slots[i] % 64;
      std::uint64_t& word = alive_[rows.slots[i] / 64];
      word = rows.is_alive(i) ? word | bit : word & ~bit;
    }
  }

  void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks, std::uint32_t k,
               std::span<VectorNeighbor> lists) override {
    for_some(queries, [&](std::span<const VectorQuery> some, VectorsView components) {
      const auto choose = [&](NearestRows& nearest, std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const VectorQuery& query = some[first + i];
          if (query.self != no_slot) nearest.pass_over(i, query.self);
          nearest.choose_from(i,
                              query.mask == no_mask ? alive_.data() : masks.of(query.mask).data());
        }
      };
      search_.nearest({metric_, rows_, components, k, choose, {}}, lists.first(some.size() * k));
      lists = lists.subspan(some.size() * k);
    });
  }

  void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                    const VectorMasks& masks, std::vector<VectorMatch>& matches) override {
    applied_.assign(applied.components, pool_);
    const std::size_t before = matches.size();
    append_within(applied_, queries, masks, applied.alive.data(), matches);
    for (std::size_t i = before; i < matches.size(); ++i)
      matches[i].row.row = applied.slots[matches[i].row.row];
    drop_selves(queries, before, matches);
  }

  void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                std::vector<VectorMatch>& matches) override {
    const std::size_t before = matches.size();
    append_within(rows_, queries, masks, alive_.data(), matches);
    drop_selves(queries, before, matches);
  }

  void read(std::span<const Slot> slots, std::span<float> components) const override {
    for (const Slot slot : slots) {
      rows_.read(slot, components.first(dimension_));
      components = components.subspan(dimension_);
    }
  }

 private:
  /// Calls act(some, components) for at most queries_at_once_max queries at a time, until all
  /// queries are done. Row i of `components` is a copy of the components of some[i].
  template <class Act>
  void for_some(std::span<const VectorQuery> queries, const Act& act) {
    while (!queries.empty()) {
      const auto some = queries.first(std::min(queries.size(), queries_at_once_max));
      gathered_.resize(some.size() * dimension_);
      std::span<float> to = gathered_;
      for (const VectorQuery& query : some) {
        if (query.components != nullptr)
          std::copy_n(query.components, dimension_, to.begin());
        else
          rows_.read(query.self, to.first(dimension_));
        to = to.subspan(dimension_);
      }
      act(some, VectorsView{gathered_, dimension_});
      queries = queries.subspan(some.size());
    }
  }

  void append_within(const VectorPanels& corpus, std::span<const VectorQuery> queries,
                     const VectorMasks& masks, const std::uint64_t* all,
                     std::vector<VectorMatch>& matches) {
    std::uint32_t first = 0;
    for_some(queries, [&](std::span<const VectorQuery> some, VectorsView components) {
      const std::size_t before = matches.size();
      search_.within(metric_, corpus, components, some, masks, all, matches);
      for (std::size_t i = before; i < matches.size(); ++i) matches[i].query += first;
      first += static_cast<std::uint32_t>(some.size());
    });
  }

  static void drop_selves(std::span<const VectorQuery> queries, std::size_t first,
                          std::vector<VectorMatch>& matches) {
    const auto is_self = [&](const VectorMatch& match) {
      return match.row.row == queries[match.query].self;
    };
    const auto begin = matches.begin() + static_cast<std::ptrdiff_t>(first);
    matches.erase(std::remove_if(begin, matches.end(), is_self), matches.end());
  }

  Metric metric_;
  std::uint32_t dimension_;
  ThreadPool pool_;
  PanelSearch search_;
  VectorPanels rows_;                 ///< [slot]; dead slots keep their last components
  VectorPanels applied_;              ///< the rows of the last near_applied, by index
  std::vector<std::uint64_t> alive_;  ///< a bit for each slot
  std::vector<float> gathered_;
};

}  // namespace

std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options) {
  return std::make_unique<CpuVectorStore>(options);
}

}  // namespace starling::cpu
