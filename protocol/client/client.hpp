// A blocking client of one server: connects, keeps within its credit, sends batches without waiting
// for each, and after a lost connection says hello again and resends what is unanswered under the
// same numbers, so that nothing is applied twice. For one thread; replay, subscribe and tests use
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/client/result.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace zmq {
class context_t;
}

namespace starling::protocol {

struct ClientOptions {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string name = "starling client";  ///< for the server's logs
  std::string key{};
  std::int64_t timeout_ms = 30'000;          ///< longest wait for one reply, reconnects included
  std::int64_t connect_timeout_ms = 30'000;  ///< the same for the first hello, if it is less
  std::int64_t reconnect_after_ms = 5'000;   ///< without a reply for so long: connect anew
};

/// No reply within timeout_ms, or to the first hello within connect_timeout_ms.
class TimeoutError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The text is no endpoint that can be connected to.
class EndpointError : public std::runtime_error {
 public:
  EndpointError(const std::string& endpoint, const std::string& why);
};

/// What the batches since the last flush came to.
struct BatchTotals {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::array<std::uint64_t, std::size_t(last_row_reason) + 1> rejected_by_reason{};
  /// What was in the way, by the same reason; no name where that was no limit.
  std::array<ReachedLimit, std::size_t(last_row_reason) + 1> limit_by_reason{};
  /// Of the refused batches the first; nothing of them was applied.
  std::optional<Problem> first_refusal{};
};

/// One-shot answers, in the order of the questions.
struct NeighborAnswers {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::vector<HeldList> lists{};
};

/// Texts of ids, in the order asked; see Names.
struct NameAnswers {
  std::uint64_t epoch = 0;
  std::uint64_t name_count = 0;
  std::vector<std::string> texts{};  ///< empty: no name
};

using StatValues = std::vector<std::pair<std::string, double>>;

class Client {
 public:
  /// Connects and says hello. Throws TimeoutError, RefusedError (the server wants none of us), or
  /// EndpointError. The context must outlive the client.
  Client(zmq::context_t& context, ClientOptions options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// The server's terms as of the last hello. A new epoch means that the server has started anew
  /// and holds nothing of what was acknowledged before.
  const HelloReply& server() const;
  std::uint64_t epoch() const { return server().epoch; }

  /// Sends an UpdateBatch, UpdateTags, RemoveObjects, PutNames, PutQueries or RemoveQueries and
  /// waits only for credit. Nothing, or why it was not sent.
  [[nodiscard]] std::optional<Problem> post(const RequestBody& batch);
  /// Waits until every posted batch is answered.
  BatchTotals flush();

  // Each of these waits for its reply. All throw TimeoutError.
  Result<BatchReply> update(const UpdateBatch& batch);
  Result<BatchReply> update_tags(const UpdateTags& batch);
  Result<BatchReply> remove_objects(const RemoveObjects& batch);
  Result<BatchReply> put_names(const PutNames& batch);
  Result<BatchReply> put_queries(const PutQueries& batch);
  Result<BatchReply> remove_queries(const RemoveQueries& batch);
  Result<Done> put_stream(const PutStream& stream);
  Result<TickDone> advance_tick(std::int64_t tau_us);
  Result<NeighborAnswers> get_neighbors(const GetNeighbors& request);
  /// At most server().limits.names_asked_max ids at a time.
  Result<NameAnswers> get_names(std::span<const std::uint64_t> object_ids);
  Result<StatValues> get_stats();
  Result<Done> report_received(const ReportReceived& report);

  using PageHandler = std::function<void(const SnapshotPage&)>;
  /// One page; the handler's argument shows the reply's frame. Returns next_page.
  Result<std::uint64_t> get_snapshot_page(const GetSnapshot& request, const PageHandler& handler);
  /// All pages, one after another.
  Result<Done> get_snapshot(GetSnapshot request, const PageHandler& handler);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace starling::protocol
