// SPDX-License-Identifier: Apache-2.0
// Reads and writes messages with Boost.Beast: see socket_client.hpp.
#include "tests/stream/support/socket_client.hpp"

#include <algorithm>

#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

std::string identifier_of(const SocketBytes& message) {
  constexpr std::size_t at = 4;
  constexpr std::size_t size = 4;
  if (message.size() < at + size) return {};
  return {reinterpret_cast<const char*>(message.data()) + at, size};
}

template <class Start>
beast::error_code SocketClient::finish(Start start) {
  std::optional<beast::error_code> result;
  start([&result](const beast::error_code& error, auto...) { result = error; });
  loop_.restart();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!result && std::chrono::steady_clock::now() < end)
    loop_.run_one_for(std::chrono::seconds(1));
  if (result) return *result;
  beast::get_lowest_layer(*stream_).socket().close();  // ends the operation
  loop_.restart();
  loop_.run();
  return asio::error::timed_out;
}

unsigned SocketClient::connect() {
  stream_ = std::make_unique<Stream>(loop_);
  const std::size_t colon = options_.endpoint.rfind(':');
  const asio::ip::tcp::endpoint endpoint(
      asio::ip::make_address(options_.endpoint.substr(0, colon)),
      static_cast<std::uint16_t>(std::stoi(options_.endpoint.substr(colon + 1))));
  auto& socket = beast::get_lowest_layer(*stream_).socket();
  socket.open(endpoint.protocol());
  if (options_.receive_bytes > 0)
    socket.set_option(asio::socket_base::receive_buffer_size(options_.receive_bytes));
  socket.connect(endpoint);
  stream_->read_message_max(std::size_t{64} << 20);
  stream_->set_option(websocket::stream_base::decorator([this](websocket::request_type& request) {
    if (!options_.origin.empty()) request.set(beast::http::field::origin, options_.origin);
    if (!options_.protocols.empty())
      request.set(beast::http::field::sec_websocket_protocol, options_.protocols);
  }));
  websocket::response_type response;
  const auto error = finish([&](auto done) {
    stream_->async_handshake(response, options_.host.empty() ? options_.endpoint : options_.host,
                             "/v1/ws", done);
  });
  if (error && error != websocket::error::upgrade_declined) return 0;
  protocol_ = std::string(response[beast::http::field::sec_websocket_protocol]);
  return response.result_int();
}

void SocketClient::send(std::span<const std::byte> message) {
  stream_->binary(true);
  finish(
      [&](auto done) { stream_->async_write(asio::buffer(message.data(), message.size()), done); });
}

void SocketClient::send_text(const std::string& text) {
  stream_->text(true);
  finish([&](auto done) { stream_->async_write(asio::buffer(text), done); });
}

void SocketClient::send_raw(const std::string& bytes) {
  beast::error_code ignored;
  asio::write(beast::get_lowest_layer(*stream_).socket(), asio::buffer(bytes), ignored);
}

SocketBytes SocketClient::receive() {
  beast::flat_buffer buffer;
  if (finish([&](auto done) { stream_->async_read(buffer, done); })) return {};
  EXPECT_TRUE(stream_->got_binary());
  const auto* begin = static_cast<const std::byte*>(buffer.data().data());
  return {begin, begin + buffer.size()};
}

unsigned SocketClient::read_to_end() {
  while (!receive().empty()) {
  }
  return stream_->reason().code;
}

std::uint64_t SocketClient::ask(const protocol::SocketBody& body) {
  const std::uint64_t number = ++requests_;
  send(protocol::encode_socket_request(number, body).bytes());
  return number;
}

SocketBytes SocketClient::reply(std::uint64_t request_id) {
  for (;;) {
    SocketBytes message = receive();
    if (message.empty()) return message;
    if (identifier_of(message) != "STRP") {
      others_.push_back(std::move(message));
      continue;
    }
    if (protocol::decode_reply(protocol::AlignedBytes(message)).head.request_id == request_id)
      return message;
  }
}

SocketBytes SocketClient::next_other() {
  if (!others_.empty()) {
    SocketBytes message = std::move(others_.front());
    others_.erase(others_.begin());
    return message;
  }
  SocketBytes message = receive();
  while (identifier_of(message) == "STRP") message = receive();
  return message;
}

void HeldView::apply(const SocketBytes& message) {
  const protocol::AlignedBytes aligned(message);
  const protocol::DecodedView view = protocol::decode_view(aligned);
  ASSERT_FALSE(view.problem) << view.problem->sentence;
  if (view.head.view != view_) return;
  EXPECT_EQ(view.head.number, head_.number + 1) << "the numbers of a view have no gaps";
  EXPECT_GE(view.head.tick, head_.tick);
  head_ = view.head;
  if (const auto* cells = std::get_if<protocol::ViewCells>(&view.body)) {
    objects_.clear();
    counts_.emplace(cells->counts.begin(), cells->counts.end());
    return;
  }
  const auto& changes = std::get<protocol::ViewChanges>(view.body);
  EXPECT_TRUE(head_.number > 1 || changes.is_whole) << "the first message is whole";
  EXPECT_TRUE(!counts_ || changes.is_whole) << "the first message after a raster is whole";
  counts_.reset();
  apply(changes, view.names);
}

void HeldView::apply(const protocol::ViewChanges& changes,
                     const std::vector<std::string_view>& names) {
  for (const auto slots : {changes.left, changes.entered, changes.moved, changes.tagged})
    EXPECT_TRUE(std::ranges::is_sorted(slots, std::ranges::less_equal()))
        << "slots ascend, and none comes twice";
  if (changes.is_whole) objects_.clear();
  for (const Slot slot : changes.left) EXPECT_EQ(objects_.erase(slot), 1u) << "slot " << slot;
  for (std::size_t i = 0; i < changes.entered.size(); ++i)
    objects_[changes.entered[i]] = {.id = changes.entered_ids[i],
                                    .name = names.empty() ? "" : std::string(names[i]),
                                    .x = changes.entered_xy[2 * i],
                                    .y = changes.entered_xy[2 * i + 1],
                                    .tags = changes.entered_tags[i]};
  for (std::size_t i = 0; i < changes.moved.size(); ++i) {
    ASSERT_TRUE(objects_.contains(changes.moved[i])) << "a slot that moves is held";
    objects_[changes.moved[i]].x = changes.moved_xy[2 * i];
    objects_[changes.moved[i]].y = changes.moved_xy[2 * i + 1];
  }
  for (std::size_t i = 0; i < changes.tagged.size(); ++i) {
    ASSERT_TRUE(objects_.contains(changes.tagged[i])) << "a slot with new tags is held";
    objects_[changes.tagged[i]].tags = changes.tags[i];
  }
}

}  // namespace starling::stream
