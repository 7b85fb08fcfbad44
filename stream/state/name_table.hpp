// SPDX-License-Identifier: Apache-2.0
// The texts that users know objects by, from PutNames: what notices that two texts share one hash.
// Sans-IO; bounded in entries and bytes.
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
  std::size_t bytes_max = std::size_t{256} << 20;  ///< of text
};

class NameTable {
 public:
  explicit NameTable(const NameLimits& limits) : limits_(limits) {}

  /// The session that tells names: how many of its names were new, and how many may be.
  struct Teller {
    std::uint64_t& names;
    std::uint64_t names_max;
  };
  /// none, text_is_not_its_id, name_collision, too_many_names_of_session, too_many_names or
  /// too_many_name_bytes.
  protocol::RowReason put(ObjectId id, std::string_view text, const Teller& teller);

  /// Empty if unknown. Decimal text stands for itself and is not kept.
  std::string_view find(ObjectId id) const;

  std::size_t count() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  NameLimits limits_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::stream
