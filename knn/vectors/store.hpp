// The seam between the ticks of a vector space and the hardware that scores: rows by slot, written
// in place, and which of them are near. VectorEngine drives one from one thread; cpu/ and gpu/
// implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// What became of some slots, each at most once. Owns nothing.
struct VectorRows {
  std::span<const Slot> slots;
  std::span<const std::uint64_t> alive;  ///< bit i % 64 of word i / 64: of slots[i]
  VectorsView components;                ///< of slots[i]; of the dead they mean nothing

  bool is_alive(std::size_t i) const { return (alive[i / 64] >> (i % 64) & 1) != 0; }
};

/// Which rows are asked of. A mask is a run of bits, one for each row, bit i % 64 of word i / 64
/// for row i; rows whose bit is 0 are passed over. Bits behind the last row are 0.
struct VectorMasks {
  std::span<const std::uint64_t> words;  ///< mask after mask
  std::size_t words_each = 0;

  std::span<const std::uint64_t> of(std::uint32_t mask) const {
    return words.subspan(mask * words_each, words_each);
  }
};
inline constexpr std::uint32_t no_mask = ~std::uint32_t{0};

struct VectorQuery {
  const float* components = nullptr;  ///< dimension of them; nullptr: those of row `self`
  Slot self = no_slot;                ///< alive, and not its own neighbour; no_slot: nobody
  std::uint32_t mask = no_mask;       ///< an index into the masks beside it; none: all alive
  float score_max = 0;                ///< inclusive; only near_applied and near_any look at it
};

/// A row that is near enough to a query.
struct VectorMatch {
  std::uint32_t query = 0;  ///< index of the query
  VectorNeighbor row;       ///< its slot and its score
};

/// Scores are as VectorNeighbor has them, to the bit. Every function may throw std::bad_alloc or
/// what the device says; nothing that was applied is lost by it.
class VectorStore {
 public:
  virtual ~VectorStore() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual std::uint64_t bytes_used() const = 0;

  /// Where rows are best staged: memory that a device copies from fast. Outlives the store.
  virtual std::pmr::memory_resource* staging_memory() { return std::pmr::get_default_resource(); }

  /// After a function threw: no later call can succeed either.
  virtual bool is_lost() const { return false; }

  /// Milliseconds by the device's own clock that it took since this was last asked; 0 where there
  /// is no device.
  virtual double take_device_ms() { return 0; }

  /// Writes rows in place and makes room for slots beyond the last, at a growth that is amortised.
  /// Slots that never came are dead. If it throws, some rows may have been written; they come
  /// again, and writing what is there changes nothing.
  virtual void apply(const VectorRows& rows) = 0;

  /// Writes k entries for each query into `lists`, as VectorSearcher::search does, the row being
  /// the slot: the nearest by (score, slot) of all who are alive. k is 1 to vector_k_max. Masks are
  /// by slot, as long as there are slots.
  virtual void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks,
                       std::uint32_t k, std::span<VectorNeighbor> lists) = 0;

  /// Appends, in any order, every living row of the last apply that is near enough to a query.
  /// `applied` is that apply's argument once more, so that nobody needs to keep it; masks are by
  /// index into it. Selves are passed over as by nearest.
  virtual void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                            const VectorMasks& masks, std::vector<VectorMatch>& matches) = 0;

  /// The same of all slots, masks being as for nearest. Seldom asked: where equal scores are so
  /// many that nearest leaves doubt.
  virtual void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                        std::vector<VectorMatch>& matches) = 0;

  /// Copies rows out, one behind the other. Slots that came.
  virtual void read(std::span<const Slot> slots, std::span<float> components) const = 0;
};

}  // namespace starling
