// SPDX-License-Identifier: Apache-2.0
// The streams, queries and names that a client has put, so that it can put them again after a
// restart of the server. ClientHandle owns it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::c {

/// Return how many names or queries go into one request, whatever their lengths are.
std::size_t names_at_once(const protocol::Limits& limits);
std::size_t queries_at_once(const protocol::Limits& limits);

class KeptQueries {
 public:
  using Clock = std::chrono::steady_clock;

  void put_stream(const protocol::PutStream& stream);
  void remove_stream(const std::string& name);
  /// `now` is when the leases of the queries began.
  void put_queries(const protocol::PutQueries& request, Clock::time_point now);
  void remove_queries(const protocol::RemoveQueries& request);
  void put_names(const protocol::PutNames& request);

  /// Puts all names, all streams, and all queries whose lease has not ended. Throws RefusedError
  /// with what the server refuses.
  void put_again(protocol::Client& client, Clock::time_point now);

 private:
  struct Kept {
    protocol::QuerySpec query;
    Clock::time_point since;
  };
  struct Stream {
    ReportOn on{};
    ReportWith with{};
    std::unordered_map<std::uint64_t, Kept> queries{};  ///< by id
  };
  void put_names_again(protocol::Client& client) const;
  static void put_queries_again(protocol::Client& client, const std::string& name,
                                const Stream& stream);

  std::map<std::string, Stream> streams_;
  std::unordered_map<std::uint64_t, std::string> names_;  ///< of objects, by id
};

}  // namespace starling::c
