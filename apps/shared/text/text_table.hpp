// SPDX-License-Identifier: Apache-2.0
// A table of texts with columns that align on a terminal, even if texts have wide characters.
#pragma once

#include <string>
#include <vector>

namespace starling::apps {

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string head;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `cells` has one text for each column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Returns one line for the heads and one for each row, without spaces at the ends of
  /// lines. The texts are escaped as plain_text() does.
  std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace starling::apps
