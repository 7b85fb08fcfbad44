// SPDX-License-Identifier: Apache-2.0
// Maps numeric ids back to the texts of the input, so that results carry the original ids, and
// detects two texts with the same id. The readers fill the table; the result writers look texts up.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace starling::sim {

class NameTable {
 public:
  struct Interned {
    std::uint64_t id = 0;
    bool collides = false;  ///< another text already has this id and keeps it
  };

  /// Computes the text's id by the protocol's rule (protocol/wire/text_id.hpp) and stores the text.
  /// Decimal texts that differ only in leading zeros are one object, which keeps the first text.
  Interned intern(std::string_view text);

  /// Sets the text of an id when both come from elsewhere, for example from a server. Replaces an
  /// older text.
  void put(std::uint64_t id, std::string_view text);

  /// Storage for the decimal text of an id that has no other text.
  using NumberText = std::array<char, 20>;

  /// The original text of the id, or the id in decimal if no text is known. Valid while the table
  /// is unchanged and `buffer` lives.
  std::string_view text_of(std::uint64_t id, NumberText& buffer) const;

  /// All ids seen, with their texts. An empty text stands for the id in decimal.
  const std::unordered_map<std::uint64_t, std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::sim
