// The texts that users know objects by, from PutNames: what notices that two texts share one hash.
// Sans-IO; bounded in entries and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "knn/types.hpp"
#include "protocol/errors.hpp"

namespace starling::stream {

struct NameLimits {
  std::size_t names_max = std::size_t{1} << 22;
  std::size_t bytes_max = std::size_t{256} << 20;  ///< of text
};

class NameTable {
 public:
  explicit NameTable(const NameLimits& limits) : limits_(limits) {}

  /// none, text_is_not_its_id, name_collision or too_many_names.
  protocol::RowReason put(ObjectId id, std::string_view text);

  /// Empty if unknown. Decimal text stands for itself and is not kept.
  std::string_view find(ObjectId id) const;

  std::size_t count() const { return texts_.size(); }

 private:
  NameLimits limits_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::stream
