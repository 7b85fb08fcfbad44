// SPDX-License-Identifier: Apache-2.0
// Makes keys and tokens. Secrets go to files of mode 0600 and never to a terminal. See keygen.hpp.
#include "starling/apps/keygen.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/protocol/keys/key_file.hpp"
#include "starling/protocol/keys/secret_file.hpp"
#include "starling/stream/access/principal.hpp"

namespace starling::apps {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t token_bytes = 32;
constexpr const char* server_name = "server";
constexpr const char* dashboard_name = "dashboard";
const std::vector<std::string> roles_of_keys{"publish", "query", "subscribe", "stats"};
const std::vector<std::string> roles_of_tokens{"query", "subscribe", "stats"};  // for the live page

struct KeygenFlags {
  std::string name;
  std::string out;
  std::string server_key;
  std::string server_folder;
  std::vector<std::string> roles;  ///< empty: the defaults roles_of_keys or roles_of_tokens
  bool token = false;
};

/// Returns why `name` is not allowed, or an empty text. The name becomes a file's name and a text
/// in TOML.
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

std::string check_role(const std::string& text) {
  if (stream::role_of(text)) return {};
  return "the roles are publish, query, subscribe, tick, stats and admin (docs/security.md)";
}

/// The text in quotes. TOML escapes as JSON does.
std::string quoted(const std::string& text) {
  return JsonText().text(text).take();
}

std::string server_lines(const std::string& path, const protocol::KeyPair& key) {
  return "[server]\nkey = " + quoted(path) + "   # public = \"" + protocol::to_z85(key.public_key) +
         "\"\n";
}

std::string principal_lines(const std::string& name, const std::string& member,
                            const std::string& value, const std::vector<std::string>& roles) {
  std::string lines =
      "[[principal]]\nname = \"" + name + "\"\n" + member + " = \"" + value + "\"\nroles = [";
  for (const std::string& role : roles)
    lines += (&role == &roles.front() ? "\"" : ", \"") + role + "\"";
  return lines + "]\n";
}

/// Prints `lines` for a keys file to stdout, and what to do next to stderr. If stdout is not a
/// terminal, does not say to copy the lines.
void print_lines(const std::string& lines, const std::string& path, const std::string& then) {
  std::cout << lines << std::flush;
  std::cerr << "starling keygen: wrote " << path << " (mode 0600). "
            << (isatty(STDOUT_FILENO) == 1
                    ? "Add the lines above to the keys file of the server (starling serve --keys "
                      "FILE). "
                    : "")
            << then << '\n';
}

protocol::KeyPair write_key(const std::string& path, const std::string& name,
                            const std::optional<protocol::CurveKey>& server_key) {
  protocol::KeyPair key = protocol::new_key_pair(name);
  key.server_key = server_key;
  protocol::write_key_file(path, key);
  return key;
}

/// Writes a new token to a file, and returns its SHA-256 in hex.
std::string write_token(const std::string& path) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
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
  return hex.data();
}

std::string with_token(const std::string& path) {
  return "curl -H \"Authorization: Bearer $(cat " + path + ")\"";
}

void make_key(const KeygenFlags& flags) {
  const std::string path = flags.out.empty() ? flags.name + ".key" : flags.out;
  std::optional<protocol::CurveKey> server_key;
  if (!flags.server_key.empty()) server_key = protocol::public_key_from(flags.server_key);
  const protocol::KeyPair key = write_key(path, flags.name, server_key);
  if (flags.name == server_name)
    return print_lines(server_lines(path, key), path,
                       "It needs no [[principal]]. Give clients the public key.");
  const std::string lines = principal_lines(flags.name, "public", protocol::to_z85(key.public_key),
                                            flags.roles.empty() ? roles_of_keys : flags.roles);
  print_lines(lines, path,
              "Send the server SIGHUP. Then connect with --key " + path +
                  (server_key ? ""
                              : " and --server-key, or write the server's public key into the "
                                "file as server = \"...\"") +
                  ".");
}

void make_token(const KeygenFlags& flags) {
  const std::string path = flags.out.empty() ? flags.name + ".token" : flags.out;
  const std::string hash = write_token(path);
  print_lines(principal_lines(flags.name, "token_sha256", hash,
                              flags.roles.empty() ? roles_of_tokens : flags.roles),
              path,
              "Send the server SIGHUP. Then send the token with each request: " + with_token(path) +
                  " https://...");
}

