// From an id back to the text it was written with, so that results carry the original ids; two
// texts that would wrongly be one object are an error. Filled by the readers, read by the result
// writers.
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
    bool collides = false;  ///< another text has this id already, and keeps it
  };

  /// The text's id by the protocol's rule, remembered with its text. Decimal texts that differ in
  /// leading zeros are one object, which keeps the text that came first.
  Interned intern(std::string_view text);

  /// For an id whose text comes from elsewhere, such as a server; replaces what is known.
  void put(std::uint64_t id, std::string_view text);

  /// Backs the text of an id that is its own number.
  using NumberText = std::array<char, 20>;

  /// The original text; the number where no other text is known. Valid as long as both the buffer
  /// and the table.
  std::string_view text_of(std::uint64_t id, NumberText& buffer) const;

  /// Every id seen; an empty text stands for the plain number.
  const std::unordered_map<std::uint64_t, std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::uint64_t, std::string> texts_;
};

}  // namespace starling::sim
