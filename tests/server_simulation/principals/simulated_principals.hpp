// SPDX-License-Identifier: Apache-2.0
// The principals of a simulation, drawn by its seed: who may do what, and from which address. Some
// servers have no keys, and then each principal is only an address. The clients change the server,
// the honest ones ask within their quotas, and the greedy ones take all that they can get.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/stream/access/principal.hpp"
#include "tests/server_simulation/principals/origin.hpp"
#include "tests/server_simulation/virtual_world.hpp"

namespace starling::simulation {

struct SimulatedPrincipal {
  std::string name;
  stream::Roles roles{};
  stream::Quotas quotas{};
  Origin origin{};

  bool has(stream::Role role) const {
    return roles[static_cast<std::size_t>(stream::Role::admin)] ||
           roles[static_cast<std::size_t>(role)];
  }
  bool is_admin() const { return has(stream::Role::admin); }
};

class SimulatedPrincipals {
 public:
  /// `has_others`: whether there are honest and greedy principals besides the clients.
  SimulatedPrincipals(VirtualWorld& world, std::uint64_t clients, bool has_others);
  ~SimulatedPrincipals();
  SimulatedPrincipals(const SimulatedPrincipals&) = delete;
  SimulatedPrincipals& operator=(const SimulatedPrincipals&) = delete;

  /// The path of the keys file. Empty: the server has no keys.
  const std::string& keys_path() const { return keys_path_; }
  bool has_keys() const { return !keys_path_.empty(); }
  const std::vector<SimulatedPrincipal>& clients() const { return clients_; }
  const SimulatedPrincipal& subscriber() const { return subscriber_; }
  const std::vector<SimulatedPrincipal>& honest() const { return honest_; }
  const std::vector<SimulatedPrincipal>& greedy() const { return greedy_; }
  std::vector<SimulatedPrincipal> all() const;

 private:
  SimulatedPrincipal make(const std::string& name, std::initializer_list<stream::Role> roles);
  void write_keys();

  std::uint64_t count_ = 0;
  std::vector<SimulatedPrincipal> clients_;
  SimulatedPrincipal subscriber_;
  std::vector<SimulatedPrincipal> honest_;
  std::vector<SimulatedPrincipal> greedy_;
  std::string folder_;  ///< has the keys file and the server's key; empty: no keys
  std::string keys_path_;
};

}  // namespace starling::simulation
