// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reading of bearer tokens. The first line of an input is the field Authorization, the
// second one Sec-WebSocket-Protocol. Only a request that shows a token of the keys file may use a
// route, and no answer repeats that token. The target finds the token of a request with code of its
// own, which shares nothing with the server's.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include <sodium.h>

#include "starling/protocol/keys/key_file.hpp"
#include "starling/stream/access/access.hpp"
#include "starling/stream/http/token_gate.hpp"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {
namespace {

namespace fs = std::filesystem;
using stream::PrincipalId;

/// The tokens of the keys file, with the names and the roles of their principals.
struct Known {
  const char* name;
  const char* role;
};
const std::map<std::string, Known> known_tokens{{"rider-token", {"rider", "query"}},
                                                {"a/b+c=", {"padded", "publish"}},
                                                {" spaced", {"spaced", "admin"}}};

/// A folder with a keys file, which is read once.
class Keys {
 public:
  static stream::Access& access() {
    static Keys keys;
    return *keys.access_;
  }

 private:
  Keys() {
    std::string folder = fs::temp_directory_path() / "starling-fuzz-XXXXXX";
    check_invariant(::mkdtemp(folder.data()) != nullptr, "a folder can be made");
    protocol::write_key_file(folder + "/server.key", protocol::new_key_pair("server"));
    std::ofstream(folder + "/keys.toml") << text();
    fs::permissions(folder + "/keys.toml", fs::perms::owner_read);
    access_.emplace(folder + "/keys.toml", stream::AuditOptions{});
    fs::remove_all(folder);
  }

  static std::string text() {
    std::string text = "[server]\nkey = \"server.key\"\n[anonymous]\nroles = [\"stats\"]\n";
    for (const auto& [token, known] : known_tokens) {
      std::string hash(crypto_hash_sha256_BYTES, '\0');
      crypto_hash_sha256(reinterpret_cast<unsigned char*>(hash.data()),
                         reinterpret_cast<const unsigned char*>(token.data()), token.size());
      text += "[[principal]]\nname = \"" + std::string(known.name) + "\"\nroles = [\"" +
              known.role + "\"]\ntoken_sha256 = \"";
      for (const char each : hash)
        for (const int digit : {static_cast<unsigned char>(each) >> 4, each & 15})
          text += "0123456789abcdef"[digit];
      text += "\"\n";
    }
    return text;
  }

  std::optional<stream::Access> access_;
};

bool is_blank(char letter) {
  return letter == ' ' || letter == '\t';
}

/// Reads the fields letter by letter. Returns the token that they show, or std::nullopt if they
/// show no token.
std::optional<std::string> shown(const std::string& authorization, const std::string& protocols) {
  if (!authorization.empty()) {
    const std::string scheme = "bearer ";
    for (std::size_t i = 0; i < scheme.size(); ++i)
      if (i >= authorization.size() ||
          std::tolower(static_cast<unsigned char>(authorization[i])) != scheme[i])
        return std::string();
    return authorization.substr(scheme.size());
  }
  std::string word;
  for (std::size_t i = 0; i <= protocols.size(); ++i) {
    if (i < protocols.size() && protocols[i] != ',') {
      word += protocols[i];
      continue;
    }
    while (!word.empty() && is_blank(word.front())) word.erase(0, 1);
    while (!word.empty() && is_blank(word.back())) word.pop_back();
    const std::string prefix = "starling.bearer.";
    if (word.compare(0, prefix.size(), prefix) == 0) return word.substr(prefix.size());
    word.clear();
  }
  return std::nullopt;
}

void check(stream::TokenGate& gate, const stream::Route& route, const std::string& authorization,
           const std::string& protocols, bool is_local, bool is_forwarded) {
  stream::HttpHead head;
  head.authorization = authorization;
  head.websocket_protocol = protocols;
  head.is_forwarded = is_forwarded;
  head.from.is_local = is_local;
  head.from.peer_address = "192.0.2.1";
  const auto refusal = gate.check(head, route);
  const auto token = shown(authorization, protocols);
  const auto known = token ? known_tokens.find(*token) : known_tokens.end();
  const auto& ring = Keys::access().ring();
  if (!refusal) {
    if (route.access == stream::RouteAccess::open) return;
    const auto principal = ring.principal(head.principal);
    check_invariant(principal != nullptr, "a principal of the keys file is let in");
    if (known != known_tokens.end())
      check_invariant(principal->name == known->second.name, "the token's principal is let in");
    else
      check_invariant(
          !token && is_local && !is_forwarded && head.principal == PrincipalId::anonymous,
          "without a token, only a local request is let in");
    return;
  }
  check_invariant(route.access != stream::RouteAccess::open, "an open route is not refused");
  if (refusal->status == 403) {
    check_invariant(known != known_tokens.end() || (!token && is_local && !is_forwarded),
                    "a principal that is known lacks a role");
  } else {
    check_invariant(refusal->status == 401 || refusal->status == 429, "the token is refused");
    check_invariant(known == known_tokens.end(), "a right token always passes");
  }
  for (const auto& [each, of] : known_tokens)
    check_invariant(refusal->body.find(each) == std::string::npos, "no answer has a token");
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      "\x01"
      "Bearer rider-token\n",
      "\x01"
      "bEARER a/b+c=\nstarling.v1, starling.bearer.rider-token",
      "\x01\nstarling.v1,\tstarling.bearer.rider-token \t",
      "\x01\nstarling.bearer., starling.bearer.rider-token",
      "\x03"
      "Basic cmlkZXI6\n,,",
      std::string("\0Bearer  spaced\n", 16),
      std::string("\0\n", 2),
      "\x01\n"};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  if (size == 0) return 0;
  static stream::TokenGate gate({.access = &fuzz::Keys::access()});
  const std::string_view input = fuzz::text_of(data + 1, size - 1);
  const std::string authorization(input.substr(0, input.find('\n')));
  const std::string protocols(input.substr(std::min(input.size(), authorization.size() + 1)));
  stream::RouteAccess seen = stream::RouteAccess::open;
  for (const stream::Route& route : stream::http_routes()) {
    if (route.access == seen) continue;  // several routes need the same role
    seen = route.access;
    fuzz::check(gate, route, authorization, protocols, (data[0] & 1) != 0, (data[0] & 2) != 0);
  }
  return 0;
}
