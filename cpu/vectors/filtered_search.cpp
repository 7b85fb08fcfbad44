// SPDX-License-Identifier: Apache-2.0
// Implements FilteredSearch. Scans shadows in the blocks and parts of search_parts.hpp, and
// computes the scores of the rows that remain. Once more than half of the queries so far were left
// over, all later blocks are left over too.
#include "starling/cpu/vectors/filtered_search.hpp"

#include <algorithm>
#include <limits>

#include "starling/cpu/simd/key_sort.hpp"
#include "starling/cpu/vectors/row_scores.hpp"
#include "starling/cpu/vectors/shadow_scan.hpp"

namespace starling::cpu {

void FilteredSearch::set_corpus(Metric metric, const CorpusRows& corpus) {
  metric_ = metric;
  corpus_ = &corpus;
  interval_ = ScoreInterval(metric, corpus.dimension());
  maker_ = ShadowMaker(metric, corpus);
  panels_ = ShadowPanels(maker_, interval_, corpus, shadow_panel_rows(), pool_);
}

void FilteredSearch::clear() {
  panels_ = ShadowPanels();
  corpus_ = nullptr;
}

std::vector<std::uint32_t> FilteredSearch::search(const VectorSearch& search,
                                                  std::span<VectorNeighbor> lists) {
  for (Scratch& scratch : scratch_) scratch.left_over.clear();
  const auto blocks = QueryBlocks::of(search.queries.rows(), pool_.threads());
  if (blocks.are_enough_for(PanelParts::of(panels_.panels(), panels_.panel_bytes())))
    search_blocks(search, blocks, lists);
  else
    search_parts(search, lists);
  std::vector<std::uint32_t> left_over;
  for (const Scratch& scratch : scratch_)
    left_over.insert(left_over.end(), scratch.left_over.begin(), scratch.left_over.end());
  std::ranges::sort(left_over);
  return left_over;
}

// Each thread takes blocks of queries and scans the whole corpus for them.
void FilteredSearch::search_blocks(const VectorSearch& search, const QueryBlocks& blocks,
                                   std::span<VectorNeighbor> lists) {
  const auto parts = PanelParts::of(panels_.panels(), panels_.panel_bytes());
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> tried{0};
  pool_.run(blocks.count(), [&](std::size_t block, unsigned thread) {
    Scratch& scratch = scratch_[thread];
    const std::uint32_t first = blocks.first(block);
    const std::uint32_t count = blocks.count_of(block);
    const bool is_futile = written * 2 < tried;
    if (is_futile) {
      for (std::uint32_t i = 0; i < count; ++i) scratch.left_over.push_back(first + i);
      return;
    }
    scratch.tiles.make(maker_, search.queries, first, count);
    start(search, first, scratch.tiles, scratch.candidates);
    for (std::size_t part = 0; part < parts.count(); ++part) {
      pool_.poll(thread);
      scan(parts.part(part), scratch.tiles, scratch.candidates);
    }
    const std::size_t left_over_before = scratch.left_over.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      pool_.poll(thread);
      finish(search, first + i, scratch.candidates, i, scratch, lists);
    }
    const std::uint64_t done = written += count - (scratch.left_over.size() - left_over_before);
    tried += count;
    const bool is_caller = thread == 0;
    if (is_caller && done > 0 && done < search.queries.rows() && search.on_progress)
      search.on_progress(done);
  });
}

// All threads take parts of the corpus for the same queries, one block of queries after another.
void FilteredSearch::search_parts(const VectorSearch& search, std::span<VectorNeighbor> lists) {
  const std::uint32_t queries = search.queries.rows();
  const auto parts = PanelParts::of(panels_.panels(), panels_.panel_bytes());
  for (std::uint32_t first = 0; first < queries; first += QueryBlocks::queries_max) {
    const std::uint32_t count = std::min(QueryBlocks::queries_max, queries - first);
    tiles_.make(maker_, search.queries, first, count);
    for (Scratch& scratch : scratch_) {
      start(search, first, tiles_, scratch.candidates);
      start(search, first, tiles_, scratch.merged);
    }
    pool_.run(parts.count(), [&](std::size_t part, unsigned thread) {
      scan(parts.part(part), tiles_, scratch_[thread].candidates);
    });
    pool_.run(count, [&](std::size_t i, unsigned thread) {
      CandidateRows& merged = scratch_[thread].merged;
      for (const Scratch& scratch : scratch_) merged.add_all(scratch.candidates, i);
      finish(search, first + static_cast<std::uint32_t>(i), merged, i, scratch_[thread], lists);
    });
  }
}

void FilteredSearch::start(const VectorSearch& search, std::uint32_t first,
                           const ShadowTiles& tiles, CandidateRows& candidates) const {
  const VectorRow self = search.first_self == no_row ? no_row : search.first_self + first;
  candidates.start(interval_, panels_, tiles, search.k, self);
}

void FilteredSearch::scan(PanelRange panels, const ShadowTiles& tiles,
                          CandidateRows& candidates) const {
  const std::size_t queries = tiles.queries();
  if (candidates.failures() == queries) return;
  // One scan serves all queries of a block. For less than half of them it would cost too much.
  if (candidates.failures() * 2 > queries) return candidates.fail_all();
  scan_shadows({interval_.is_product(), panels_, panels, tiles}, candidates);
}

void FilteredSearch::finish(const VectorSearch& search, std::uint32_t number,
                            CandidateRows& candidates, std::size_t i, Scratch& scratch,
                            std::span<VectorNeighbor> lists) const {
  if (candidates.has_failed(i)) return scratch.left_over.push_back(number);
  const std::span<const std::uint64_t> rows = candidates.finish(i);
  scratch.keys.assign(rows.begin(), rows.end());
  score_rows(metric_, *corpus_, search.queries.row(number), scratch.keys, scratch.rows);
  sort_keys(scratch.keys);
  const std::size_t found = std::min<std::size_t>(search.k, scratch.keys.size());
  const std::span<VectorNeighbor> list = lists.subspan(std::size_t{number} * search.k, search.k);
  for (std::size_t entry = 0; entry < found; ++entry)
    list[entry] = {score_of_ordered(static_cast<std::uint32_t>(scratch.keys[entry] >> 32)),
                   static_cast<VectorRow>(scratch.keys[entry])};
  std::fill(list.begin() + static_cast<std::ptrdiff_t>(found), list.end(),
            VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
}

}  // namespace starling::cpu
