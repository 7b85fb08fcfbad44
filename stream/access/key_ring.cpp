// SPDX-License-Identifier: Apache-2.0
// A reload exchanges one table for another, so a reader sees either all of the old file or all of
// the new one: see key_ring.hpp.
#include "starling/stream/access/key_ring.hpp"

#include <map>
#include <stdexcept>
#include <utility>

#include <sodium.h>

#include "starling/stream/access/keys_file.hpp"

namespace starling::stream {

namespace {

/// The content of one keys file. A table does not change after it is made.
struct Table {
  std::map<PrincipalId, std::shared_ptr<const Principal>> principals;
  std::map<zmtp::PublicKey, PrincipalId> keys;
  std::vector<std::pair<TokenHash, PrincipalId>> tokens;
  std::map<PrincipalId, KeysEntry> entries;
};

bool have_same_rights(const Principal& one, const Principal& other) {
  return one.roles == other.roles && one.streams == other.streams && one.objects == other.objects &&
         one.queries == other.queries;
}

bool is_unchanged(const KeysEntry& one, const KeysEntry& other) {
  return one.key == other.key && one.token == other.token &&
         have_same_rights(one.principal, other.principal);
}

}  // namespace

struct KeyRing::State {
  /// Returns the table of a keys file. Gives an id to each name that has no id yet.
  std::shared_ptr<const Table> table_of(const KeysFile& file) {
    auto made = std::make_shared<Table>();
    const auto add = [&made](PrincipalId id, KeysEntry entry) {
      entry.principal.id = id;
      if (entry.key) made->keys.emplace(*entry.key, id);
      if (entry.token) made->tokens.emplace_back(*entry.token, id);
      made->principals.emplace(id, std::make_shared<const Principal>(entry.principal));
      made->entries.emplace(id, std::move(entry));
    };
    for (const KeysEntry& entry : file.principals) {
      const auto next = static_cast<PrincipalId>(ids.size() + 1);
      add(ids.try_emplace(entry.principal.name, next).first->second, entry);
    }
    if (file.anonymous) add(PrincipalId::anonymous, {*file.anonymous, {}, {}});
    return made;
  }

  std::shared_ptr<const Table> current() const {
    const std::lock_guard lock(mutex);
    return table;
  }

  KeysFile read(const std::string& from) const {
    KeysFile file = read_keys_file(from);
    if (file.anonymous && !may_have_anonymous)
      throw std::runtime_error(
          "the keys file " + from +
          " has a section [anonymous], which gives rights to requests without a token from this "
          "machine, and a proxy here sends requests of other machines; say what is in front of the "
          "HTTP endpoint: --trusted-proxy none, or --trusted-proxy ADDRESS of the proxy");
    return file;
  }

  bool may_have_anonymous = true;
  std::string path;  ///< empty: a server without keys
  zmtp::Authentication authentication;
  std::mutex reloading;                    ///< guards ids
  std::map<std::string, PrincipalId> ids;  ///< ids by name, also of names that left the file
  mutable std::mutex mutex;                ///< guards table
  std::shared_ptr<const Table> table;
};

KeyRing::KeyRing() : state_(std::make_unique<State>()) {
  auto table = std::make_shared<Table>();
  table->principals.emplace(PrincipalId::anonymous, std::make_shared<const Principal>(everybody()));
  state_->table = std::move(table);
}

KeyRing::KeyRing(const std::string& path, bool may_have_anonymous)
    : state_(std::make_unique<State>()) {
  state_->may_have_anonymous = may_have_anonymous;
  const KeysFile file = state_->read(path);
  const protocol::KeyPair pair = read_server_key(file, path);
  state_->path = path;
  state_->table = state_->table_of(file);
  state_->authentication = {.server_public = pair.public_key,
                            .server_secret = pair.secret_key,
                            .admit = [this](const zmtp::PublicKey& key) { return by_key(key); }};
}

KeyRing::~KeyRing() {
  auto& secret = state_->authentication.server_secret;
  sodium_memzero(secret.data(), secret.size());
}

bool KeyRing::has_keys() const {
  return !state_->path.empty();
}

std::vector<PrincipalId> KeyRing::reload(std::vector<std::string>* names) {
  const std::lock_guard reloading(state_->reloading);
  if (!has_keys()) return {};
  const KeysFile file = state_->read(state_->path);
  if (read_server_key(file, state_->path).public_key != state_->authentication.server_public)
    throw std::runtime_error("the keys file " + state_->path +
                             " names another key of the server, and clients know the old one; "
                             "restart the server to change its key");
  const auto before = state_->current();
  auto after = state_->table_of(file);
  std::vector<PrincipalId> revoked;
  for (const auto& [id, entry] : before->entries) {
    const auto found = after->entries.find(id);
    if (found != after->entries.end() && is_unchanged(entry, found->second)) continue;
    revoked.push_back(id);
    if (names != nullptr) names->push_back(entry.principal.name);
  }
  const std::lock_guard lock(state_->mutex);
  state_->table = std::move(after);
  return revoked;
}

PrincipalId KeyRing::id_of(const std::string& name) {
  if (!has_keys() || name == anonymous_name) return PrincipalId::anonymous;
  const std::lock_guard reloading(state_->reloading);
  const auto next = static_cast<PrincipalId>(state_->ids.size() + 1);
  return state_->ids.try_emplace(name, next).first->second;
}

std::size_t KeyRing::count() const {
  const auto table = state_->current();
  return table->entries.size() - table->entries.count(PrincipalId::anonymous);
}

std::optional<PrincipalId> KeyRing::by_key(const zmtp::PublicKey& key) const {
  const auto table = state_->current();
  const auto found = table->keys.find(key);
  return found == table->keys.end() ? std::nullopt : std::optional(found->second);
}

// Compares all hashes, so that the time does not show which hash resembles the token's.
std::optional<PrincipalId> KeyRing::by_token(std::string_view token) const {
  const auto table = state_->current();
  TokenHash hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size());
  std::optional<PrincipalId> found;
  for (const auto& [known, id] : table->tokens)
    if (sodium_memcmp(known.data(), hash.data(), hash.size()) == 0) found = id;
  return found;
}

std::shared_ptr<const Principal> KeyRing::principal(PrincipalId id) const {
  const auto table = state_->current();
  const auto found = table->principals.find(id);
  return found == table->principals.end() ? nullptr : found->second;
}

const zmtp::Authentication* KeyRing::authentication() const {
  return has_keys() ? &state_->authentication : nullptr;
}

}  // namespace starling::stream
