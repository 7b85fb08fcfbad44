// SPDX-License-Identifier: Apache-2.0
// The names of objects from PutNames. An id is the hash of a name, and the table notices when two
// names have the same hash. The table limits the number and the bytes of its names. RequestHandler
// owns the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"

namespace starling::stream {

struct NameLimits {
  std::size_t names_max = std::size_t{1} << 22;
  std::size_t bytes_max = std::size_t{256} << 20;  ///< of all names together
};

class NameTable {
 public:
  explicit NameTable(const NameLimits& limits) : limits_(limits) {}

  /// The session that sends names: how many new names it has added so far, and how many it may add.
  struct Teller {
    std::uint64_t& names;
    std::uint64_t names_max;
  };
  /// Stores a name. Returns RowReason::none, or why the name is not stored: text_is_not_its_id,
  /// name_collision, too_many_names_of_session, too_many_names or too_many_name_bytes.
  protocol::RowReason put(ObjectId id, std::string_view text, const Teller& teller);

  /// Returns the name of the id, or an empty text if the table has no name. Decimal names are not
  /// stored, because a decimal name is the id itself.
  std::string_view find(ObjectId id) const;

  std::size_t count() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  NameLimits limits_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::stream
