// SPDX-License-Identifier: Apache-2.0
// A peer is what a user might choose instead of Starling on the CPU. tick_bench.cpp lets a peer
// answer the queries of each tick, directly after the engine, and compares the distances.
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

  /// Builds an index of the objects and finds the k nearest of each query. Returns the
  /// milliseconds. `objects` must have at least k entries.
  virtual double tick_ms(const std::vector<PeerPoint>& objects,
                         const std::vector<PeerPoint>& queries, std::uint32_t k) = 0;

  /// Returns the squared distances of the last tick, k for each query, ascending.
  virtual std::span<const float> distances_sq() const = 0;
};

/// nanoflann's k-d tree with leaves of 10, rebuilt at each tick, on one thread.
std::unique_ptr<Peer> make_nanoflann_peer();

/// A grid of square cells with about 3 objects in each, as a competent user writes it in an
/// afternoon: a counting sort, rings of cells outwards from the query, insertion into a sorted
/// array, queries in spatial order, on `threads` threads. It does not order equal distances by id,
/// and has neither filters nor reports of changes.
std::unique_ptr<Peer> make_grid_peer(unsigned threads);

}  // namespace starling::bench
