// SPDX-License-Identifier: Apache-2.0
// Compares what a client holds with the mirror: see shown_view.hpp.
#include "starling/stream/websocket/shown_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace starling::stream {

namespace {

constexpr double most_number = 65'535;
constexpr double degrees_around = 360;

/// Rounds an edge to whole units, like LatticeRectangle.
double whole_units(double units) {
  constexpr double beyond_lattice = 0x1p31;
  return std::round(std::clamp(units, -beyond_lattice, beyond_lattice));
}

std::uint16_t to_number16(double share) {
  return static_cast<std::uint16_t>(share * most_number + 0.5);
}

/// Returns the cell, from 0 to `cells` - 1, that has the point at `share` of the side.
std::size_t cell_of(double share, std::uint32_t cells) {
  return std::min(static_cast<std::size_t>(share * cells), std::size_t{cells} - 1);
}

}  // namespace

ViewArea::ViewArea(const Lattice& lattice, const Rectangle& rectangle)
    : x_min_(rectangle.x_min),
      y_min_(rectangle.y_min),
      x_max_(rectangle.x_max),
      y_max_(rectangle.y_max),
      antimeridian_(std::numeric_limits<double>::infinity()) {
  const SpaceOptions& space = lattice.options();
  if (space.space == Space::wgs84) {
    is_wrapped_ = x_min_ > x_max_;
    antimeridian_ = degrees_around / 2;
    x_from_ = x_min_;
    y_from_ = y_min_;
    width_ = x_max_ - x_min_ + (is_wrapped_ ? degrees_around : 0);
    height_ = y_max_ - y_min_;
    return;
  }
  const auto x_units = [&](double x) { return (x - space.origin[0]) / space.resolution_m; };
  const auto y_units = [&](double y) { return (y - space.origin[1]) / space.resolution_m; };
  x_from_ = x_units(x_min_);
  y_from_ = y_units(y_min_);
  width_ = x_units(x_max_) - x_from_;
  height_ = y_units(y_max_) - y_from_;
  x_min_ = whole_units(x_from_);
  y_min_ = whole_units(y_from_);
  x_max_ = whole_units(x_units(x_max_));
  y_max_ = whole_units(y_units(y_max_));
}

double ViewArea::x_share(const MirrorPlace& place) const {
  double from_edge = place.x - x_from_;
  if (antimeridian_ == degrees_around / 2) {
    if (from_edge < 0) from_edge += degrees_around;
    if (from_edge > width_ && from_edge >= degrees_around) from_edge -= degrees_around;
  }
  return std::clamp(from_edge / width_, 0.0, 1.0);
}

double ViewArea::y_share(const MirrorPlace& place) const {
  return std::clamp((place.y - y_from_) / height_, 0.0, 1.0);
}

void ViewScratch::clear() {
  now.clear();
  next.clear();
  left.clear();
  entered.clear();
  ids.clear();
  entered_xy.clear();
  entered_tags.clear();
  names.clear();
  moved.clear();
  moved_xy.clear();
  tagged.clear();
  tags.clear();
  entering_bytes = 0;
  has_names = false;
}

ShownView::ShownView(std::uint64_t request_id, const protocol::View& view, const Parts& parts)
    : request_id_(request_id),
      view_(view),
      parts_(parts),
      area_(parts.mirror.lattice(), view.rectangle),
      entering_max_(static_cast<std::size_t>(
          std::min<std::uint64_t>(view.bytes_per_s / 2, parts.entering_bytes_max))) {}

