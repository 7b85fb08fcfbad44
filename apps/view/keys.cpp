// SPDX-License-Identifier: Apache-2.0
// Reads keys with poll() from a terminal in non-canonical mode: see keys.hpp.
#include "starling/apps/view/keys.hpp"

#include <thread>

#include <poll.h>
#include <unistd.h>

namespace starling::apps {

Keys::Keys() {
  termios mode{};
  if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &mode) != 0) return;
  before_ = mode;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // ISIG stays set, so Ctrl-C still works
  tcsetattr(STDIN_FILENO, TCSANOW, &mode);
}

Keys::~Keys() {
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

std::optional<char> Keys::read_key() const {
  char key = 0;
  if (read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
  return key;
}

std::optional<char> Keys::next(std::chrono::milliseconds longest) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (!is_terminal()) {
    std::this_thread::sleep_for(longest);
    return std::nullopt;
  }
  if (poll(&input, 1, static_cast<int>(longest.count())) <= 0) return std::nullopt;
  const auto key = read_key();
  if (!key) {  // the terminal is gone
    std::this_thread::sleep_for(longest);
    return std::nullopt;
  }
  if (*key != '\x1b') return key;
  // An arrow key sends three characters at once.
  if (poll(&input, 1, 0) <= 0 || read_key() != '[' || poll(&input, 1, 0) <= 0) return '\x1b';
  const auto arrow = read_key();
  return arrow == 'C' ? '>' : arrow == 'D' ? '<' : '\x1b';
}

}  // namespace starling::apps
