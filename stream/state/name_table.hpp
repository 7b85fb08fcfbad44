// SPDX-License-Identifier: Apache-2.0
// The names of objects, which clients send with PutNames. The id of a named object is the hash of
// its name, and the table rejects a name if it holds another name with the same hash. The table
// limits the number and the bytes of its names. Tables owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"

namespace starling::stream {

struct NameLimits {
  std::size_t names_max = std::size_t{1} << 22;
  std::size_t bytes_max = std::size_t{256} << 20;  ///< the most bytes of all names together
};

class NameTable {
 public:
  explicit NameTable(const NameLimits& limits) : limits_(limits) {}

  /// The session or principal that sends names.
  struct Teller {
    std::uint64_t& names;     ///< how many names it has added; put() increments the number
    std::uint64_t names_max;  ///< how many names it may add
    /// The reason with which names beyond names_max are rejected.
    protocol::RowReason too_many = protocol::RowReason::too_many_names_of_session;
    std::uint32_t owner = 0;        ///< owner number that new names get
    bool may_change_others = true;  ///< may also send the names of other owners again
  };
  /// Stores the name `text` of the object `id`. Returns RowReason::none, or why the name is
  /// rejected: text_is_not_its_id, not_owner, name_collision, Teller::too_many, too_many_names or
  /// too_many_name_bytes. A decimal name, such as "42", is the id itself and is never stored.
  protocol::RowReason put(ObjectId id, std::string_view text, const Teller& teller);

  /// After set_may_grow(false), names that are not stored yet are rejected as too_many_names.
  void set_may_grow(bool may_grow) { may_grow_ = may_grow; }

  /// Returns the stored name of `id`; empty if no name is stored for `id`.
  std::string_view find(ObjectId id) const;
  /// Like find(), but for other threads than the one that calls put(). A stored name does not move.
  std::string_view find_beside(ObjectId id) const;

  struct StoredName {
    ObjectId id{};
    std::string text;
    std::uint32_t owner = 0;
  };
  /// Returns all names, in no particular order.
  std::vector<StoredName> export_state() const;

  std::size_t count() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Name {
    std::string text;
    std::uint32_t owner = 0;
  };

  NameLimits limits_;
  std::size_t bytes_ = 0;
  bool may_grow_ = true;
  std::unordered_map<std::uint64_t, Name> texts_;
  mutable std::mutex growing_;  ///< held while texts_ grows, and by find_beside()
};

}  // namespace starling::stream
