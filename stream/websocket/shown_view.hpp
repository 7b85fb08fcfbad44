// SPDX-License-Identifier: Apache-2.0
// What one client holds of its view, and the next message that brings it up to date.
// protocol/README.md describes the messages. SocketReader owns a ShownView.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/socket_codec.hpp"
#include "starling/stream/websocket/position_mirror.hpp"

namespace starling::stream {

/// The rectangle of a view, in the units of the mirror. It gives positions as shares of its sides.
class ViewArea {
 public:
  ViewArea(const Lattice& lattice, const Rectangle& rectangle);

  /// Returns whether the object is in the rectangle, by the rules of LatticeRectangle::position_in.
  bool has(const MirrorPlace& place) const {
    if (!place.is_alive() || place.y < y_min_ || place.y > y_max_) return false;
    return has_x(place.x) || place.is_pole() || (place.x == antimeridian_ && has_x(-place.x));
  }
  /// Both return the object's place as a share of a side, clamped to the range from 0 to 1.
  double x_share(const MirrorPlace& place) const;
  double y_share(const MirrorPlace& place) const;

 private:
  bool has_x(double x) const {
    return is_wrapped_ ? x >= x_min_ || x <= x_max_ : x >= x_min_ && x <= x_max_;
  }

  // The edges that decide what is in the rectangle.
  double x_min_;
  double y_min_;
  double x_max_;
  double y_max_;
  bool is_wrapped_ = false;
  double antimeridian_;  ///< infinity in a planar space, so that no x equals it
  // The corner and the sides that shares are computed from. In a planar space, the edges above are
  // rounded, and these numbers are not.
  double x_from_;
  double y_from_;
  double width_;
  double height_;
};

/// Memory that all views of a server share. Each view uses it while it makes a message.
struct ViewScratch;

class ShownView {
 public:
  struct Parts {
    const PositionMirror& mirror;
    ViewScratch& scratch;
    std::uint64_t epoch = 0;
    std::size_t entering_bytes_max = 0;
    /// Returns the name of an object; empty: the object has no name.
    const std::function<std::string_view(ObjectId)>& name_of;
  };

  ShownView(std::uint64_t request_id, const protocol::View& view, const Parts& parts);

  const protocol::View& view() const { return view_; }
  /// Returns the message that brings the client up to date with the mirror.
  protocol::Frame next(Tick tick, std::int64_t tau_us);
  /// Returns whether the last message left out objects that are in the view.
  bool has_more() const { return has_more_; }

 private:
  friend struct ViewScratch;
  struct Held {
    Slot slot = 0;
    std::uint16_t x = 0;
    std::uint16_t y = 0;
    std::uint32_t tags = 0;
    std::uint32_t owner = 0;
  };

  bool gather(std::size_t objects_max);
  void compare();
  void enter(const Held& object);
  protocol::Frame raster(const protocol::ViewHead& head);

  std::uint64_t request_id_;
  protocol::View view_;
  Parts parts_;
  ViewArea area_;
  std::size_t entering_max_;
  std::vector<Held> held_;  ///< sorted by slot
  std::uint64_t number_ = 0;
  bool is_whole_ = true;
  bool has_more_ = false;
};

struct ViewScratch {
  std::vector<ShownView::Held> now;
  std::vector<ShownView::Held> next;
  std::vector<Slot> left;
  std::vector<Slot> entered;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint16_t> entered_xy;
  std::vector<std::uint32_t> entered_tags;
  std::vector<std::string_view> names;
  std::vector<Slot> moved;
  std::vector<std::uint16_t> moved_xy;
  std::vector<Slot> tagged;
  std::vector<std::uint32_t> tags;
  std::vector<std::uint32_t> counts;
  std::size_t entering_bytes = 0;
  bool has_names = false;

  void clear();
};

}  // namespace starling::stream
