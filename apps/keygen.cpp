// SPDX-License-Identifier: Apache-2.0
// Makes keys and tokens. Secrets go to files of mode 0600 and never to a terminal. See keygen.hpp.
#include "starling/apps/keygen.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>
#include <sodium.h>

#include "starling/protocol/keys/key_file.hpp"
#include "starling/protocol/keys/secret_file.hpp"

namespace starling::apps {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t token_bytes = 32;

struct KeygenFlags {
  std::string name;
  std::string out;
  std::string server_key;
  bool token = false;
};

/// The name becomes a file's name and a text in TOML.
std::string check_name(const std::string& name) {
  const bool is_plain = std::ranges::all_of(name, [](unsigned char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '_' || each == '-' || each == '.';
  });
  if (is_plain && !name.empty() && name.size() <= name_bytes_max && name.front() != '.' &&
      name.front() != '-')
    return {};
  return "a name has 1 to 64 letters, digits, _, - and . and begins with none of the last two";
}

std::string check_key(const std::string& text) {
  if (protocol::from_z85(text)) return {};
  return "a public key has 40 characters in Z85, as public = \"...\" of the server's key file "
         "shows it; quote it for the shell";
}

void print_principal(const std::string& name, const std::string& member, const std::string& value) {
  std::cout << "[[principal]]\nname = \"" << name << "\"\n"
            << member << " = \"" << value
            << "\"\nroles = [\"publish\", \"query\", \"subscribe\"]\n";
}

void say_next(const std::string& wrote, const std::string& then) {
  std::cout << std::flush;
  std::cerr << "starling keygen: wrote " << wrote
            << " (mode 0600). Add the lines above to the keys file of the server (starling serve "
               "--keys FILE), with the roles that are needed of publish, query, subscribe, tick, "
               "stats and admin, and send the server SIGHUP. "
            << then << '\n';
}

void make_key(const KeygenFlags& flags) {
  const std::string path = flags.out.empty() ? flags.name + ".key" : flags.out;
  protocol::KeyPair key = protocol::new_key_pair(flags.name);
  if (!flags.server_key.empty()) key.server_key = protocol::from_z85(flags.server_key);
  protocol::write_key_file(path, key);
  print_principal(flags.name, "public", protocol::to_z85(key.public_key));
  say_next(path, std::string("Then connect with --key ") + path +
                     (key.server_key ? ""
                                     : " and --server-key, or write the server's public key into "
                                       "the file as server = \"...\"") +
                     ".");
}

void make_token(const KeygenFlags& flags) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
  const std::string path = flags.out.empty() ? flags.name + ".token" : flags.out;
  std::array<std::uint8_t, token_bytes> random{};
  randombytes_buf(random.data(), random.size());
  constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::array<char, sodium_base64_ENCODED_LEN(token_bytes, variant)> token{};
  sodium_bin2base64(token.data(), token.size(), random.data(), random.size(), variant);
  sodium_memzero(random.data(), random.size());
  const std::size_t length = token.size() - 1;  // without the NUL
  std::array<std::uint8_t, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const std::uint8_t*>(token.data()), length);
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
  protocol::SecretText text(protocol::secret_bytes_max);
  text.text().append(token.data(), length).append("\n");
  sodium_memzero(token.data(), token.size());
  protocol::write_secret({.kind = "token file", .path = path, .maker = "starling keygen --token"},
                         text.text());
  print_principal(flags.name, "token_sha256", hex.data());
  say_next(path, "Then send the token with each request: curl -H \"Authorization: Bearer $(cat " +
                     path + ")\" https://...");
}

}  // namespace

std::function<int()> add_keygen(CLI::App& program) {
  const auto flags = std::make_shared<KeygenFlags>();
  CLI::App& command = *program.add_subcommand(
      "keygen", "Make a key file for a client or a server, or a token for HTTP");
  command.add_option("name", flags->name, "The name of the client, as the server's log shows it")
      ->required()
      ->check(CLI::Validator(check_name, ""));
  auto* const token = command.add_flag(
      "--token", flags->token,
      "Make a bearer token for HTTP and WebSockets. The keys file has only its hash");
  command
      .add_option("--out", flags->out,
                  "The file to write, which must not exist. Without this flag, NAME.key or "
                  "NAME.token")
      ->type_name("FILE");
  command
      .add_option("--server-key", flags->server_key,
                  "The public key of the server, which is written into the key file")
      ->check(CLI::Validator(check_key, ""))
      ->excludes(token)
      ->type_name("KEY");
  command.footer(
      "Examples:\n"
      "  starling keygen server\n"
      "  starling keygen dispatch --server-key 'Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID'\n"
      "  starling keygen --token dashboard >> keys.toml\n"
      "The secret goes to a file of mode 0600, the lines for the server's keys file to the\n"
      "standard output. The keys file names the server's own key file under [server], as\n"
      "key = \"server.key\", and needs no other lines for it. Whoever has a secret can act as its\n"
      "owner. To revoke one, remove its lines from the keys file and send the server SIGHUP.");
  return [flags] {
    if (flags->token)
      make_token(*flags);
    else
      make_key(*flags);
    return 0;
  };
}

}  // namespace starling::apps
