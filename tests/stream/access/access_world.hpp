// SPDX-License-Identifier: Apache-2.0
// A server with principals, and their clients. The tests of rights, of ownership and of quotas use
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/keys/key_file.hpp"
#include "starling/stream/access/principal.hpp"
#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

/// A refusal in the server's audit log.
struct Audited {
  std::string principal;
  std::string request;
  std::string what;
};

class AccessWorld {
 public:
  /// Writes a keys file with the principals, and starts a server with it.
  explicit AccessWorld(std::vector<Principal> principals,
                       const ServerOptions& options = manual_options());

  /// Connects with the key of a principal.
  std::unique_ptr<RawPeer> connect(std::string_view name);

  static std::string token_of(std::string_view name) { return "token-of-" + std::string(name); }
  const std::string& http() const { return server_->endpoints().http; }
  /// Removes the principal's section from the keys file, and has the server read the file again.
  void revoke(std::string_view name);

  /// Returns the refusals since the last call.
  std::vector<Audited> audited();

 private:
  void note(const std::string& line);

  void write_keys() const;

  KeysFolder folder_;
  std::map<std::string, std::string, std::less<>> sections_;  ///< sections of the keys file
  std::map<std::string, protocol::KeyPair, std::less<>> keys_;
  std::mutex mutex_;
  std::vector<Audited> audited_;
  std::unique_ptr<RunningServer> server_;
};

/// A client of a principal, with one session.
class Somebody {
 public:
  Somebody(AccessWorld& world, std::string_view name);

  std::uint64_t session() const { return session_; }
  /// Sends the request with the session's next sequence number, if it takes one.
  std::unique_ptr<RawReply> ask(const protocol::RequestBody& body);
  /// Sends the request on another session, without a sequence number of this session.
  std::unique_ptr<RawReply> ask_on(std::uint64_t session, const protocol::RequestBody& body);
  /// Opens another session. The old one stays.
  std::unique_ptr<RawReply> hello(std::uint64_t resume = 0);

 private:
  std::unique_ptr<RawPeer> peer_;
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
};

Principal someone(std::string name, const std::vector<Role>& roles);

/// Returns how many rows the reply rejects for the reason, or 0 if it is no BatchReply.
std::uint64_t rejected(const RawReply& reply, protocol::RowReason reason);
std::uint64_t accepted(const RawReply& reply);
/// Returns the sentence and the limit of an Error reply, or an empty Problem for another reply.
protocol::Problem problem_of(const RawReply& reply);

/// Returns all that the server holds as text: streams, queries, objects and names. `reader` is an
/// admin. `names` are the ids to read the names of.
std::string state_of(Somebody& reader, const std::vector<std::uint64_t>& names);

}  // namespace starling::stream
