// SPDX-License-Identifier: Apache-2.0
// Single keys from the terminal, without the return key.
#pragma once

#include <chrono>
#include <optional>

#include <termios.h>

namespace starling::apps {

/// While this object exists, the terminal passes on each key at once and does not show it. If the
/// standard input is no terminal, there are no keys.
class Keys {
 public:
  Keys();
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  bool is_terminal() const { return before_.has_value(); }
  /// Returns the next key; std::nullopt if none comes within `longest`. The left arrow is '<', and
  /// the right arrow is '>'.
  std::optional<char> next(std::chrono::milliseconds longest);

 private:
  std::optional<char> read_key() const;

  std::optional<termios> before_;
};

}  // namespace starling::apps
