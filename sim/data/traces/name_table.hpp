// SPDX-License-Identifier: Apache-2.0
// A name table maps each numeric id back to its text in the input, so that results can show the
// original ids. It also detects two different texts that give the same numeric id. The readers fill
// the table; the result writers look texts up.
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
    bool collides = false;   ///< another text already has this id; the table keeps that text
    bool is_latin1 = false;  ///< the text is not UTF-8; the table has it converted from Latin-1
  };

  /// Computes the numeric id of `text` by the protocol's rule (protocol/wire/text_id.hpp) and
  /// stores `text` for this id. Decimal texts that differ only in leading zeros give the same id
  /// without a collision; the table keeps the first of these texts.
  Interned intern(std::string_view text);

  /// Sets the text of an id that did not come from intern(), for example an id from a server.
  /// Replaces an older text of this id.
  void put(std::uint64_t id, std::string_view text);

  /// Storage in which text_of() writes an id in decimal.
  using NumberText = std::array<char, 20>;

  /// Returns the original text of the id, or the id in decimal if no text is known. The result is
  /// valid while the table is unchanged and `buffer` lives.
  std::string_view text_of(std::uint64_t id, NumberText& buffer) const;

  /// Returns all known ids with their texts. An empty text stands for the id in decimal.
  const std::unordered_map<std::uint64_t, std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::sim
