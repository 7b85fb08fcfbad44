// SPDX-License-Identifier: Apache-2.0
// A blocking client of one server. The client connects, stays within its credit, and posts batches
// without waiting for each reply. After a lost connection, the client says hello again and resends
// the unanswered requests with the same sequence numbers, so the server applies no request twice.
// Use a Client from one thread only. A RestoringClient divides batches and restores streams after a
// restart of the server. `starling replay`, `starling subscribe` and the tests use this class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/client/result.hpp"
#include "starling/protocol/keys/key_file.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace zmq {
class context_t;
}

namespace starling::protocol {

struct ClientOptions {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string name = "starling client";  ///< the name that the server logs
  /// The key pair that encrypts the connection to a server with keys, from read_key_file(). It must
  /// have a server_key. std::nullopt: the server has no keys.
  std::optional<KeyPair> key{};
  std::int64_t timeout_ms = 30'000;  ///< longest wait for one reply, reconnects included
  /// Longest wait for the reply to the first Hello, unless timeout_ms is shorter.
  std::int64_t connect_timeout_ms = 30'000;
  /// Longest wait if the first connection is refused because nothing listens at the endpoint. A
  /// starting server listens within the default time.
  std::int64_t refused_timeout_ms = 300;
  std::int64_t reconnect_after_ms = 5'000;  ///< reconnects after this long without a reply
};

/// Thrown if no reply comes within timeout_ms, or no reply to the first hello within
/// connect_timeout_ms. Thrown earlier if the server sends a message that never ends. Thrown after
/// refused_timeout_ms if nothing listens at the endpoint.
class TimeoutError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown if ZeroMQ cannot connect to the endpoint, because the endpoint is malformed or is not a
/// server's commands endpoint.
class EndpointError : public std::runtime_error {
 public:
  explicit EndpointError(const std::string& sentence) : std::runtime_error(sentence) {}
  EndpointError(const std::string& endpoint, const std::string& why);
};

/// Thrown if the client's key and the server do not fit: the key names no server, the server does
/// not know the key, or only the client or only the server has a key. The message says what to do.
class KeyError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sums over the replies to all batches that were posted since the last flush.
struct BatchTotals {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::array<std::uint64_t, std::size_t(last_row_reason) + 1> rejected_by_reason{};
  /// For each reason, the limit that was reached. The limit's name is empty if the reason is not a
  /// limit.
  std::array<ReachedLimit, std::size_t(last_row_reason) + 1> limit_by_reason{};
  /// The first refusal of a whole batch, if there was one. The server applies no row of a refused
  /// batch.
  std::optional<Problem> first_refusal{};
};

/// The answers to one-shot questions, in the order of the questions.
struct NeighborAnswers {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::vector<HeldList> lists{};
  /// Indexes, in ascending order, of the questions that follow an object which the tick does not
  /// have: it was never put, was removed, or has expired. Servers up to version 0.2 leave this
  /// empty.
  std::vector<std::uint32_t> unknown{};
};

/// The names of objects, in the order of the requested ids. See Names in messages.hpp.
struct NameAnswers {
  std::uint64_t epoch = 0;
  std::uint64_t name_count = 0;
  std::vector<std::string> texts{};  ///< an empty text: no name
};

/// A stream of the server. See StreamInfo in messages.hpp.
struct ListedStream {
  std::string name;
  ReportOn on = ReportOn::order;
  ReportWith with{};
  std::uint64_t query_count = 0;
  std::uint64_t subscription_count = 0;
  std::uint64_t sequence = 0;
};

/// An object as the server has it now.
struct FoundObject {
  ObjectId id{};
  std::int64_t time_us = 0;
  Position position{};  ///< position as lists carry it; zeros in a vector space
  std::uint32_t tags = 0;
  std::string name{};  ///< empty: no name
};

struct ObjectAnswers {
  std::uint64_t epoch = 0;  ///< epoch of the last page
  std::vector<FoundObject> objects{};
  std::vector<ObjectId> missing{};  ///< the requested ids that are not alive
};

using StatValues = std::vector<std::pair<std::string, double>>;

/// A session with one server, which ends with the Client. If the server's log was put back from a
/// copy and lacks acknowledged requests, the unanswered requests that it lacks too fail with
/// ErrorCode::log_put_back. If there are none, the next request that changes something fails once
/// instead. A short example:
///
///     zmq::context_t context;
///     Client client(context, {.commands = "tcp://127.0.0.1:7411", .name = "my program"});
///     client.put_stream({.name = "riders"}).value();
///     client.update({.ids = ids, .times_us = times_us, .coordinates = coordinates}).value();
class Client {
 public:
  /// Connects and says hello. Throws TimeoutError, EndpointError or KeyError. Throws RefusedError
  /// if the server refuses the hello and would refuse it again. The context must outlive the
  /// client.
  Client(zmq::context_t& context, ClientOptions options);
  /// Ends the session, so that the server forgets it at once, and waits for the server for at most
  /// 200 ms. Does not end the session if a request that changes something is unanswered; the server
  /// then forgets the session after session_idle_ms.
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Returns the server's reply to the last hello. A new epoch means that the server has restarted
  /// without its log, or with a log that was put back from a copy, and has lost all or some of the
  /// requests that it acknowledged before.
  const HelloReply& server() const;
  std::uint64_t epoch() const { return server().epoch; }

