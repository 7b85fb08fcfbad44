// SPDX-License-Identifier: Apache-2.0
// Draws with ANSI escape sequences: see screen.hpp.
#include "starling/apps/shared/text/screen.hpp"

#include <cstdlib>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace starling::apps {

bool may_use_colors() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

Screen::~Screen() {
  if (in_place_ && has_drawn_) out_ << "\x1b[?25h" << std::flush;
}

TableSize Screen::size() const {
  if (!in_place_) return {.rows = 12, .columns = 100};
  winsize window{};
  TableSize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0)
    size = {window.ws_row, window.ws_col};
  --size.rows;
  return size;
}

void Screen::draw(std::string_view text) {
  if (!in_place_) {
    out_ << text << std::endl;
    return;
  }
  // Hides the cursor and moves it to the top left. Each line erases the rest of its row, and the
  // end of the frame erases all rows below.
  std::string frame = has_drawn_ ? "\x1b[H" : "\x1b[?25l\x1b[2J\x1b[H";
  for (const char c : text) {
    if (c == '\n') frame += "\x1b[K";
    frame += c;
  }
  out_ << frame << "\x1b[J" << std::flush;
  has_drawn_ = true;
}

}  // namespace starling::apps
