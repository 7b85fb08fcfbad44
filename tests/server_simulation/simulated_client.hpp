// SPDX-License-Identifier: Apache-2.0
// A client over the simulated network. It uses the C++ client's protocol (ClientSession), and
// connects and sends again when replies do not come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "starling/protocol/client/client_session.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/simulated_network.hpp"
#include "tests/server_simulation/simulated_requests.hpp"

namespace starling::simulation {

class SimulatedClient {
 public:
  SimulatedClient(VirtualWorld& world, SimulatedNetwork& network, History& history,
                  const Origin& origin, std::uint64_t number, SimulatedRequests requests,
                  bool has_past, std::uint64_t requests_max);
  SimulatedClient(const SimulatedClient&) = delete;
  SimulatedClient& operator=(const SimulatedClient&) = delete;

  /// Returns whether all its requests are sent and answered.
  bool is_done() const;
  std::uint64_t acknowledged() const { return acknowledged_; }
  /// Says hello again.
  void greet();
  /// Sends a tick, which does not count among the client's requests.
  void tick();

 private:
  static constexpr std::int64_t patience_us = 400'000;
  static constexpr std::size_t unanswered_max = 8;

  void connect();
  void work();
  bool is_impatient();
  void take(const Bytes& bytes);
  void take_hello(const protocol::DecodedReply& reply);
  void note_reply(const protocol::DecodedReply& reply);
  void take_answer(const protocol::DecodedReply& reply);
  void submit(stream::OwnedRequest request);
  void ask();
  void send(const protocol::Outgoing& outgoing);

  VirtualWorld& world_;
  SimulatedNetwork& network_;
  History& history_;
  const Origin origin_;
  const std::uint64_t number_;
  SimulatedRequests requests_;
  const bool has_past_;  ///< the server answers questions about the past
  std::uint64_t requests_left_;
  std::uint64_t acknowledged_ = 0;
  protocol::ClientSession session_;
  std::uint64_t connection_ = 0;
  bool is_session_used_ = false;  ///< whether a request that changes something was answered
  bool is_greeted_ = false;
  std::uint64_t oldest_id_ = 0;  ///< id of the oldest request without a reply
  std::int64_t oldest_us_ = 0;   ///< time when it became the oldest one, or was last sent
  struct Asked {
    protocol::QuerySpec question;
    Tick published{};                     ///< the newest published tick when the question was asked
    std::optional<std::int64_t> at_us{};  ///< the time of a question about the past
    std::uint64_t put_backs = 0;          ///< how often the log had been put back when it was asked
  };
  std::map<std::uint64_t, Asked> asked_;              ///< questions, by request id
  std::map<std::uint64_t, std::uint64_t> sequences_;  ///< the key is the request id
};

}  // namespace starling::simulation
