// SPDX-License-Identifier: Apache-2.0
// One client of a WebSocket: its requests, its view, and the streams that it follows. SocketThread
// owns the readers, and calls them on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/socket_codec.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/websocket/message_link.hpp"
#include "starling/stream/websocket/position_feed.hpp"
#include "starling/stream/websocket/shown_view.hpp"
#include "starling/stream/websocket/socket_limits.hpp"
#include "starling/stream/websocket/socket_message.hpp"

namespace starling::stream {

/// What the views of all readers have in common.
struct SharedViews {
  explicit SharedViews(const SpaceOptions& space) : mirror(space) {}

  PositionMirror mirror;
  ViewScratch scratch;
  MirrorState state;
  std::uint64_t version = 0;  ///< increases when readers should get a message
};

/// A followed stream's tick, as all readers share it.
struct FollowedTick {
  SharedMessage message;  ///< null: the tick is lost for all readers
  /// What a reader that loses the message gets instead of it: the tick's header without chunks.
  /// Null unless the tick is the last one of a removed stream.
  SharedMessage removal;
};

class SocketReader {
 public:
  struct Parts {
    Executor& executor;  ///< the thread
    const SocketLimits& limits;
    SocketCounts& counts;
    Space space = Space::planar2;
    SharedViews* views = nullptr;  ///< null in a vector space
    std::uint64_t epoch = 0;
    std::function<std::string_view(ObjectId)> name_of;
    // The server's functions that the reader calls.
    std::function<void(std::vector<std::byte>)> request;  ///< take_reply() gets the reply later
    /// followed() gets the outcome later.
    std::function<void(std::uint64_t request_id, std::string stream)> follow;
    std::function<void(const std::string& stream)> unfollow;
    /// Returns why the client may not send the request; std::nullopt: it may.
    std::function<std::optional<protocol::Problem>(const protocol::SocketBody&)> refusal_of;
    std::function<void()> views_changed;  ///< called when the reader's view begins or ends
    std::function<void()> ended;          ///< called at the end; destroys the reader
  };

  SocketReader(const MessageLink::Make& socket, Parts parts);
  SocketReader(const SocketReader&) = delete;
  SocketReader& operator=(const SocketReader&) = delete;

  void start(const std::string& head, std::string_view protocol) { socket_->start(head, protocol); }
  bool has_view() const { return view_.has_value(); }
  void take_reply(const protocol::Frame& frame);
  void followed(std::uint64_t request_id, const std::string& stream,
                const std::optional<protocol::Problem>& problem);
  /// Takes a stream's tick, if the reader follows the stream.
  void publish(const std::string& stream, const FollowedTick& tick);
  /// Sends a message of the view if there is something new and the limits allow it.
  void show();
  void beat(std::int64_t now_us) { socket_->beat(now_us); }
  void close() { socket_->close(MessageLink::Code::going_away, "the server stops"); }
  void give_way() {
    socket_->close(MessageLink::Code::try_again_later, "another client takes this place");
  }
  void cut() { socket_->close(MessageLink::Code::policy_error, "the token or its rights changed"); }

 private:
  void take(std::vector<std::byte> message);
  void take(const protocol::DecodedSocketRequest& request);
  void put_view(std::uint64_t request_id, const protocol::View& view);
  void end_view();
  void end_follow(const std::string& stream);
  void answer(std::uint64_t request_id, const std::optional<protocol::Problem>& problem);
  void send(protocol::Frame frame);
  void read_if_allowed();
  bool may_read() const;
  void end();

  Parts parts_;
  std::shared_ptr<MessageLink> socket_;
  std::unique_ptr<Timer> view_timer_;
  /// Exists as long as this object.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::optional<ShownView> view_;
  std::weak_ptr<const SocketMessage> view_message_;  ///< the view's message that is being sent
  std::uint64_t shown_version_ = 0;
  std::int64_t next_by_rate_us_ = 0;   ///< time when View::ticks_per_s allows the next message
  std::int64_t next_by_bytes_us_ = 0;  ///< time when View::bytes_per_s allows the next message
  std::set<std::string, std::less<>> streams_;
  unsigned requests_ = 0;  ///< number of requests that wait for their replies
  /// A Follow waits for followed(). No message is read meanwhile, so an EndFollow is read after it.
  bool is_following_ = false;
};

}  // namespace starling::stream
