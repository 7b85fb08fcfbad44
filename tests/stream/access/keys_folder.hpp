// SPDX-License-Identifier: Apache-2.0
// A folder with a server's key and a keys file, for tests.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/protocol/keys/key_file.hpp"

namespace starling::stream {

class KeysFolder {
 public:
  KeysFolder() {
    std::string path = testing::TempDir() + "starling-keys-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder for keys");
    folder_ = path;
    protocol::write_key_file(folder_ / "server.key", server);
  }
  KeysFolder(const KeysFolder&) = delete;
  KeysFolder& operator=(const KeysFolder&) = delete;
  ~KeysFolder() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "keys.toml"; }
  std::string path(const std::string& name) const { return folder_ / name; }

  /// Replaces the keys file by the section [server] and `principals`.
  void write(const std::string& principals) const {
    write_whole("[server]\nkey = \"server.key\"\n" + principals);
  }
  void write_whole(const std::string& text) const {
    std::ofstream(path()) << text;
    ::chmod(path().c_str(), 0644);
  }

  protocol::KeyPair server = protocol::new_key_pair("server");

 private:
  std::filesystem::path folder_;
};

/// Returns the hexadecimal SHA-256 of a token.
inline std::string sha256_text(const std::string& text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::array<char, 2 * hash.size() + 1> digits{};
  return sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
}

/// Returns a section [[principal]]. `members` are further lines.
inline std::string principal_text(const std::string& name, const protocol::CurveKey& key,
                                  const std::string& members) {
  return "[[principal]]\nname = \"" + name + "\"\npublic = '" + protocol::to_z85(key) + "'\n" +
         members + "\n";
}

}  // namespace starling::stream