  /// Sends an UpdateBatch, UpdateTags, RemoveObjects, PutNames, PutQueries or RemoveQueries and
  /// waits only until there is credit for the request. Returns a Problem if the request was not
  /// sent.
  [[nodiscard]] std::optional<Problem> post(const RequestBody& batch);
  /// Waits until every posted batch is answered. Returns the sums of the replies.
  BatchTotals flush();

  /// Sends AdvanceTick and does not wait for its reply. Rows that are posted afterwards belong to
  /// the next tick. Returns a Problem if the request was not sent. Call finish_tick() before the
  /// next begin_tick() or advance_tick(), because a server may refuse a second tick while the first
  /// one runs.
  [[nodiscard]] std::optional<Problem> begin_tick(std::int64_t tau_us);
  /// Waits for the reply to begin_tick().
  Result<TickDone> finish_tick();

  // Each call below sends one request and waits for its reply. These calls, post() and flush() may
  // throw TimeoutError. They throw KeyError if the server no longer admits the key; later calls try
  // again.
  Result<BatchReply> update(const UpdateBatch& batch);
  Result<BatchReply> update_tags(const UpdateTags& batch);
  Result<BatchReply> remove_objects(const RemoveObjects& batch);
  Result<BatchReply> put_names(const PutNames& batch);
  Result<BatchReply> put_queries(const PutQueries& batch);
  Result<BatchReply> remove_queries(const RemoveQueries& batch);
  Result<Done> put_stream(const PutStream& stream);
  Result<TickDone> advance_tick(std::int64_t tau_us);
  Result<NeighborAnswers> get_neighbors(const GetNeighbors& request);
  /// Accepts at most server().limits.names_asked_max ids.
  Result<NameAnswers> get_names(std::span<const std::uint64_t> object_ids);
  Result<StatValues> get_stats();

  Result<Done> remove_stream(std::string_view name);
  // The next four calls fetch all pages, one after another, so the pages are of different instants.
  // A stream, query or object that exists all the time is in the result once. If it leaves and
  // comes back meanwhile, it may be in the result twice.
  Result<std::vector<ListedStream>> streams();
  /// Returns the queries of the stream, in no particular order.
  Result<std::vector<QuerySpec>> queries(std::string_view stream);
  /// Returns the objects in the order of the ids, without the missing ones.
  Result<ObjectAnswers> objects(std::span<const std::uint64_t> object_ids);
  /// Returns the objects in the rectangle, in no particular order. The server refuses a rectangle
  /// in a vector space.
  Result<ObjectAnswers> objects_in(const Rectangle& rectangle);
  Result<Done> report_received(const ReportReceived& report);

  /// Sends ReportReceived and does not wait for its reply. Returns a Problem if the request was not
  /// sent. Call finish_report() before the next begin_report() or begin_tick().
  [[nodiscard]] std::optional<Problem> begin_report(const ReportReceived& report);
  /// Returns true if something has arrived from the server, so that finish_report() hardly waits.
  bool has_arrival();
  /// Waits for the reply to begin_report().
  Result<Done> finish_report();

  using PageHandler = std::function<void(const SnapshotPage&)>;
  /// Fetches one page and passes it to `handler`, unless it is of another stream, or its next page
  /// is not after it. The page points into the reply's frame and is
  /// valid only while the handler runs. Returns the page's next_page.
  Result<std::uint64_t> get_snapshot_page(const GetSnapshot& request, const PageHandler& handler);
  /// Fetches all pages of a snapshot, one after another, and passes each page to `handler`.
  Result<Done> get_snapshot(GetSnapshot request, const PageHandler& handler);

  /// Fetches one page of objects and appends it to `answers`. Returns the page's next_page.
  Result<std::uint64_t> get_objects_page(const GetObjects& request, ObjectAnswers& answers);

 private:
  Result<std::uint64_t> add_objects(const GetObjects& request, const Objects& page,
                                    ObjectAnswers& answers);

  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace starling::protocol
