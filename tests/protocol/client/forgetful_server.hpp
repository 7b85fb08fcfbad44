// SPDX-License-Identifier: Apache-2.0
// A FakeServer that accepts each request, notes it as a text, and forgets everything at restart().
// Tests of clients that restore use it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "starling/protocol/client/client.hpp"
#include "tests/protocol/client/fake_server.hpp"

namespace starling::protocol::test {

class ForgetfulServer {
 public:
  /// In an update, rows with this id or a greater one are rejected, because of RowReason::future.
  static constexpr std::uint64_t rejected_ids_min = 1000;

  explicit ForgetfulServer(zmq::context_t& context, const Limits& limits = {});

  ClientOptions options() const;
  /// Begins a new epoch without sessions and streams.
  void restart();
  /// From now on refuses requests with this text. ErrorCode::none means no reply at all.
  void refuse(const std::string& text, ErrorCode code);
  void refuse_nothing();

  /// Returns the requests since the last call, except Hello, EndSession and requests of forgotten
  /// sessions. In these texts, rows are `id@x/time_us`, and names and queries are in ascending
  /// order of the id:
  /// order of the id:
  ///
  ///     update 1@10/1 2@20/2        tags 1 2              remove 1 2        names 1=a 2=b
  ///     stream riders on=distance   queries riders 7:k5   remove queries riders 7
  ///     remove stream riders        stats
  std::vector<std::string> take_requests();

 private:
  std::optional<Frame> answer(const DecodedRequest& request);

  Limits limits_;
  std::mutex mutex_;  ///< guards the four members below
  std::uint64_t epoch_ = 1;
  std::set<std::string> streams_;
  std::map<std::string, ErrorCode> refusals_;
  std::vector<std::string> requests_;
  FakeServer fake_;  ///< the last member, because its thread uses the other members
};

}  // namespace starling::protocol::test
