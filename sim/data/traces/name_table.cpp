// SPDX-License-Identifier: Apache-2.0
// The table stores an empty text for an id whose text is the id in plain decimal: see
// name_table.hpp.
#include "starling/sim/data/traces/name_table.hpp"

#include <charconv>

#include <simdjson.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim {

NameTable::Interned NameTable::intern(std::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    Interned interned = intern(to_utf8(text));
    interned.is_latin1 = true;
    return interned;
  }
  const std::uint64_t id = to_number(protocol::id_of_text(text));
  const bool decimal = protocol::is_decimal_id(text);
  const bool plain = decimal && (text.front() != '0' || text.size() == 1);
  const auto [entry, added] = texts_.try_emplace(id, plain ? std::string_view() : text);
  if (added) return {id, false};
  const std::string& known = entry->second;
  const bool known_decimal = known.empty() || protocol::is_decimal_id(known);
  return {id, decimal ? !known_decimal : known != text};
}

void NameTable::put(std::uint64_t id, std::string_view text) {
  texts_.insert_or_assign(id, text);
}

std::string_view NameTable::text_of(std::uint64_t id, NumberText& buffer) const {
  const auto entry = texts_.find(id);
  if (entry != texts_.end() && !entry->second.empty()) return entry->second;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), id);
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

}  // namespace starling::sim
