// SPDX-License-Identifier: Apache-2.0
// Sends shared texts with Asio: see push_connection.hpp.
#include "starling/stream/sockets/push_connection.hpp"

#include <utility>

#include <boost/asio/write.hpp>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {

namespace asio = boost::asio;
using Error = boost::system::error_code;

PushConnection::PushConnection(asio::ip::tcp::socket socket, Handlers handlers)
    : socket_(std::move(socket)), handlers_(std::move(handlers)), progress_us_(steady_now_us()) {
  Error ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void PushConnection::start() {
  watch();
}

void PushConnection::watch() {
  socket_.async_read_some(asio::buffer(received_),
                          [self = shared_from_this()](const Error& error, std::size_t bytes) {
                            self->received_bytes_ += bytes;
                            if (error || self->received_bytes_ > received_bytes_max)
                              return self->close();
                            self->watch();
                          });
}

void PushConnection::send(std::vector<Text> texts) {
  if (is_closed_ || texts.empty()) return;
  sending_ = std::move(texts);
  buffers_.clear();
  for (const Text& text : sending_) buffers_.push_back(asio::buffer(*text));
  progress_us_ = steady_now_us();
  const auto go_on = [this](const Error& error, std::size_t bytes) {
    progress_us_ = steady_now_us();
    return asio::transfer_all()(error, bytes);
  };
  asio::async_write(socket_, buffers_, go_on,
                    [self = shared_from_this()](const Error& error, std::size_t) {
                      self->sending_.clear();
                      if (self->is_closed_) return;
                      if (error) return self->close();
                      self->handlers_.sent();
                      self->finish_if_idle();
                    });
}

void PushConnection::finish() {
  is_last_ = true;
  finish_if_idle();
}

void PushConnection::finish_if_idle() {
  if (!is_last_ || !is_idle() || is_closed_) return;
  Error ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  close();
}

void PushConnection::close() {
  if (std::exchange(is_closed_, true)) return;
  Error ignored;
  socket_.close(ignored);
  handlers_.ended();
}

}  // namespace starling::stream
