// SPDX-License-Identifier: Apache-2.0
// Implements PanelSearch. In both ways to divide a search among threads, a part of the panels stays
// in the second-level cache while a thread scans it for all queries of a block.
#include "starling/cpu/vectors/panel_search.hpp"

#include <algorithm>
#include <atomic>

namespace starling::cpu {
namespace {

constexpr std::size_t parts_per_thread = 4;

std::span<VectorNeighbor> list_of(const PanelQuestion& question, std::span<VectorNeighbor> lists,
                                  std::uint32_t query) {
  return lists.subspan(std::size_t{query} * question.k, question.k);
}

}  // namespace

PanelParts PanelSearch::parts_of(const VectorPanels& corpus) {
  return PanelParts::of(corpus.panels(), corpus.panel_bytes());
}

void PanelSearch::nearest(const PanelQuestion& question, std::span<VectorNeighbor> lists) {
  const auto blocks = QueryBlocks::of(question.queries.rows(), pool_.threads());
  if (blocks.are_enough_for(parts_of(question.corpus)))
    search_blocks(question, blocks, lists);
  else
    search_parts(question, lists);
}

void PanelSearch::start(const PanelQuestion& question, std::uint32_t first, std::uint32_t count,
                        NearestRows& nearest) {
  nearest.start(count, question.k, no_row);
  if (question.choose) question.choose(nearest, first, count);
}

void PanelSearch::scan_part(const PanelQuestion& question, PanelRange panels,
                            const QueryTiles& tiles, NearestRows& nearest) {
  nearest.go_on_from(static_cast<VectorRow>(panels.begin * question.corpus.panel_rows()));
  scan({question.metric, question.corpus, panels, tiles}, nearest);
}

// Each thread takes blocks of queries and scans the whole corpus for them.
void PanelSearch::search_blocks(const PanelQuestion& question, const QueryBlocks& blocks,
                                std::span<VectorNeighbor> lists) {
  const std::uint32_t queries = question.queries.rows();
  const PanelParts parts = parts_of(question.corpus);
  std::atomic<std::uint64_t> queries_done{0};
  pool_.run(blocks.count(), [&](std::size_t number, unsigned thread) {
    const std::uint32_t first = blocks.first(number);
    const std::uint32_t count = blocks.count_of(number);
    QueryTiles& tiles = scratch_[thread].tiles;
    NearestRows& nearest = scratch_[thread].nearest;
    tiles.pack(question.queries, first, count);
    start(question, first, count, nearest);
    for (std::size_t part = 0; part < parts.count(); ++part) {
      pool_.poll(thread);
      scan_part(question, parts.part(part), tiles, nearest);
    }
    for (std::uint32_t i = 0; i < count; ++i) nearest.write(i, list_of(question, lists, first + i));
    const std::uint64_t done = queries_done += count;
    const bool is_caller = thread == 0;
    if (is_caller && done < queries && question.on_progress) question.on_progress(done);
  });
}

// All threads take parts of the corpus for the same queries, one block of queries after another.
void PanelSearch::search_parts(const PanelQuestion& question, std::span<VectorNeighbor> lists) {
  const std::uint32_t queries = question.queries.rows();
  const PanelParts parts = parts_of(question.corpus);
  for (std::uint32_t first = 0; first < queries; first += QueryBlocks::queries_max) {
    if (first > 0 && question.on_progress) question.on_progress(first);
    const std::uint32_t count = std::min(QueryBlocks::queries_max, queries - first);
    tiles_.pack(question.queries, first, count);
    for (Scratch& scratch : scratch_) start(question, first, count, scratch.nearest);
    pool_.run(parts.count(), [&](std::size_t part, unsigned thread) {
      scan_part(question, parts.part(part), tiles_, scratch_[thread].nearest);
    });
    pool_.run(count, [&](std::size_t i, unsigned thread) {
      NearestRows& merged = scratch_[thread].merged;
      merged.start(1, question.k, no_row);
      for (const Scratch& scratch : scratch_) merged.add_all(scratch.nearest, i);
      merged.write(0, list_of(question, lists, first + static_cast<std::uint32_t>(i)));
    });
  }
}

// The corpus may be the rows that one tick applied. Such a corpus has only few panels, so the parts
// are made small enough that every thread gets some of them.
void PanelSearch::within(Metric metric, const VectorPanels& corpus, VectorsView queries,
                         std::span<const VectorQuery> asked, const VectorMasks& masks,
                         const std::uint64_t* all, std::vector<VectorMatch>& matches) {
  PanelParts parts = parts_of(corpus);
  const std::size_t for_all = parts.panels / (parts_per_thread * pool_.threads());
  parts.panels_each = std::clamp<std::size_t>(for_all, 1, parts.panels_each);
  for (std::uint32_t first = 0; first < asked.size(); first += QueryBlocks::queries_max) {
    const auto rest = static_cast<std::uint32_t>(asked.size() - first);
    const std::uint32_t count = std::min(QueryBlocks::queries_max, rest);
    tiles_.pack(queries, first, count);
    for (Scratch& scratch : scratch_)
      scratch.within.start(asked.subspan(first, count), masks, all, first);
    pool_.run(parts.count(), [&](std::size_t part, unsigned thread) {
      scan({metric, corpus, parts.part(part), tiles_}, scratch_[thread].within);
    });
  }
  for (Scratch& scratch : scratch_) {
    std::vector<VectorMatch>& found = scratch.within.matches();
    matches.insert(matches.end(), found.begin(), found.end());
    found.clear();
  }
}

}  // namespace starling::cpu
