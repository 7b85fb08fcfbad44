// SPDX-License-Identifier: Apache-2.0
// Looks up keys and rights in the KeyRing, and writes refusals to the audit log: see access.hpp.
#include "starling/stream/access/access.hpp"

#include <stdexcept>
#include <utility>

#include <sodium.h>
#include <spdlog/spdlog.h>

#include "starling/stream/access/rights.hpp"

namespace starling::stream {

Access::Access(const std::string& keys_path, AuditOptions audit, bool may_have_anonymous)
    : ring_(keys_path.empty() ? std::make_unique<KeyRing>()
                              : std::make_unique<KeyRing>(keys_path, may_have_anonymous)),
      audit_(std::move(audit)) {
  if (!has_keys()) return;
  commands_ = authentication_for("commands");
  results_ = authentication_for("results");
}

Access::~Access() {
  for (auto* authentication : {&commands_, &results_})
    sodium_memzero(authentication->server_secret.data(), authentication->server_secret.size());
}

bool Access::may_subscribe(PrincipalId id, std::string_view topic) {
  const auto principal = ring_->principal(id);
  if (principal && principal->may_subscribe(topic)) return true;
  audit_.refused_topic(name_of(id), topic);
  return false;
}

template <class Body>
std::optional<protocol::Problem> Access::audited(PrincipalId id, const Body& body,
                                                 std::uint64_t connection) {
  const auto principal = ring_->principal(id);
  auto problem = stream::refusal_of(principal.get(), body);
  if (problem) audit_.refused(name_of(id), stream::name_of(body), problem->sentence, connection);
  return problem;
}

std::optional<protocol::Problem> Access::refusal_of(PrincipalId id,
                                                    const protocol::RequestBody& body,
                                                    std::uint64_t connection) {
  return audited(id, body, connection);
}

std::optional<protocol::Problem> Access::refusal_of(PrincipalId id,
                                                    const protocol::SocketBody& body,
                                                    std::uint64_t connection) {
  return audited(id, body, connection);
}

std::vector<PrincipalId> Access::reload() {
  if (!has_keys()) {
    spdlog::info("SIGHUP: there are no keys to read again, because serve has no --keys");
    return {};
  }
  try {
    std::vector<std::string> names;
    const std::vector<PrincipalId> revoked = ring_->reload(&names);
    spdlog::info("the keys file was read again: {} principals, {} cut", ring_->count(),
                 revoked.size());
    audit_.reloaded(ring_->count(), names);
    return revoked;
  } catch (const std::exception& error) {
    spdlog::warn("the old keys stay: {}", error.what());
    audit_.reload_failed(error.what());
    return {};
  }
}

zmtp::Authentication Access::authentication_for(const char* endpoint) {
  zmtp::Authentication authentication = *ring_->authentication();
  authentication.admit = [this, endpoint](const zmtp::PublicKey& key) {
    const auto id = ring_->by_key(key);
    if (id)
      audit_.admitted(name_of(*id), endpoint);
    else
      audit_.unknown_key(key, endpoint);
    return id;
  };
  return authentication;
}

std::string Access::name_of(PrincipalId id) const {
  const auto principal = ring_->principal(id);
  return principal ? principal->name : "revoked principal";
}

}  // namespace starling::stream
