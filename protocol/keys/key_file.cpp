// SPDX-License-Identifier: Apache-2.0
// Reads, checks and writes key files: see key_file.hpp. libzmq makes the keys and converts them to
// Z85, so a client needs no other library.
#include "starling/protocol/keys/key_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <zmq.h>

#include "starling/protocol/keys/secret_file.hpp"

namespace starling::protocol {
namespace {

constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t z85_length = 40;
using Z85Text = std::array<char, z85_length + 1>;  // with libzmq's NUL at the end

SecretFile named(const std::string& path) {
  return {.kind = "key file", .path = path, .maker = "starling keygen NAME"};
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  fail(named(path), what);
}

std::string_view trim(std::string_view text, std::string_view blank = " \t\r") {
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f || character == '"' ||
           character == '\\';
  });
}

struct Member {
  std::string_view name;
  std::string_view value;
};

/// Parses a line of the form name = "value", with or without a comment after it.
std::optional<Member> parse_member(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view quoted = trim(line.substr(equals + 1));
  if (!quoted.starts_with('"')) return std::nullopt;
  const auto end = quoted.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trim(quoted.substr(end + 1));
  if (!rest.empty() && !rest.starts_with('#')) return std::nullopt;
  const Member member{trim(line.substr(0, equals)), quoted.substr(1, end - 1)};
  return is_plain(member.value) ? std::optional(member) : std::nullopt;
}

struct Members {
  std::optional<std::string_view> name, public_key, secret_key, server_key;

  std::optional<std::string_view>* find(std::string_view member) {
    if (member == "name") return &name;
    if (member == "public") return &public_key;
    if (member == "secret") return &secret_key;
    if (member == "server") return &server_key;
    return nullptr;
  }
};

/// Errors name the number of the line and never show its text, which may be the secret key.
Members parse(const std::string& path, std::string_view text) {
  Members members;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto refuse = [&](const std::string& what) {
      fail(path, "is no key file: line " + std::to_string(number) + " " + what +
                     "; give a file that starling keygen NAME wrote");
    };
    const auto member = parse_member(line);
    if (!member) refuse("is not of the form name = \"text\"");
    auto* const value = members.find(member->name);
    if (value == nullptr) refuse("is not name, public, secret or server");
    if (*value) refuse("names a member for the second time");
    *value = member->value;
  }
  return members;
}

CurveKey key_of(const std::string& path, const std::optional<std::string_view>& text,
                const std::string& member) {
  if (!text) fail(path, "has no " + member + "; make a whole one with starling keygen NAME");
  const auto key = from_z85(*text);
  if (!key)
    fail(path,
         "is damaged: " + member +
             " is not a key of 40 characters in Z85; make a new one with starling keygen NAME");
  return *key;
}

CurveKey public_key_of(const CurveKey& secret) {
  Z85Text secret_text{};
  Z85Text public_text{};
  ::zmq_z85_encode(secret_text.data(), secret.data(), secret.size());
  const int status = ::zmq_curve_public(public_text.data(), secret_text.data());
  ::explicit_bzero(secret_text.data(), secret_text.size());
  const auto key = from_z85({public_text.data(), z85_length});
  if (status != 0 || !key)
    throw std::runtime_error("this libzmq has no CURVE; install one that was built with libsodium");
  return *key;
}

void append_key(std::string& text, std::string_view member, const CurveKey& key) {
  Z85Text z85{};
  ::zmq_z85_encode(z85.data(), key.data(), key.size());
  text.append(member).append(" = \"").append(z85.data(), z85_length).append("\"\n");
  ::explicit_bzero(z85.data(), z85.size());
}

}  // namespace

KeyPair new_key_pair(std::string name) {
  Z85Text public_text{};
  Z85Text secret_text{};
  const int status = ::zmq_curve_keypair(public_text.data(), secret_text.data());
  const auto public_key = from_z85({public_text.data(), z85_length});
  const auto secret_key = from_z85({secret_text.data(), z85_length});
  ::explicit_bzero(secret_text.data(), secret_text.size());
  if (status != 0 || !public_key || !secret_key)
    throw std::runtime_error("this libzmq has no CURVE; install one that was built with libsodium");
  return {.name = std::move(name), .public_key = *public_key, .secret_key = *secret_key};
}

KeyPair read_key_file(const std::string& path) {
  SecretText content(secret_bytes_max + 1);
  read_secret(named(path), content);
  const Members members = parse(path, content.text());
  if (!members.name || members.name->empty())
    fail(path, "has no name; make a whole one with starling keygen NAME");
  KeyPair pair{.name = std::string(*members.name),
               .public_key = key_of(path, members.public_key, "public"),
               .secret_key = key_of(path, members.secret_key, "secret")};
  if (members.server_key) pair.server_key = key_of(path, members.server_key, "server");
  if (public_key_of(pair.secret_key) != pair.public_key)
    fail(path,
         "is damaged: public is not the public key of secret; make a new one with starling keygen "
         "NAME");
  return pair;
}

CurveKey public_key_from(const std::string& text) {
  std::error_code error;
  if (!std::filesystem::exists(text, error)) {
    if (const auto key = from_z85(text)) return *key;
    throw std::runtime_error(
        "this is neither a public key, 40 characters in Z85 that are quoted for the shell, nor a "
        "file that has it as public = \"...\"; give one of them, such as the server's key file");
  }
  SecretText content(secret_bytes_max + 1);
  read_public(named(text), content);
  if (const auto key = from_z85(trim(content.text(), " \t\r\n"))) return *key;
  return key_of(text, parse(text, content.text()).public_key, "public");
}

void write_key_file(const std::string& path, const KeyPair& key) {
  if (key.name.empty() || key.name.size() > name_bytes_max || !is_plain(key.name))
    fail(path, "cannot hold this name; give one of 1 to " + std::to_string(name_bytes_max) +
                   " bytes without quotes, backslashes and control characters");
  SecretText content(secret_bytes_max);
  std::string& text = content.text();
  text = "# Keep this file secret: every program that reads it can act as its owner.\n";
  text += "name = \"" + key.name + "\"\n";
  append_key(text, "public", key.public_key);
  append_key(text, "secret", key.secret_key);
  if (key.server_key) append_key(text, "server", *key.server_key);
  write_secret(named(path), text);
}

std::string to_z85(const CurveKey& key) {
  Z85Text text{};
  ::zmq_z85_encode(text.data(), key.data(), key.size());
  return {text.data(), z85_length};
}

std::optional<CurveKey> from_z85(std::string_view text) {
  if (text.size() != z85_length || text.find('\0') != std::string_view::npos) return std::nullopt;
  Z85Text terminated{};
  std::ranges::copy(text, terminated.begin());
  CurveKey key{};
  const bool is_valid = ::zmq_z85_decode(key.data(), terminated.data()) != nullptr;
  ::explicit_bzero(terminated.data(), terminated.size());
  return is_valid ? std::optional(key) : std::nullopt;
}

}  // namespace starling::protocol
