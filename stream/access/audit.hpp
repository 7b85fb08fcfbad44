// SPDX-License-Identifier: Apache-2.0
// The audit log: which principals were admitted, which peers and requests were refused, and which
// keys were reloaded. Each event is one line of JSON with the members `time` and `event`;
// docs/security.md lists the events. All text from outside is escaped. Server owns the Audit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/stream/access/audit_lines.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

struct AuditOptions {
  /// Gets each line, without a newline. Must not wait. Empty: there is no audit log.
  std::function<void(const std::string& line)> write{};
  AuditLineLimits lines{};  ///< how many lines one client may cause
  std::function<std::int64_t()> wall_now_us = starling::wall_now_us;
  std::function<std::int64_t()> steady_now_us = starling::steady_now_us;
};

/// All functions may be called by any thread.
class Audit {
 public:
  explicit Audit(AuditOptions options = {});

  /// A peer of the endpoint, such as "commands", has shown the key of a principal.
  void admitted(std::string_view principal, std::string_view endpoint);
  /// A peer has shown a key that is not in the keys file.
  void unknown_key(const zmtp::PublicKey& key, std::string_view endpoint);
  /// A client at `address` has shown no token, or a token that is not in the keys file.
  void unknown_token(std::string_view address);
  /// A request was refused, because the principal lacks a right. `what` is the sentence that the
  /// client got. `connection` is Peer::connection.
  void refused(std::string_view principal, std::string_view request, std::string_view what,
               std::uint64_t connection);
  /// A subscription was refused and its connection was cut.
  void refused_topic(std::string_view principal, std::string_view topic);
  /// The keys file was read again. `revoked` has the names of the principals whose connections were
  /// cut.
  void reloaded(std::size_t principals, const std::vector<std::string>& revoked);
  /// The keys file could not be read again, and the old keys stay.
  void reload_failed(std::string_view sentence);

  /// Writes a line for each principal whose lines were left out. Call it about once a second.
  void expire();
  /// Writes these lines at the end, for all principals whose lines were left out since the last
  /// one.
  void close();

  /// Returns the number of lines left out so far, because a client caused too many lines.
  std::uint64_t left_out() const;

 private:
  bool may_write_of(std::string_view principal);
  bool may_write_of_stranger(std::string_view source);
  void write(const AuditLines::Report& report, std::int64_t now_us) const;
  JsonText begin(std::string_view event) const;
  void end(JsonText json) const;

  AuditOptions options_;
  mutable std::mutex mutex_;  ///< guards lines_
  AuditLines lines_;
};

}  // namespace starling::stream
