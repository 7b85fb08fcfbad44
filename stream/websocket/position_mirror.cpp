// SPDX-License-Identifier: Apache-2.0
// Applies rows to the copy of the positions: see position_mirror.hpp.
#include "starling/stream/websocket/position_mirror.hpp"

namespace starling::stream {

void PositionMirror::reach(Slot slot) {
  if (slot < places_.size()) return;
  places_.resize(std::size_t{slot} + 1);
  ids_.resize(std::size_t{slot} + 1);
}

void PositionMirror::apply(const MirrorRows& rows) {
  for (const ObjectBirth& birth : rows.births) {
    reach(birth.slot);
    if (ids_[birth.slot] == birth.id) continue;
    ids_[birth.slot] = birth.id;
    places_[birth.slot].state += MirrorPlace::next_owner;
  }
  const bool is_globe = lattice_.options().space == Space::wgs84;
  for (const ObjectRow& row : rows.rows) {
    reach(row.slot);
    MirrorPlace& place = places_[row.slot];
    const bool is_alive = starling::is_alive(row.generation);
    if (is_alive && !place.is_alive()) ++alive_count_;
    if (!is_alive && place.is_alive()) --alive_count_;
    place.state &= ~(MirrorPlace::alive | MirrorPlace::pole);
    if (!is_alive) continue;
    place.state |= MirrorPlace::alive;
    place.tags = row.tags;
    if (!is_globe) {
      place.x = row.position.x;
      place.y = row.position.y;
      continue;
    }
    constexpr double antimeridian = 180;
    const Position position = lattice_.to_position(row.position);
    place.x = position[0] == -antimeridian ? antimeridian : position[0];
    place.y = position[1];
    if (row.position.x == 0 && row.position.y == 0) place.state |= MirrorPlace::pole;
  }
}

void PositionMirror::clear() {
  places_ = {};
  ids_ = {};
  alive_count_ = 0;
}

}  // namespace starling::stream
