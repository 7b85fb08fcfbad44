// SPDX-License-Identifier: Apache-2.0
// The kinds of attack that hostile_soak mixes. An attack has one connection, or opens one after
// another. It takes steps that never wait, so that one thread runs many.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "starling/stream/server.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// What came of all attacks of a kind.
struct HostileTally {
  std::uint64_t attacks = 0;
  std::uint64_t sent = 0;  ///< requests, or pieces of them, that the operating system took
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
};

/// A client that the server admits, or a stranger. All of its connections are of one principal, if
/// the server has keys, and most are from one address.
struct HostilePrincipal {
  std::uint64_t number = 0;
  std::string address{};  ///< the source of its connections, such as 127.0.0.2
  RawKeys keys{};         ///< empty: the server has no keys
  std::string token{};    ///< its token for HTTP; empty: none
};

/// A session that attacks take over from each other, because a principal may have few.
struct HostileSession {
  std::uint64_t number = 0;  ///< 0: not opened yet
  std::uint64_t sequence = 0;
};

/// What an attack knows. The pointers outlive it.
struct Attacker {
  Endpoints endpoints{};
  std::string stream{};  ///< an honest client's stream
  HostilePrincipal principal{};
  zmq::context_t* context = nullptr;
  HostileSession* session = nullptr;  ///< null: attacks of this connection need no session
  HostileTally* tally = nullptr;
};

/// Takes one step of an attack. Returns false when the attack has ended.
using HostileStep = std::function<bool(test::Random&)>;

struct HostileKind {
  std::string name;
  std::function<HostileStep(const Attacker&, test::Random&)> make;
  bool is_answered = true;  ///< false: the server need not send anything
};

/// Pipelined requests of each kind in a session: Attacker::session must be given.
std::vector<HostileKind> kinds_of_sessions();
/// Messages outside of sessions, and subscriptions, over ZeroMQ.
std::vector<HostileKind> kinds_of_peers();
/// Bytes on the sockets of ZeroMQ that are not, or not wholly, its protocol.
std::vector<HostileKind> kinds_of_strangers();
std::vector<HostileKind> kinds_of_http();

}  // namespace starling::stream
