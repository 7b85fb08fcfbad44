// SPDX-License-Identifier: Apache-2.0
// A copy of all positions and tags, by slot, for views. It exists only while a view is shown. The
// loop sends rows, and the thread of the WebSockets applies and reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::stream {

/// The rows that a tick takes, or the rows of a part of the table.
struct MirrorRows {
  std::vector<ObjectBirth> births;
  std::vector<ObjectRow> rows;
};

/// An object of the mirror. In a planar space, x and y are whole lattice units. In a wgs84 space
/// they are degrees; the antimeridian is always at 180.
struct MirrorPlace {
  double x = 0;
  double y = 0;
  std::uint32_t tags = 0;
  /// Bit 0: the object is alive. Bit 1: it is at a pole. The other bits change when the slot gets
  /// another object.
  std::uint32_t state = 0;

  bool is_alive() const { return (state & alive) != 0; }
  bool is_pole() const { return (state & pole) != 0; }
  std::uint32_t owner() const { return state / next_owner; }

  static constexpr std::uint32_t alive = 1;
  static constexpr std::uint32_t pole = 2;
  static constexpr std::uint32_t next_owner = 4;
};

class PositionMirror {
 public:
  /// The space must not be a vector space.
  explicit PositionMirror(const SpaceOptions& space) : lattice_(space) {}

  const Lattice& lattice() const { return lattice_; }

  void apply(const MirrorRows& rows);
  /// Forgets all objects and frees their memory.
  void clear();

  /// Returns the objects by slot, also the dead ones.
  std::span<const MirrorPlace> places() const { return places_; }
  ObjectId id_of(Slot slot) const { return ids_[slot]; }
  std::uint64_t alive_count() const { return alive_count_; }

 private:
  void reach(Slot slot);

  Lattice lattice_;
  std::vector<MirrorPlace> places_;
  std::vector<ObjectId> ids_;
  std::uint64_t alive_count_ = 0;
};

}  // namespace starling::stream
