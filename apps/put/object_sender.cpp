// SPDX-License-Identifier: Apache-2.0
// Sends each name before the row of its object. A collision of two text ids is then found before a
// row overwrites the object of the other id: see object_sender.hpp.
#include "starling/apps/put/object_sender.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

// One batch of this many rows keeps the server's loop busy for about a millisecond.
constexpr std::size_t sent_rows_max = 16384;
// An upper bound for id, time, position, tags and their overhead, and for the id and the overhead
// of a name.
constexpr std::size_t row_bytes_besides_name = 64;
constexpr std::size_t names_told_max = std::size_t{1} << 20;

[[noreturn]] void refuse_collision(std::string_view text) {
  throw std::runtime_error("the id " + sim::quoted_text(text) +
                           " has the same 64-bit hash as another text id of this server; rename "
                           "one of them");
}

}  // namespace

ObjectSender::ObjectSender(protocol::Client& client) : client_(client) {
  const protocol::Limits& limits = client.server().limits;
  const std::size_t bytes_max =
      std::min<std::size_t>(limits.frame_bytes_max, static_cast<std::size_t>(limits.credit_bytes));
  rows_max_ = std::max<std::size_t>(
      1, std::min({sent_rows_max, std::size_t{limits.rows_max},
                   static_cast<std::size_t>(limits.credit_rows),
                   bytes_max / (row_bytes_besides_name + limits.text_bytes_max)}));
}

void ObjectSender::add(const ObjectRow& row) {
  const bool has_tags = row.tags.has_value();
  if (!ids_.empty() && has_tags == tags_.empty()) send();
  const std::uint64_t id = to_number(protocol::id_of_text(row.id));
  if (!row.name.empty())
    keep_name(id, row.name);
  else if (!protocol::is_decimal_id(row.id))
    keep_name(id, row.id);
  ids_.push_back(id);
  times_us_.push_back(row.time_us);
  positions_.push_back(row.position);
  if (has_tags) tags_.push_back(*row.tags);
  has_z_ = has_z_ || row.has_z;
  if (ids_.size() >= rows_max_) send();
}

void ObjectSender::keep_name(std::uint64_t id, std::string_view text) {
  if (told_.size() >= names_told_max) told_.clear();
  const auto [known, is_new] = told_.try_emplace(id, text);
  if (!is_new && known->second != text) refuse_collision(text);
  if (!is_new) return;
  name_ids_.push_back(id);
  name_texts_.emplace_back(text);
}

void ObjectSender::send_names() {
  if (name_ids_.empty()) return;
  const protocol::BatchReply reply = value_of(
      client_.put_names({.ids = name_ids_, .texts = {name_texts_.begin(), name_texts_.end()}}));
  for (const protocol::RejectedRow& row : reply.first_rejected)
    if (row.reason == protocol::RowReason::name_collision) refuse_collision(name_texts_[row.index]);
  for (const protocol::ReasonCount& each : reply.reasons)
    if (each.reason == protocol::RowReason::name_collision)
      throw std::runtime_error(
          "two text ids of the input and of this server have the same 64-bit "
          "hash; send fewer rows at a time to learn which");
  for (const protocol::ReasonCount& each : reply.reasons) {
    if (each.reason == protocol::RowReason::text_is_not_its_id)
      totals_.add_rejected(std::string(to_string(each.reason)),
                           rejection_text(each.reason, each.limit), each.count);
    else
      nameless_ += each.count;
  }
  name_ids_.clear();
  name_texts_.clear();
}

void ObjectSender::send() {
  if (ids_.empty()) return;
  send_names();
  std::vector<double> coordinates;
  const std::size_t components = has_z_ || client_.server().space.space == Space::planar3 ? 3 : 2;
  coordinates.reserve(ids_.size() * components);
  for (const Position& position : positions_)
    coordinates.insert(coordinates.end(), position.begin(),
                       position.begin() + static_cast<std::ptrdiff_t>(components));
  const auto problem =
      client_.post(protocol::UpdateBatch{.ids = ids_,
                                         .times_us = times_us_,
                                         .components = static_cast<std::uint8_t>(components),
                                         .coordinates = coordinates,
                                         .tags = tags_});
  if (problem) throw std::runtime_error(refusal_text(*problem));
  clear();
}

void ObjectSender::finish() {
  send();
  totals_.add(client_.flush());
}

void ObjectSender::clear() {
  ids_.clear();
  times_us_.clear();
  positions_.clear();
  tags_.clear();
  has_z_ = false;
}

}  // namespace starling::apps
