// SPDX-License-Identifier: Apache-2.0
// Pads the cells: see text_table.hpp.
#include "starling/apps/shared/text/text_table.hpp"

#include <algorithm>
#include <cstddef>

#include "starling/apps/shared/text/text_width.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::apps {

std::string TextTable::str() const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines.front().push_back(column.head);
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<std::size_t> widths(columns_.size());
  for (std::vector<std::string>& line : lines)
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      line[at] = plain_text(line[at]);
      widths[at] = std::max(widths[at], columns_of(line[at]));
    }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string row;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      if (at > 0) row += "  ";
      const std::size_t missing = widths[at] - columns_of(line[at]);
      if (columns_[at].align == Align::right)
        row.append(missing, ' ').append(line[at]);
      else
        row += padded(line[at], widths[at]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text.append(row).append("\n");
  }
  return text;
}

}  // namespace starling::apps
