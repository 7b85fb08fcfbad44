// SPDX-License-Identifier: Apache-2.0
// Tests one TlsConnection on the test's own loop and clock. Its client is one end of a pair of
// local sockets. When their buffers are full does not depend on the network.
#include "starling/stream/tls/tls_connection.hpp"

#include <array>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/tls/tls_folder.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;

constexpr int handlers_max = 20'000;  ///< more handlers than a connection runs before it waits

class TlsConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    TlsConnection::Client outer(loop);
    outer.assign(asio::ip::tcp::v4(), ends[0]);
    client_handle = ends[1];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    TlsConnection::Server inner(loop);
    inner.assign(asio::local::stream_protocol(), ends[0]);
    plain_handle = ends[1];
    connection = std::make_shared<TlsConnection>(load_tls(folder.files()).context, std::move(outer),
                                                 std::move(inner), limits, counts,
                                                 [this](TlsConnection*) { is_ended = true; });
    connection->start();
    tls.reset(SSL_new(client_context.get()));
    SSL_set_fd(tls.get(), client_handle);
    for (int i = 0; i < 100 && SSL_connect(tls.get()) != 1; ++i) run();
    ASSERT_EQ(SSL_is_init_finished(tls.get()), 1);
    run();
  }
  void TearDown() override {
    connection.reset();
    close(client_handle);
    close_plain();
  }

  /// Runs the loop until nothing is ready. Returns false if that does not happen.
  bool run() {
    loop.restart();
    for (int i = 0; i < handlers_max; ++i)
      if (loop.poll_one() == 0) return true;
    return false;
  }
  void close_plain() {
    if (plain_handle >= 0) close(plain_handle);
    plain_handle = -1;
  }
  /// Writes `size` bytes as HttpServer does, and then closes its side. Returns false if the buffers
  /// fill up first.
  bool answer_and_close(std::size_t size) {
    const std::string answer(size, 'x');
    std::size_t sent = 0;
    for (int stuck = 0; sent < size && stuck < 3;) {
      const ssize_t count = send(plain_handle, answer.data() + sent, size - sent, MSG_NOSIGNAL);
      if (count > 0) sent += static_cast<std::size_t>(count);
      stuck = count > 0 ? 0 : stuck + 1;
      EXPECT_TRUE(run()) << "it does not wait after " << sent << " bytes";
    }
    close_plain();
    return sent == size;
  }
  /// Returns how many bytes of the answer the client gets.
  std::size_t read_all() {
    std::size_t size = 0;
    std::array<char, 16384> part{};
    for (int idle = 0; idle < 3;) {
      const int count = SSL_read(tls.get(), part.data(), static_cast<int>(part.size()));
      if (count > 0) size += static_cast<std::size_t>(count);
      idle = count > 0 ? 0 : idle + 1;
      run();
    }
    return size;
  }

  void begin_again() {
    TearDown();
    is_ended = false;
    SetUp();
  }

  TlsFolder folder;
  asio::io_context loop;
  TlsLimits limits;
  TlsCounts counts;
  bool is_ended = false;
  int client_handle = -1;
  int plain_handle = -1;
  std::shared_ptr<TlsConnection> connection;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context{SSL_CTX_new(TLS_client_method()),
                                                                   SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> tls{nullptr, SSL_free};
};

// With each size, the buffers fill up in another step: while a part of the answer is left, while a
// part of a record is left, or at the close_notify.
TEST_F(TlsConnectionTest, AClientThatDoesNotReadIsWaitedForAndThenCutWhereverItsBuffersAreFull) {
  int waited = 0;
  bool is_full = false;
  for (std::size_t size = 1; !is_full; size += 5003) {
    if (size > 1) begin_again();
    SCOPED_TRACE(size);
    is_full = !answer_and_close(size);
    ASSERT_TRUE(run()) << "it keeps the thread busy while it waits";
    if (!is_ended) {
      ++waited;
      connection->beat(steady_now_us());
      EXPECT_FALSE(is_ended) << "cut too early";
      connection->beat(steady_now_us() + limits.last_bytes_us);
    }
    ASSERT_TRUE(is_ended);
  }
  EXPECT_GT(waited, 3);
}

TEST_F(TlsConnectionTest, AClientThatReadsLateGetsEveryAnswerAndCloseNotify) {
  bool is_full = false;
  for (std::size_t size = 1; !is_full; size += 5003) {
    if (size > 1) begin_again();
    SCOPED_TRACE(size);
    is_full = !answer_and_close(size);
    const std::size_t received = read_all();
    if (!is_full) {
      EXPECT_EQ(received, size);
    }
    EXPECT_NE(SSL_get_shutdown(tls.get()) & SSL_RECEIVED_SHUTDOWN, 0) << "no close_notify";
    EXPECT_TRUE(is_ended);
  }
}

TEST_F(TlsConnectionTest, AClientThatTakesNothingIsCutOnlyAfterItsTime) {
  const std::string part(65536, 'x');
  for (int stuck = 0; stuck < 3;) {
    stuck = send(plain_handle, part.data(), part.size(), MSG_NOSIGNAL) > 0 ? 0 : stuck + 1;
    ASSERT_TRUE(run());
  }
  const std::int64_t now_us = steady_now_us();
  connection->beat(now_us + limits.last_bytes_us);
  EXPECT_FALSE(is_ended);
  connection->beat(now_us + limits.stall_us + 1'000'000);
  EXPECT_TRUE(is_ended);
  EXPECT_EQ(counts.stalled, 1u);
}

}  // namespace
}  // namespace starling::stream
