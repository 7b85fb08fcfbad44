// SPDX-License-Identifier: Apache-2.0
// Decides which names are stored and which are rejected: see name_table.hpp.
#include "starling/stream/state/name_table.hpp"

#include "starling/protocol/wire/text_id.hpp"

namespace starling::stream {

using protocol::RowReason;

RowReason NameTable::put(ObjectId id, std::string_view text, const Teller& teller) {
  if (protocol::id_of_text(text) != id) return RowReason::text_is_not_its_id;
  const auto found = texts_.find(to_number(id));
  if (found != texts_.end() && !teller.may_change_others && found->second.owner != teller.owner)
    return RowReason::not_owner;
  // The id of a decimal name is the number itself. The decimal name collides only with a stored
  // name whose hash is this number.
  if (protocol::is_decimal_id(text))
    return found == texts_.end() ? RowReason::none : RowReason::name_collision;
  if (found != texts_.end())
    return found->second.text == text ? RowReason::none : RowReason::name_collision;
  if (teller.names >= teller.names_max) return teller.too_many;
  if (!may_grow_ || texts_.size() >= limits_.names_max) return RowReason::too_many_names;
  if (bytes_ + text.size() > limits_.bytes_max) return RowReason::too_many_name_bytes;
  {
    const std::lock_guard lock(growing_);
    texts_.emplace(to_number(id), Name{std::string(text), teller.owner});
  }
  bytes_ += text.size();
  ++teller.names;
  return RowReason::none;
}

std::vector<NameTable::StoredName> NameTable::export_state() const {
  std::vector<StoredName> names;
  names.reserve(texts_.size());
  for (const auto& [id, name] : texts_) names.push_back({ObjectId{id}, name.text, name.owner});
  return names;
}

std::string_view NameTable::find(ObjectId id) const {
  const auto found = texts_.find(to_number(id));
  return found == texts_.end() ? std::string_view{} : found->second.text;
}

std::string_view NameTable::find_beside(ObjectId id) const {
  const std::lock_guard lock(growing_);
  return find(id);
}

}  // namespace starling::stream
