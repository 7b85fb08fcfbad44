// SPDX-License-Identifier: Apache-2.0
// The streams, queries and names that a client has put, so that it can put them again after a
// restart of the server. RestoringClient owns a KeptQueries.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

class KeptQueries {
 public:
  using Clock = std::chrono::steady_clock;

  void put_stream(const PutStream& stream);
  void remove_stream(const std::string& name);
  /// `now` is when the leases of the queries began.
  void put_queries(const PutQueries& request, Clock::time_point now);
  void remove_queries(const RemoveQueries& request);
  void put_names(const PutNames& request);

  /// Puts all names, all streams, and all queries whose lease has not ended. Throws RefusedError if
  /// the server refuses one of the requests.
  void put_again(Client& client, Clock::time_point now);

 private:
  struct Kept {
    QuerySpec query;
    Clock::time_point since;
  };
  struct Stream {
    ReportOn on{};
    ReportWith with{};
    std::unordered_map<std::uint64_t, Kept> queries{};  ///< the key is the query's id
  };
  void put_names_again(Client& client) const;
  static void put_queries_again(Client& client, const std::string& name, const Stream& stream);

  std::map<std::string, Stream> streams_;
  std::unordered_map<std::uint64_t, std::string> names_;  ///< the key is the object's id
};

}  // namespace starling::protocol
