// SPDX-License-Identifier: Apache-2.0
// Records what clients sent, and what they and the subscribers got, in one simulation. At the end
// the model (model.hpp) compares these records with the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "starling/protocol/client/subscription.hpp"
#include "tests/server_simulation/simulated_network.hpp"
#include "tests/stream/journal/random_requests.hpp"

namespace starling::simulation {

/// A request: the number of its client, and its sequence number.
using RequestKey = std::pair<std::uint64_t, std::uint64_t>;
inline std::string name_of(RequestKey key) {
  return "request " + std::to_string(key.second) + " of client " + std::to_string(key.first);
}
/// A published message: its stream, and its number in the stream.
using MessageKey = std::pair<std::string, std::uint64_t>;

struct PublishedMessage {
  std::shared_ptr<const SentMessage> sent;
  protocol::ReceivedTick received;
};

/// The lists that a subscriber held at a tick.
struct Held {
  std::string stream;
  protocol::HeldAt at;
  protocol::ListStore lists;
  std::uint64_t restarts = 0;  ///< number of restarts that the subscriber had noticed by then
};

/// The contents of a copy of the log.
struct CopiedLog {
  std::set<RequestKey> answered;    ///< requests with a reply
  std::set<RequestKey> begun;       ///< requests for ticks that have begun
  Tick last_tick{};                 ///< the last tick that has begun
  std::uint64_t next_sequence = 1;  ///< sequence of the log's next record
};

/// An answer to a question, and its tick.
struct Answered {
  protocol::QuerySpec question;
  Tick published{};  ///< the newest published tick when the question was asked
  Tick tick{};
  protocol::HeldList list;
  bool is_unknown = false;
  std::optional<std::int64_t> at_us{};  ///< the time of a question about the past
};

class History {
 public:
  void violated(std::string sentence) { violations_.push_back(std::move(sentence)); }
  const std::vector<std::string>& violations() const { return violations_; }

  /// Called before a client sends a new request.
  void sent(RequestKey key, stream::OwnedRequest request) {
    requests_.emplace(key, std::move(request));
  }
  void opened(std::uint64_t session, std::uint64_t client) { clients_[session] = client; }
  /// Called when a client gets a reply. `told` is its text from told_reply(). All replies to a
  /// request must be the same.
  void replied(RequestKey key, const std::string& told);
  /// Called when a message leaves the server. If it has left before, it must be the same.
  void published(const SentMessage& sent);
  /// Called when a subscriber holds new lists. If a copy that was put back lacks the tick that the
  /// subscriber held, the subscriber must have noticed a restart.
  void held(Held held);
  void answered(Answered answered) { answered_.push_back(std::move(answered)); }

  /// Called when a copy of the log is put back. Forgets what the copy lacks, except the requests to
  /// which clients have replies.
  void put_back(const CopiedLog& copy);
  /// Called when a client's hello was answered. `first_lost`: the client was told that the log
  /// lacks its acknowledged requests from this number on.
  void greeted(std::uint64_t client, std::optional<std::uint64_t> first_lost);
  /// Returns whether the log lacks requests to which the client has replies, and the client does
  /// not know it yet.
  bool owes(std::uint64_t client) const;
  std::uint64_t put_backs() const { return put_backs_; }
  /// Returns whether the run published before the last copy was put back. Its messages may come
  /// late.
  bool is_former(std::uint64_t run) const { return former_runs_.contains(run); }

  /// The newest tick that succeeded and was published.
  Tick newest_tick() const { return newest_tick_; }
  /// The largest tau of the messages since the log was last put back. 0: there is none.
  std::int64_t newest_tau_us() const { return newest_tau_us_; }
  const std::map<RequestKey, stream::OwnedRequest>& requests() const { return requests_; }
  const std::map<RequestKey, std::string>& replies() const { return replies_; }
  const std::map<std::uint64_t, std::uint64_t>& clients() const { return clients_; }
  const std::map<MessageKey, PublishedMessage>& messages() const { return messages_; }
  const std::vector<Held>& held() const { return held_; }
  const std::vector<Answered>& answers() const { return answered_; }

 private:
  std::vector<std::string> violations_;
  std::map<RequestKey, stream::OwnedRequest> requests_;
  std::map<RequestKey, std::string> replies_;
  std::map<std::uint64_t, std::uint64_t> clients_;  ///< the key is the session
  std::map<MessageKey, PublishedMessage> messages_;
  Tick newest_tick_{};
  std::int64_t newest_tau_us_ = 0;
  std::vector<Held> held_;
  std::vector<Answered> answered_;
  std::uint64_t put_backs_ = 0;
  std::set<RequestKey> lost_;              ///< acknowledged requests that the copy lacks
  std::set<std::uint64_t> former_runs_;    ///< runs that published before the last copy was put
                                           ///< back
  std::map<std::string, Held> last_held_;  ///< the key is the stream
  /// [stream]: number of restarts that the stream's subscriber has noticed. The subscriber held a
  /// tick that the copy lacks, and must notice another restart.
  std::map<std::string, std::uint64_t> to_be_told_;
};

}  // namespace starling::simulation
