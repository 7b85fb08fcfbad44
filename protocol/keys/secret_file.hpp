// SPDX-License-Identifier: Apache-2.0
// Reads and writes small files that only their owner may read: key files and tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace starling::protocol {

/// Overwrites its text when it leaves its scope.
class SecretText {
 public:
  /// The text never grows beyond `bytes_max`, because a larger buffer would leave a copy behind.
  explicit SecretText(std::size_t bytes_max) { text_.reserve(bytes_max); }
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText();

  std::string& text() { return text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// How errors name the file, such as {"key file", "a.key", "starling keygen NAME"}.
struct SecretFile {
  std::string kind;
  std::string path;
  std::string maker;  ///< the command that makes such files
};

inline constexpr std::size_t secret_bytes_max = 4096;

/// Throws std::runtime_error: "the key file a.key " and `what`.
[[noreturn]] void fail(const SecretFile& file, const std::string& what);

/// Reads the file into `secret`, which has room for secret_bytes_max + 1 bytes. Throws
/// std::runtime_error with one sentence if the file cannot be read, is longer than
/// secret_bytes_max, or may be read or written by others than its owner.
void read_secret(const SecretFile& file, SecretText& secret);

/// Like read_secret, but without the mode check, for files without secrets.
void read_public(const SecretFile& file, SecretText& text);

/// Writes a new file with mode 0600. Throws std::runtime_error with one sentence if the file exists
/// or cannot be written.
void write_secret(const SecretFile& file, std::string_view secret);

}  // namespace starling::protocol
