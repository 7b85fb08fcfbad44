// SPDX-License-Identifier: Apache-2.0
// Draws text that replaces itself on a terminal. `starling subscribe` and `starling top` use it.
#pragma once

#include <cstddef>
#include <ostream>
#include <string_view>

namespace starling::apps {

struct TableSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

/// Returns true if the program may colour what it writes to a terminal: the variable NO_COLOR is
/// unset or empty, and TERM is not "dumb".
bool may_use_colors();

class Screen {
 public:
  /// If `in_place` is true, each text replaces the last one on the terminal. `out` must outlive
  /// this object.
  Screen(std::ostream& out, bool in_place) : out_(out), in_place_(in_place) {}
  /// Leaves the last text on the screen and shows the cursor again.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool in_place() const { return in_place_; }
  /// Returns the size of the next text: of the terminal, without the row that the cursor needs.
  TableSize size() const;
  /// Each line of `text` ends with a line break.
  void draw(std::string_view text);

 private:
  std::ostream& out_;
  bool in_place_;
  bool has_drawn_ = false;
};

}  // namespace starling::apps