/// The files that were written so far. The destructor removes them unless keep() was called.
class NewFiles {
 public:
  NewFiles() = default;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles() {
    std::error_code ignored;
    for (const std::string& path : paths_) std::filesystem::remove(path, ignored);
  }
  void add(const std::string& path) { paths_.push_back(path); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

/// Makes all files that a server with keys needs: its key, a client's key, a token and the keys
/// file.
void make_server(const KeygenFlags& flags) {
  const std::string name = flags.name.empty() ? "client" : flags.name;
  const std::string& folder = flags.server_folder;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error("cannot make the folder " + folder + ": " + std::strerror(errno) +
                             "; name one in a folder that exists");
  const auto path_of = [&](const std::string& file) {
    return (std::filesystem::path(folder) / file).string();
  };
  const std::string server_path = path_of("server.key");
  const std::string client_path = path_of(name + ".key");
  const std::string token_path = path_of("dashboard.token");
  const std::string keys_path = path_of("keys.toml");
  NewFiles files;
  const protocol::KeyPair server = write_key(server_path, server_name, std::nullopt);
  files.add(server_path);
  const protocol::KeyPair client = write_key(client_path, name, server.public_key);
  files.add(client_path);
  const std::string hash = write_token(token_path);
  files.add(token_path);
  const std::string lines =
      "# Who may use the server of starling serve --keys; docs/security.md has all members.\n" +
      server_lines("server.key", server) + '\n' +
      principal_lines(name, "public", protocol::to_z85(client.public_key),
                      flags.roles.empty() ? roles_of_keys : flags.roles) +
      '\n' + principal_lines(dashboard_name, "token_sha256", hash, roles_of_tokens);
  protocol::write_secret(
      {.kind = "keys file", .path = keys_path, .maker = "starling keygen --server DIR"}, lines);
  files.keep();
  std::cerr << "starling keygen: wrote " << server_path << ", " << client_path << ", " << token_path
            << " and " << keys_path << " (mode 0600). Start the server: starling serve --keys "
            << keys_path << "\nConnect to it: starling info --key " << client_path
            << "\nAsk over HTTP, or give the page the token: " << with_token(token_path)
            << " http://127.0.0.1:7413/v1/stats\n";
}

}  // namespace

std::function<int()> add_keygen(CLI::App& program) {
  const auto flags = std::make_shared<KeygenFlags>();
  CLI::App& command = *program.add_subcommand(
      "keygen", "Make keys for a server and its clients, or a token for HTTP");
  command
      .add_option("name", flags->name,
                  "The name of the client, as the server's log shows it. server: the key of the "
                  "server itself. With --server, client if left out")
      ->check(CLI::Validator(check_name, ""));
  auto* const token = command.add_flag(
      "--token", flags->token,
      "Make a bearer token for HTTP and WebSockets. The keys file has only its hash");
  auto* const server = command
                           .add_option("--server", flags->server_folder,
                                       "Write all that a server with keys needs into this folder: "
                                       "server.key, NAME.key for a client, dashboard.token for "
                                       "HTTP, and keys.toml for starling serve --keys")
                           ->excludes(token)
                           ->type_name("DIR");
  command
      .add_option(
          "--roles", flags->roles,
          "The roles of the client or token, with commas: publish, query, subscribe, tick, "
          "stats, admin. Without this flag, publish,query,subscribe,stats for a client, and "
          "query,subscribe,stats for a token")
      ->delimiter(',')
      ->allow_extra_args(false)  // the next word is the name
      ->check(CLI::Validator(check_role, ""))
      ->type_name("ROLES");
  command
      .add_option("--out", flags->out,
                  "The file to write, which must not exist. Without this flag, NAME.key or "
                  "NAME.token")
      ->excludes(server)
      ->type_name("FILE");
  command
      .add_option("--server-key", flags->server_key,
                  "The public key of the server, or a file with it, such as the server's key file. "
                  "It is written into the key file")
      ->check(CLI::Validator(check_server_key, ""))
      ->excludes(token)
      ->excludes(server)
      ->type_name("KEY|FILE");
  command.footer(
      "Examples:\n"
      "  starling keygen --server keys dispatch\n"
      "  starling keygen rider --server-key keys/server.key --out keys/rider.key \\\n"
      "      >> keys/keys.toml\n"
      "  starling keygen --token --roles stats prometheus --out keys/prometheus.token \\\n"
      "      >> keys/keys.toml\n"
      "Secrets go to files of mode 0600, the lines for the server's keys file to the standard\n"
      "output. A secret's holder can act as its owner. To revoke one, remove its lines from the\n"
      "keys file and send the server SIGHUP.");
  return [flags] {
    if (!flags->server_folder.empty() && flags->name == server_name)
      throw CLI::ValidationError("--server", "the server has a key of this name; name the client");
    if (!flags->server_folder.empty() && flags->name == dashboard_name)
      throw CLI::ValidationError(
          "--server", "the token for HTTP has the name dashboard; give the client another one");
    if (flags->name == server_name && !flags->token &&
        !(flags->roles.empty() && flags->server_key.empty()))
      throw CLI::ValidationError("name",
                                 "the server's own key has no roles and no server's key; "
                                 "give a client another name");
    if (!flags->server_folder.empty())
      make_server(*flags);
    else if (flags->name.empty())
      throw CLI::RequiredError("name");
    else if (flags->token)
      make_token(*flags);
    else
      make_key(*flags);
    return 0;
  };
}

}  // namespace starling::apps