protocol::Frame ShownView::next(Tick tick, std::int64_t tau_us) {
  constexpr std::uint64_t moved_bytes = 8;
  ViewScratch& scratch = parts_.scratch;
  scratch.clear();
  has_more_ = false;
  protocol::ViewHead head{.view = request_id_,
                          .number = ++number_,
                          .epoch = parts_.epoch,
                          .tick = tick,
                          .tau_us = tau_us,
                          .rectangle = view_.rectangle,
                          .object_count = parts_.mirror.alive_count()};
  const auto objects_max = static_cast<std::size_t>(
      std::min<std::uint64_t>(view_.objects_max, view_.bytes_per_s / moved_bytes));
  if (!gather(objects_max)) return raster(head);
  compare();
  head.in_view = scratch.now.size();
  held_.assign(scratch.next.begin(), scratch.next.end());
  const protocol::ViewChanges changes{
      .is_whole = is_whole_,
      .left = scratch.left,
      .entered = scratch.entered,
      .entered_ids = scratch.ids,
      .entered_xy = scratch.entered_xy,
      .entered_tags = scratch.entered_tags,
      .entered_names = scratch.has_names ? std::span<const std::string_view>(scratch.names)
                                         : std::span<const std::string_view>(),
      .moved = scratch.moved,
      .moved_xy = scratch.moved_xy,
      .tagged = scratch.tagged,
      .tags = scratch.tags};
  is_whole_ = false;
  return protocol::encode_view_tick(head, changes);
}

/// Collects the objects that are in the view now. Returns false if there are more than
/// `objects_max`.
bool ShownView::gather(std::size_t objects_max) {
  std::vector<Held>& now = parts_.scratch.now;
  const auto places = parts_.mirror.places();
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    const MirrorPlace& place = places[slot];
    if (!area_.has(place)) continue;
    if (now.size() >= objects_max) return false;
    now.push_back({.slot = static_cast<Slot>(slot),
                   .x = to_number16(area_.x_share(place)),
                   .y = to_number16(area_.y_share(place)),
                   .tags = place.tags,
                   .owner = place.owner()});
  }
  return true;
}

void ShownView::compare() {
  ViewScratch& scratch = parts_.scratch;
  auto old = held_.begin();
  for (const Held& object : scratch.now) {
    for (; old != held_.end() && old->slot < object.slot; ++old) scratch.left.push_back(old->slot);
    const bool has_slot = old != held_.end() && old->slot == object.slot;
    if (has_slot && old->owner == object.owner) {
      if (old->x != object.x || old->y != object.y) {
        scratch.moved.push_back(object.slot);
        scratch.moved_xy.insert(scratch.moved_xy.end(), {object.x, object.y});
      }
      if (old->tags != object.tags) {
        scratch.tagged.push_back(object.slot);
        scratch.tags.push_back(object.tags);
      }
      scratch.next.push_back(object);
    } else if (scratch.entering_bytes < entering_max_) {
      enter(object);
    } else {
      has_more_ = true;
      if (has_slot) scratch.left.push_back(object.slot);
    }
    if (has_slot) ++old;
  }
  for (; old != held_.end(); ++old) scratch.left.push_back(old->slot);
}

void ShownView::enter(const Held& object) {
  constexpr std::size_t entered_bytes = 20;  // slot, id, position, tags
  constexpr std::size_t name_bytes_besides = 12;
  ViewScratch& scratch = parts_.scratch;
  const ObjectId id = parts_.mirror.id_of(object.slot);
  const std::string_view name = parts_.name_of(id);
  scratch.entered.push_back(object.slot);
  scratch.ids.push_back(to_number(id));
  scratch.entered_xy.insert(scratch.entered_xy.end(), {object.x, object.y});
  scratch.entered_tags.push_back(object.tags);
  scratch.names.push_back(name);
  scratch.has_names |= !name.empty();
  scratch.entering_bytes += entered_bytes + (name.empty() ? 0 : name.size() + name_bytes_besides);
  scratch.next.push_back(object);
}

protocol::Frame ShownView::raster(const protocol::ViewHead& so_far) {
  std::vector<std::uint32_t>& counts = parts_.scratch.counts;
  counts.assign(std::size_t{view_.raster_columns} * view_.raster_rows, 0);
  protocol::ViewHead head = so_far;
  for (const MirrorPlace& place : parts_.mirror.places()) {
    if (!area_.has(place)) continue;
    ++head.in_view;
    ++counts[cell_of(area_.y_share(place), view_.raster_rows) * view_.raster_columns +
             cell_of(area_.x_share(place), view_.raster_columns)];
  }
  held_ = {};
  is_whole_ = true;
  return protocol::encode_view_raster(
      head, {.columns = view_.raster_columns, .rows = view_.raster_rows, .counts = counts});
}

}  // namespace starling::stream
