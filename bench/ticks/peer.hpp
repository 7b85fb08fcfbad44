// SPDX-License-Identifier: Apache-2.0
// A peer is what a user might choose instead of Starling on the CPU. tick_bench.cpp lets a peer
// answer the queries of each tick, directly after the engine has done so, and compares the
// distances.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace starling::bench {

struct PeerPoint {
  float x, y;  ///< metres
};

class Peer {
 public:
  virtual ~Peer() = default;

  /// Builds an index of the objects and finds the k objects nearest to each query. Returns the
  /// milliseconds that this took. `objects` must have at least k entries.
  virtual double tick_ms(const std::vector<PeerPoint>& objects,
                         const std::vector<PeerPoint>& queries, std::uint32_t k) = 0;

  /// Returns the squared distances of the last tick, k for each query, ascending.
  virtual std::span<const float> distances_sq() const = 0;
};

/// Returns nanoflann's k-d tree with at most 10 objects in a leaf. The tree is rebuilt at each
/// tick, and one thread does all the work.
std::unique_ptr<Peer> make_nanoflann_peer();

/// Returns a grid of square cells with about 3 objects in each, as a competent user writes it in an
/// afternoon. A counting sort fills the grid. A search visits rings of cells around the query, from
/// the inside to the outside, and inserts each near object into a sorted array. `threads` threads
/// answer the queries in spatial order. The grid does not order equal distances by id, and it has
/// neither filters nor reports of changes.
std::unique_ptr<Peer> make_grid_peer(unsigned threads);

}  // namespace starling::bench
