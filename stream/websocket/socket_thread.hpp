// SPDX-License-Identifier: Apache-2.0
// The thread that serves all WebSockets, so that neither their number nor their slowness delays a
// tick. What it owns is only used by functions that are posted to it. SocketHub owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "starling/knn/words/space.hpp"
#include "starling/stream/websocket/socket_reader.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// What the loop knows of a connection that it hands over.
struct SocketOpening {
  std::uint64_t reader = 0;
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  std::string head;           ///< head of its HTTP request
  std::string_view protocol;  ///< WebSocket::start()'s
};

class SocketThread {
 public:
  using PrincipalId = zmtp::PrincipalId;

  /// The functions that the thread calls. All but refusal_of only post to the loop.
  struct Parts {
    SocketLimits limits;
    SpaceOptions space;
    std::uint64_t epoch = 0;
    std::function<std::string_view(ObjectId)> name_of;
    std::function<void(std::uint64_t reader, PrincipalId, std::vector<std::byte>)> request;
    std::function<void(std::uint64_t reader, std::uint64_t request_id, std::string stream)> follow;
    /// Returns why the principal may not ask this; std::nullopt: it may.
    std::function<std::optional<protocol::Problem>(std::uint64_t reader, PrincipalId,
                                                   const protocol::SocketBody&)>
        refusal_of;
    std::function<void(const std::string& stream)> unfollow;
    /// Asks for rows with this number, and for no rows if it is 0.
    std::function<void(std::uint64_t feed)> feed;
  };

  explicit SocketThread(Parts parts);
  /// Call close() before.
  ~SocketThread();

  SocketCounts& counts() { return counts_; }
  boost::asio::io_context& context() { return context_; }

  template <class Work>
  void post(Work work) {
    boost::asio::post(context_, std::move(work));
  }

  // The functions below are called on the thread.

  /// Serves a connection. `place` is released when it ends.
  void add(const SocketOpening& opening, boost::asio::ip::tcp::socket socket,
           std::shared_ptr<const void> place);
  void cut(const std::function<bool(PrincipalId)>& is_meant);
  void take_reply(std::uint64_t reader, const protocol::Frame& frame);
  void followed(std::uint64_t reader, std::uint64_t request_id, const std::string& stream,
                const std::optional<protocol::Problem>& problem);
  /// `tick` is empty if the tick is lost for all who follow the stream.
  void publish(const std::string& stream, std::optional<protocol::TickMessage> tick, bool is_last);
  /// `rows` may be null.
  void take_rows(std::uint64_t feed, const MirrorRows* rows, const MirrorState& state);
  /// Shows the newest positions, or waits with them for those of the tick.
  void show();
  void close();

 private:
  struct Reader {
    PrincipalId principal;
    std::shared_ptr<const void> place;
    std::unique_ptr<SocketReader> reader;
  };

  SocketReader* find(std::uint64_t reader);
  SocketReader::Parts reader_parts(std::uint64_t reader, PrincipalId principal);
  void show_now();
  void views_changed();
  void beat_later();

  Parts parts_;
  SocketCounts counts_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> idle_work_{
      context_.get_executor()};
  boost::asio::steady_timer timer_{context_};
  std::unique_ptr<SharedViews> views_;  ///< null in a vector space
  std::uint64_t feed_ = 0;              ///< the number of the rows that count; 0: none do
  std::uint64_t last_feed_ = 0;
  bool was_behind_ = false;  ///< the mirror, when show() was called last
  bool is_due_ = false;      ///< show() has waited for the mirror
  bool is_closed_ = false;
  std::map<std::uint64_t, Reader> readers_;
  std::thread thread_;
};

}  // namespace starling::stream
