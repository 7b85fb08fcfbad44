// SPDX-License-Identifier: Apache-2.0
// Draws principals and writes their keys file: see simulated_principals.hpp.
#include "tests/server_simulation/principals/simulated_principals.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>

#include "starling/protocol/keys/key_file.hpp"

namespace starling::simulation {

using stream::Role;

namespace {

std::string roles_text(const stream::Roles& roles) {
  std::string text;
  for (std::size_t i = 0; i < stream::role_count; ++i)
    if (roles[i])
      text += (text.empty() ? "\"" : ", \"") + std::string(stream::name_of(static_cast<Role>(i))) +
              "\"";
  return text;
}

void add_quota(std::string& text, const char* name, const std::optional<std::uint64_t>& quota) {
  if (quota) text += std::string(name) + " = " + std::to_string(*quota) + "\n";
}

std::string entry_of(const SimulatedPrincipal& principal) {
  protocol::CurveKey key{};
  key.at(0) = static_cast<std::uint8_t>(principal.origin.principal);
  key.at(1) = 1;
  std::string text = "[[principal]]\nname = \"" + principal.name + "\"\npublic = \"" +
                     protocol::to_z85(key) + "\"\nroles = [" + roles_text(principal.roles) +
                     "]\n[principal.quota]\n";
  add_quota(text, "sessions", principal.quotas.sessions);
  add_quota(text, "queries", principal.quotas.queries);
  add_quota(text, "neighbors", principal.quotas.neighbors);
  add_quota(text, "rows_per_second", principal.quotas.rows_per_second);
  add_quota(text, "loop_ms_per_second", principal.quotas.loop_ms_per_second);
  return text;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace

SimulatedPrincipals::SimulatedPrincipals(VirtualWorld& world, std::uint64_t clients,
                                         bool has_others) {
  test::Random& random = world.random();
  const bool has_keys = random.chance(0.6);
  for (std::uint64_t i = 0; i < clients; ++i) {
    SimulatedPrincipal client =
        make("client " + std::to_string(i), {Role::publish, Role::query, Role::tick});
    client.roles.set(static_cast<std::size_t>(Role::admin), random.chance(0.5));
    // The first client makes all streams, and ticks.
    if (i > 0 && random.chance(0.15))
      client.roles = stream::Roles().set(
          static_cast<std::size_t>(random.chance(0.5) ? Role::publish : Role::query));
    clients_.push_back(client);
  }
  subscriber_ = make("subscriber", {Role::subscribe});
  honest_.push_back(make("honest", {Role::query, Role::stats}));
  const std::uint64_t greedy = random.below(4);
  for (std::uint64_t i = 0; i < greedy; ++i) {
    SimulatedPrincipal principal = make("greedy " + std::to_string(i), {Role::query, Role::stats});
    if (random.chance(0.5)) principal.roles.set(static_cast<std::size_t>(Role::publish));
    if (random.chance(0.5)) principal.quotas.sessions = 1 + random.below(8);
    if (random.chance(0.5)) principal.quotas.loop_ms_per_second = 1 + random.below(50);
    if (random.chance(0.5)) principal.quotas.rows_per_second = 1 + random.below(1000);
    greedy_.push_back(principal);
  }
  if (!has_others) {
    honest_.clear();
    greedy_.clear();
  }
  if (has_keys && has_others) {
    write_keys();
    return;
  }
  for (auto* each : {&clients_, &honest_, &greedy_})
    for (SimulatedPrincipal& principal : *each) {
      principal.origin.principal = stream::PrincipalId::anonymous;
      principal.roles.set();
    }
  subscriber_.origin.principal = stream::PrincipalId::anonymous;
}

SimulatedPrincipals::~SimulatedPrincipals() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

/// The server numbers the principals of its first keys file from 1, in their order.
SimulatedPrincipal SimulatedPrincipals::make(const std::string& name,
                                             std::initializer_list<Role> roles) {
  SimulatedPrincipal made{.name = name};
  for (const Role role : roles) made.roles.set(static_cast<std::size_t>(role));
  made.origin.principal = static_cast<stream::PrincipalId>(++count_);
  made.origin.address = stream::address_of("10.0.0." + std::to_string(count_));
  return made;
}

std::vector<SimulatedPrincipal> SimulatedPrincipals::all() const {
  std::vector<SimulatedPrincipal> principals = clients_;
  principals.push_back(subscriber_);
  principals.insert(principals.end(), honest_.begin(), honest_.end());
  principals.insert(principals.end(), greedy_.begin(), greedy_.end());
  return principals;
}

void SimulatedPrincipals::write_keys() {
  static const protocol::KeyPair server_key = protocol::new_key_pair("simulated");
  std::string made = (std::filesystem::temp_directory_path() / "simulated-keys-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("no folder for the keys file");
  folder_ = made;
  protocol::write_key_file(folder_ + "/server.key", server_key);
  std::string text = "[server]\nkey = \"server.key\"\n";
  for (const SimulatedPrincipal& principal : all()) text += entry_of(principal);
  keys_path_ = folder_ + "/keys.toml";
  write(keys_path_, text);
}

}  // namespace starling::simulation
