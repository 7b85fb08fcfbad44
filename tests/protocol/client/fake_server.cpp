// SPDX-License-Identifier: Apache-2.0
// Runs the ROUTER socket on a thread, and passes requests to the test: see fake_server.hpp.
#include "tests/protocol/client/fake_server.hpp"

#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::protocol::test {

FakeServer::FakeServer(zmq::context_t& context, Answer answer, const std::string& endpoint,
                       const Limits& limits)
    : socket_(context, zmq::socket_type::router), answer_(std::move(answer)), limits_(limits) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.set(zmq::sockopt::rcvtimeo, 20);
  socket_.bind(endpoint);
  endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

FakeServer::~FakeServer() {
  thread_.request_stop();
  thread_.join();
}

std::vector<RequestHead> FakeServer::received() const {
  const std::scoped_lock lock(mutex_);
  return received_;
}

std::vector<std::uint64_t> FakeServer::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

void FakeServer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    zmq::message_t peer;
    zmq::message_t body;
    if (!socket_.recv(peer)) continue;
    static_cast<void>(socket_.recv(body));
    const AlignedBytes frame = to_aligned(body);
    const DecodedRequest request = decode_request(frame, limits_);
    const bool is_end = std::holds_alternative<EndSession>(request.body);
    if (is_end) {
      const std::scoped_lock lock(mutex_);
      ended_.push_back(request.head.session);
    } else if (!std::holds_alternative<Hello>(request.body)) {
      const std::scoped_lock lock(mutex_);
      received_.push_back(request.head);
    }
    const auto reply =
        is_end ? encode_done({request.head.request_id, request.head.sequence}) : answer_(request);
    if (!reply) continue;
    socket_.send(peer, zmq::send_flags::sndmore);
    socket_.send(zmq::const_buffer(reply->bytes().data(), reply->bytes().size()));
  }
}

Frame hello_reply(std::uint64_t session, std::uint64_t epoch, const Limits& limits) {
  return encode_hello_reply({}, {.session = session, .epoch = epoch, .limits = limits});
}

}  // namespace starling::protocol::test
