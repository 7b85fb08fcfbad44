// SPDX-License-Identifier: Apache-2.0
// RestoringClient is a Client for programs that outlive restarts of their server. It divides
// batches into requests that the server's limits allow, and after a restart it puts the program's
// streams, queries and names again. Use it from one thread only. The C interface uses this class,
// and so does the Python package.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/result.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

class KeptQueries;

struct RestoringClientOptions {
  ClientOptions client{};
  /// Whether to put streams, queries and names again. If not, requests for a stream that the
  /// restarted server does not know fail with ErrorCode::unknown_stream.
  bool restores = true;
};

/// A server that has restarted without its log, or with a log that was put back from a copy, lacks
/// all or some of what it acknowledged, and epoch() is new. The call that notices the restart puts
/// again, before it returns:
///
/// - all names, streams and queries that this client has put and not removed. Leases begin anew.
///   Queries whose lease has ended are left out, and so are queries of other clients' streams.
/// - no rows of objects. rows_lost() counts the rows that the old server acknowledged: send the
///   present positions again.
///
/// If the new server refused a request because it did not know the stream yet, the request is then
/// sent once more. If the server refuses what is put again, the call throws RefusedError, and later
/// calls do not try again. If the server does not answer meanwhile, or begins new epochs for as
/// long as the client's timeout_ms, the call throws TimeoutError, and the next call goes on. Apart
/// from this, the calls return and throw what the calls of Client do. examples/client.cpp is a
/// complete program. A short example:
///
///     zmq::context_t context;
///     RestoringClient client(context, {.client = {.commands = "tcp://127.0.0.1:7411"}});
///     client.put_stream({.name = "riders"}).value();
///     client.update({.ids = ids, .times_us = times_us, .coordinates = coordinates}).value();
class RestoringClient {
 public:
  /// Connects as Client does, and throws what Client's constructor throws.
  RestoringClient(zmq::context_t& context, RestoringClientOptions options);
  ~RestoringClient();

  const HelloReply& server() const { return client_.server(); }
  std::uint64_t epoch() const { return client_.epoch(); }
  /// Number of the server's restarts that this client has noticed.
  std::uint64_t restarts() const { return restarts_; }
  /// Number of rows of objects (updates, tags, removals) that the server acknowledged to this
  /// client before its restarts. Posted rows count only after flush() has counted them. After a log
  /// was put back, the server may still have some of these rows.
  std::uint64_t rows_lost() const { return rows_lost_; }

  // A batch may have any number of rows. Its parts are sent one after another. The reply sums them
  // up, and `first_rejected` has the rows' indexes in the whole batch. If a part is refused, the
  // call returns the Problem, and its sentence numbers the rows of that part. The parts before it
  // are applied, and the parts after it are not sent. A batch whose arrays do not fit together is
  // refused with ErrorCode::array_mismatch before anything is sent.

  /// Returns rows [first, first + count) of a batch. The arrays must last until the next call.
  using RowsOf = std::function<UpdateBatch(std::size_t first, std::size_t count)>;

  /// Sends nothing if there are no rows.
  Result<BatchReply> update(const UpdateBatch& rows);
  /// Like update(rows), but `rows_of` makes the `count` rows part by part.
  Result<BatchReply> update(std::size_t count, const RowsOf& rows_of);
  Result<BatchReply> update_tags(const UpdateTags& rows);
  Result<BatchReply> remove_objects(const RemoveObjects& rows);
  Result<BatchReply> put_names(const PutNames& names);
  Result<BatchReply> put_queries(const PutQueries& queries);
  Result<BatchReply> remove_queries(const RemoveQueries& queries);

  /// Sends rows and waits only until there is credit for them. Returns the Problem of the first
  /// part that was not sent; then no later part is sent either.
  [[nodiscard]] std::optional<Problem> post(const UpdateBatch& rows);
  [[nodiscard]] std::optional<Problem> post(std::size_t count, const RowsOf& rows_of);
  /// Waits until all posted rows are answered. Returns the sums of the replies.
  BatchTotals flush();

  Result<Done> put_stream(const PutStream& stream);
  Result<Done> remove_stream(std::string_view name);
  Result<TickDone> advance_tick(std::int64_t tau_us);
  Result<NeighborAnswers> get_neighbors(const GetNeighbors& request);
  Result<StatValues> get_stats();

  /// Calls `request` with the Client. Use it for requests that have no function in this class.
  /// `request` must return a Result and may be called twice. Streams, queries and names that it
  /// puts are not kept.
  ///
  ///     const auto streams = client.ask([](Client& plain) { return plain.streams(); });
  template <class Request>
  auto ask(const Request& request) -> decltype(request(std::declval<Client&>())) {
    auto result = request(client_);
    if (must_ask_again(result ? nullptr : &result.problem())) result = request(client_);
    return result;
  }

 private:
  using Send = std::function<Result<BatchReply>(std::size_t first, std::size_t count)>;

  /// Calls `send` for each part of at most `at_once` rows. Calls it once, without rows, if `count`
  /// is 0.
  static Result<BatchReply> send_parts(std::size_t count, std::size_t at_once, const Send& send);
  /// Restores what a restarted server lacks. `refusal` is the last request's refusal, or null.
  /// Returns true if the last request may succeed now.
  bool must_ask_again(const Problem* refusal);
  bool notice_restart();
  Result<BatchReply> acknowledged(Result<BatchReply> reply);

  Client client_;
  std::string server_name_;  ///< the endpoint, for errors
  std::int64_t timeout_ms_;  ///< longest time to put again what restarted servers lack
  bool restores_;
  std::unique_ptr<KeptQueries> kept_;
  bool must_put_again_ = false;  ///< true: the server lacks some of what kept_ has
  std::uint64_t epoch_;          ///< the last epoch that was noticed
  std::uint64_t restarts_ = 0;
  std::uint64_t rows_acknowledged_ = 0;  ///< rows that the server of epoch_ has accepted
  std::uint64_t rows_lost_ = 0;
};

}  // namespace starling::protocol
