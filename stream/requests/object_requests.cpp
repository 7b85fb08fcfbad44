// SPDX-License-Identifier: Apache-2.0
// Changes the tags of objects, removes objects, and reads them page by page: see
// object_requests.hpp.
#include "starling/stream/requests/object_requests.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {
namespace {

/// The arrays of an Objects reply.
struct ObjectArrays {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> positions;
  std::vector<std::uint32_t> tags;
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> missing_ids;

  void add(const LiveObject& object, const std::optional<Position>& position,
           std::string_view name) {
    ids.push_back(to_number(object.id));
    times_us.push_back(object.time_us);
    if (position) positions.insert(positions.end(), position->begin(), position->end());
    tags.push_back(object.tags);
    names.push_back(name);
  }

  protocol::Objects page() const {
    const bool has_names = std::ranges::any_of(names, [](auto name) { return !name.empty(); });
    return {.ids = ids,
            .times_us = times_us,
            .positions = positions,
            .tags = tags,
            .names = has_names ? names : std::vector<std::string_view>{},
            .missing_ids = missing_ids};
  }
};

}  // namespace

void ObjectRequests::update_tags(const Caller& caller, PreparedRequest& request) {
  tables_.growth().let_grow(request.received.bytes.size());
  const auto held = rows_.hold(caller, request);
  auto& set = std::get<protocol::RowSet<TagUpdate>>(held->request.rows);
  const auto statuses = std::make_shared<std::vector<UpdateStatus>>(set.rows.size());
  const TagOwner owner = owners_.tag_owner(caller);
  rows_.run(held, {.rows = set.rows.size(),
                   .step = in_steps(
                       set.rows.size(),
                       [this, &set, statuses, owner, time_us_max = tables_.time().event_max_us()](
                           auto first, auto count) {
                         tables_.processor().update_tags(
                             std::span(set.rows).subspan(first, count), time_us_max,
                             std::span(*statuses).subspan(first, count), owner);
                       }),
                   .finish = [this, &set, statuses, owner]() -> SequencedReply {
                     const std::span<const UpdateStatus> all(*statuses);
                     log_.note_change(set, all, owner.may_change_others);
                     return reply_to(set, all);
                   }});
}

void ObjectRequests::remove(const Caller& caller, PreparedRequest& request) {
  tables_.growth().let_grow(request.received.bytes.size());
  const auto held = rows_.hold(caller, request);
  auto& set = std::get<protocol::RowSet<ObjectRemoval>>(held->request.rows);
  const auto statuses = std::make_shared<std::vector<UpdateStatus>>(set.rows.size());
  rows_.run(held,
            {.rows = set.rows.size(),
             .step = in_steps(set.rows.size(),
                              [this, &set, statuses, time_us_max = tables_.time().event_max_us()](
                                  auto first, auto count) {
                                tables_.processor().remove_objects(
                                    std::span(set.rows).subspan(first, count), time_us_max,
                                    std::span(*statuses).subspan(first, count));
                              }),
             .finish = [this, &set, statuses]() -> SequencedReply {
               const std::span<const UpdateStatus> all(*statuses);
               log_.note_change(set, all);
               return reply_to(set, all);
             }});
}

void ObjectRequests::get(const Caller& caller, const protocol::GetObjects& request) {
  const std::size_t rows_max = pages_.rows_max(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = pages_.now_us();
  const ObjectTable& objects = tables_.settled().objects();
  const NameTable& names = tables_.names();
  ObjectArrays arrays;
  std::size_t walked = request.object_ids.size();
  std::uint64_t next_page = 0;
  for (const std::uint64_t id : request.object_ids)
    if (const Slot slot = objects.find(ObjectId{id}); slot != no_slot && objects.is_alive(slot)) {
      const LiveObject object = objects.object_at(slot);
      arrays.add(object, tables_.space().position_of(object.position), names.find(object.id));
    } else {
      arrays.missing_ids.push_back(id);
    }
  if (request.rectangle) {
    const LatticeRectangle rectangle = tables_.space().on_lattice(*request.rectangle);
    Walk walk(request.page, objects.slot_end(), tables_.space().objects_walked_max());
    for (; walk.next < walk.page_end && arrays.ids.size() < rows_max; ++walk.next) {
      const auto slot = static_cast<Slot>(walk.next);
      if (!objects.is_alive(slot)) continue;
      const LiveObject object = objects.object_at(slot);
      if (const auto position = rectangle.position_in(object.position))
        arrays.add(object, position, names.find(object.id));
    }
    walked = walk.walked();
    next_page = walk.next_page();
  }
  protocol::Objects reply = arrays.page();
  reply.epoch = publisher_.epoch();
  reply.next_page = next_page;
  reply.object_count = objects.alive_count();
  pages_.send(caller, protocol::encode_objects(caller.reply_head(), reply), walked, since_us);
}

}  // namespace starling::stream
