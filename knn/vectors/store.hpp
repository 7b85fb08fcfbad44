// SPDX-License-Identifier: Apache-2.0
// The seam between the ticks of a vector space and the hardware that computes scores: rows by slot,
// written in place, and searches among them. VectorEngine drives a store from one thread. cpu/ and
// gpu/ implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The new state of some slots, each slot at most once. Owns nothing.
struct VectorRows {
  std::span<const Slot> slots;           ///< no_slot: the row has no meaning, and is dead
  std::span<const std::uint64_t> alive;  ///< bit i % 64 of word i / 64 belongs to slots[i]
  VectorsView components;                ///< row i belongs to slots[i]; unspecified for dead slots
  unsigned half = no_half;               ///< the staging half that the rows are in; no_half: none
  std::size_t copied = 0;                ///< the first `copied` rows were given to copy_ahead

  static constexpr unsigned no_half = ~0u;
  bool is_alive(std::size_t i) const { return (alive[i / 64] >> (i % 64) & 1) != 0; }
};

/// Masks say which rows a query searches. A mask has one bit for each row. Row i has bit i % 64 of
/// word i / 64. Rows whose bit is 0 are skipped. Bits after the last row are 0.
struct VectorMasks {
  std::span<const std::uint64_t> words;  ///< one mask after another
  std::size_t words_each = 0;

  std::span<const std::uint64_t> of(std::uint32_t mask) const {
    return words.subspan(mask * words_each, words_each);
  }
};
inline constexpr std::uint32_t no_mask = ~std::uint32_t{0};

struct VectorQuery {
  const float* components = nullptr;  ///< the query's components; nullptr: row `self` is the query
  Slot self = no_slot;                ///< a living row that is not in the result; no_slot: none
  std::uint32_t mask = no_mask;       ///< an index into the masks; no_mask: all living rows
  float score_max = 0;                ///< inclusive; only near_applied and near_any use it
};

/// A row whose score for a query is at most VectorQuery::score_max.
struct VectorMatch {
  std::uint32_t query = 0;  ///< index into the queries of the call
  VectorNeighbor row;       ///< slot and score of the row
};

/// The milliseconds that a device has worked, by its own clock. All are 0 without a device.
struct VectorDeviceTimes {
  double apply_ms = 0;   ///< copying rows that were not copied ahead, and writing rows
  double search_ms = 0;  ///< work of all functions except apply
};

/// Stores the rows of a vector space and searches them. Scores are those of VectorNeighbor, to the
/// bit. Every function may throw std::bad_alloc or a device error; rows that were applied before
/// are not lost.
class VectorStore {
 public:
  virtual ~VectorStore() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual std::uint64_t bytes_used() const = 0;

  /// Returns the best memory resource for staged rows. A device copies fast from the memory that
  /// this resource gives. The resource outlives the store.
  virtual std::pmr::memory_resource* staging_memory() { return lazy_memory(); }

  /// Call after a function threw. Returns true if no later call can succeed.
  virtual bool is_lost() const { return false; }

  /// Returns the times since the last call. Call it only after wait().
  virtual VectorDeviceTimes take_device_times() { return {}; }

  /// Begins to copy rows that a later apply will get. Returns false if the store does not copy them
  /// ahead; apply then copies them. The rows are in staging half `half`, 0 or 1. Earlier calls got
  /// the first `copied` rows. The rows of a call do not change until that apply is done. The thread
  /// that writes the staging half calls copy_ahead, while the engine's thread may call the other
  /// functions. copy_ahead does not wait for the device.
  virtual bool copy_ahead(unsigned /*half*/, VectorsView /*components*/, std::size_t /*copied*/) {
    return false;
  }

  /// Writes rows in place. New slots beyond the last one grow the memory, at amortised cost. Slots
  /// that were never written are dead. A device may still write when apply returns, so `rows` must
  /// stay until wait() returns. If apply throws, some rows may have been written. The caller then
  /// applies all rows again, which gives the same result.
  virtual void apply(const VectorRows& rows) = 0;

  /// Waits until all rows of apply are written. Throws if the device failed; is_lost is true then.
  virtual void wait() {}

  /// Writes k entries for each query into `lists`, as VectorSearcher::search does: the nearest
  /// living rows, ordered by (score, slot). VectorNeighbor::row is the slot. k is 1 to
  /// vector_k_max. Masks have one bit for each slot.
  virtual void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks,
                       std::uint32_t k, std::span<VectorNeighbor> lists) = 0;

  /// Computes the score of each living row of the last apply for each query. Appends a match if the
  /// score is at most the query's score_max. The order of the matches is arbitrary. `applied` must
  /// be the argument of the last apply, so that the store need not keep it. Masks have one bit for
  /// each index into `applied`. As in nearest, row VectorQuery::self is skipped.
  virtual void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                            const VectorMasks& masks, std::vector<VectorMatch>& matches) = 0;

  /// The same as near_applied, but for the living rows of all slots. Masks have one bit for each
  /// slot. Called only if more scores are equal than the result of nearest can hold.
  virtual void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                        std::vector<VectorMatch>& matches) = 0;

  /// Copies the rows of some slots into `components`, one after another. The slots must have been
  /// written before.
  virtual void read(std::span<const Slot> slots, std::span<float> components) const = 0;
};

}  // namespace starling
