// SPDX-License-Identifier: Apache-2.0
// Passes the pieces of a search through two slots in turn: see search_pipeline.hpp.
#include "starling/gpu/vectors/search_pipeline.hpp"

#include <algorithm>

namespace starling::gpu {

bool SearchPipeline::has_room(std::size_t floats, std::size_t entries, std::size_t slots) const {
  return std::all_of(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(slots),
                     [&](const Slot& slot) {
                       return slot.queries.room() >= floats && slot.lists.room() >= entries;
                     });
}

void SearchPipeline::make_room(std::size_t floats, std::size_t entries, std::size_t slots) {
  for (Slot& slot : slots_) {
    slot.queries = DeviceBuffer<float>(memory_);
    slot.lists = DeviceBuffer<VectorNeighbor>(memory_);
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (floats > 0) slots_[i].queries = DeviceBuffer<float>(memory_, floats);
    if (entries > 0) slots_[i].lists = DeviceBuffer<VectorNeighbor>(memory_, entries);
  }
}

double SearchPipeline::run(std::uint32_t count, std::uint32_t piece_max, const CudaStream& stream,
                           const PieceSteps& steps) {
  const DrainAtEnd drain(stream);
  const DrainAtEnd drain_brings(brings_);
  const DrainAtEnd drain_fetches(fetches_);
  const bool is_one = count <= piece_max;
  const CudaStream& brings = is_one ? stream : brings_;
  const CudaStream& fetches = is_one ? stream : fetches_;
  double searched_ms = 0;
  // A slot is free for its next piece when finish() returns.
  const auto finish = [&](Piece piece, Slot& slot) {
    if (!is_one) fetches.begin_after(slot.searched);
    steps.fetch(piece, slot.lists.data(), fetches);
    slot.fetched.record(fetches);
    slot.fetched.wait();
    searched_ms += slot.searched.ms_since(slot.started);
    steps.done(piece);
  };
  Slot* slot = &slots_[0];
  Slot* slot_before = &slots_[1];
  Piece before;
  while (before.begin + before.count < count) {
    const std::uint32_t begin = before.begin + before.count;
    const Piece piece{begin, std::min(piece_max, count - begin)};
    steps.bring(piece, slot->queries.data(), brings);
    if (!is_one) {
      slot->brought.record(brings);
      stream.begin_after(slot->brought);
    }
    slot->started.record(stream);
    steps.search(piece, slot->queries.data(), slot->lists.data());
    slot->searched.record(stream);
    if (before.count > 0) finish(before, *slot_before);
    before = piece;
    std::swap(slot, slot_before);
  }
  if (before.count > 0) finish(before, *slot_before);
  return searched_ms;
}

}  // namespace starling::gpu
