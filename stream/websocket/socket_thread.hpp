// SPDX-License-Identifier: Apache-2.0
// The thread that serves all WebSockets, so that many or slow clients do not delay a tick. Only
// functions that are posted to the thread use what it owns. SocketHub owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/own_thread.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/websocket/message_link.hpp"
#include "starling/stream/websocket/socket_reader.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// What the loop passes to the thread with a connection.
struct SocketOpening {
  Peer peer;                  ///< its number of the connection is that of the reader
  std::string head;           ///< head of its HTTP request, and the bytes after it
  std::string_view protocol;  ///< subprotocol for WebSocket::start()
};

class SocketThread {
 public:
  using PrincipalId = zmtp::PrincipalId;

  /// What the thread uses of the server. All functions but name_of and refusal_of post to the loop.
  struct Parts {
    SocketLimits limits;
    SpaceOptions space;
    std::uint64_t epoch = 0;
    std::function<std::string_view(ObjectId)> name_of;
    std::function<void(const Peer&, std::vector<std::byte>)> request;
    std::function<void(std::uint64_t reader, std::uint64_t request_id, std::string stream)> follow;
    /// Returns why the principal may not send the request; std::nullopt: it may.
    std::function<std::optional<protocol::Problem>(std::uint64_t reader, PrincipalId,
                                                   const protocol::SocketBody&)>
        refusal_of;
    std::function<void(const std::string& stream)> unfollow;
    /// Asks for rows, which take_rows() gets with this number; 0: asks for no more rows.
    std::function<void(std::uint64_t feed)> feed;
  };

  /// `own` runs `executor`; null: a test runs it.
  SocketThread(Parts parts, Executor& executor, std::unique_ptr<OwnThread> own);
  /// Call close() before.
  ~SocketThread();

  SocketCounts& counts() { return counts_; }

  template <class Work>
  void post(Work work) {
    executor_.post(std::move(work));
  }

  // The functions below are called on the thread.

  /// Serves a connection. `place` is released when the connection ends.
  void add(const SocketOpening& opening, const MessageLink::Make& socket,
           std::shared_ptr<const void> place);
  void cut(const std::function<bool(PrincipalId)>& is_meant);
  /// Closes the reader, because another one has taken its place.
  void give_way(std::uint64_t reader);
  void take_reply(std::uint64_t reader, const protocol::Frame& frame);
  void followed(std::uint64_t reader, std::uint64_t request_id, const std::string& stream,
                const std::optional<protocol::Problem>& problem);
  /// `message` is std::nullopt if the tick is lost for all readers that follow the stream.
  void publish(const std::string& stream, const protocol::TickHeader& header,
               std::optional<protocol::TickMessage> message);
  /// Applies rows to the mirror, unless `feed` is not the number of the last feed that the thread
  /// asked for. `rows` may be null.
  void take_rows(std::uint64_t feed, const MirrorRows* rows, const MirrorState& state);
  /// Shows the newest positions. If the mirror is behind, waits until it has caught up.
  void show();
  void close();

 private:
  struct Reader {
    PrincipalId principal;
    std::shared_ptr<const void> place;
    std::unique_ptr<SocketReader> reader;
  };

  SocketReader* find(std::uint64_t reader);
  SocketReader::Parts reader_parts(const Peer& peer);
  void show_now();
  void views_changed();
  void beat_later();
  void stop();

  Parts parts_;
  SocketCounts counts_;
  std::unique_ptr<OwnThread> own_;  ///< null in tests
  Executor& executor_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<SharedViews> views_;  ///< null in a vector space
  std::uint64_t feed_ = 0;              ///< number of the feed whose rows are applied; 0: no feed
  std::uint64_t last_feed_ = 0;
  bool was_behind_ = false;  ///< the mirror was behind at the last show()
  bool is_due_ = false;      ///< show() waits for the mirror
  bool is_closed_ = false;
  std::map<std::uint64_t, Reader> readers_;
};

}  // namespace starling::stream
