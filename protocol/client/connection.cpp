// SPDX-License-Identifier: Apache-2.0
// Sends requests, receives replies, resends and reconnects: see connection.hpp.
#include "starling/protocol/client/connection.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "starling/knn/base/usage.hpp"
#include "starling/protocol/client/connect.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::protocol {
namespace {

constexpr std::int64_t back_off_ms_first = 10;
constexpr std::int64_t back_off_ms_max = 500;

// Longest wait for the reply to EndSession, which takes less than a millisecond unless the server
// is busy. Without EndSession, the server forgets the session after session_idle_ms.
constexpr std::chrono::milliseconds end_wait_max{200};

// A server that cannot read a handshake closes the connection without an error. After this number
// of closed connections, the key is probably wrong. libzmq needs about one second for these
// attempts. A server that starts or stops closes fewer connections in a row.
constexpr int cuts_max = 40;

constexpr std::string_view other_server_advice =
    "It is faulty, or no Starling server of this client's version; connect to another.";

constexpr std::string_view start_advice =
    "Start a server with `starling serve`, or give the commands endpoint of a running one.";

// The most replies that libzmq keeps for a client that does not read. Further ones wait at the
// server. A reply is at most server_frame_bytes_max long.
constexpr int replies_kept_max = 64;

// After the timeout, this number of closed connections is enough to name the key as the probable
// cause.
constexpr int late_cuts_min = 5;

}  // namespace

const Problem* ReceivedReply::problem() const {
  if (decoded.problem) return &*decoded.problem;
  const auto* error = std::get_if<ErrorReply>(&decoded.body);
  return error == nullptr ? nullptr : &error->problem;
}

Client::Connection::Connection(zmq::context_t& context, ClientOptions options)
    : context_(context), options_(std::move(options)), session_(options_.name) {
  open_socket();
  say_hello(deadline());
  is_connected_ = true;
}

Client::Connection::~Connection() {
  try {
    end_session();
  } catch (const std::exception&) {
    // The context was shut down, or there is no memory. The server forgets the session by itself.
  }
}

void Client::Connection::end_session() {
  // The server may not have received the unanswered requests yet.
  if (std::ranges::any_of(session_.unanswered(), &Outgoing::sequence)) return;
  auto prepared = session_.prepare(EndSession{});
  auto* outgoing = std::get_if<Outgoing>(&prepared);
  if (outgoing == nullptr) return;
  const std::uint64_t request_id = outgoing->request_id;
  send(session_.admit(std::move(*outgoing)).frame);
  const auto until = Clock::now() + end_wait_max;
  while (Clock::now() < until) {
    const auto reply = receive(until);
    if (!reply || reply->decoded.head.request_id == request_id) return;
  }
}

void Client::Connection::open_socket() {
  watch_.stop();
  socket_ = zmq::socket_t(context_, zmq::socket_type::dealer);
  socket_.set(zmq::sockopt::linger, 0);
  // The session limits the number of unanswered requests, and thereby the length of the queue. A
  // high-water mark of 0 means that ZeroMQ sets no limit, so that sends never block.
  socket_.set(zmq::sockopt::sndhwm, 0);
  socket_.set(zmq::sockopt::rcvhwm, replies_kept_max);
  socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(server_frame_bytes_max));
  socket_.set(zmq::sockopt::reconnect_ivl, 20);
  socket_.set(zmq::sockopt::reconnect_ivl_max, 500);
  use_key(socket_, options_.key);
  watch_.start(context_, socket_);
  is_refused_ = false;
  connect_to(socket_, options_.commands);
}

void Client::Connection::refuse_key(HandshakeWatch::Seen why) const {
  const std::string server = "The server at " + options_.commands;
  if (!options_.key)
    throw KeyError(
        server +
        " admits only clients with a key; make one with starling keygen, have its public "
        "key added to the server's keys file, and give the key file with --key or to "
        "your client library.");
  const std::string key = "the key \"" + options_.key->name + "\"";
  if (why == HandshakeWatch::Seen::key_refused)
    throw KeyError(server + " does not admit " + key +
                   "; its keys file needs a [[principal]] with " + "public = \"" +
                   to_z85(options_.key->public_key) + "\".");
  if (why == HandshakeWatch::Seen::other_mechanism)
    throw KeyError(server +
                   " has no keys, and would not encrypt; start it with --keys, or connect " +
                   "without " + key + ".");
  throw KeyError(server + " ends each handshake with " + key +
                 "; it may have no room, or quota.connections of this key may be used up, but "
                 "probably its public key is not \"" +
                 to_z85(*options_.key->server_key) +
                 "\", which the key file or --server-key names.");
}

void Client::Connection::check_first_connection(HandshakeWatch::Seen why) {
  using Seen = HandshakeWatch::Seen;
  if (why != Seen::unreachable) unreachable_since_.reset();
  if (is_connected_) return;
  if (why == Seen::other_socket)
    throw EndpointError(
        options_.commands +
        " is not the commands endpoint of a server; it may be the results endpoint. "
        "Give the commands endpoint, such as tcp://127.0.0.1:7411.");
  if (why != Seen::unreachable) return;
  const auto now = Clock::now();
  if (!unreachable_since_) unreachable_since_ = now;
  if (now - *unreachable_since_ >= std::chrono::milliseconds(options_.refused_timeout_ms))
    throw TimeoutError("Nothing listens at " + options_.commands +
                       ", or its host name is unknown. " + std::string(start_advice));
}

/// Closes the socket, which frees what has come of the message.
void Client::Connection::refuse_endless_message() {
  open_socket();
  is_refused_ = true;  // The next call says hello first.
  throw TimeoutError(bad_reply("sends a message that never ends").sentence);
}

bool Client::Connection::wait_for_message(Clock::time_point until) {
  using Seen = HandshakeWatch::Seen;
  while (true) {
    const Seen seen = watch_.wait(socket_, until);
    if (seen == Seen::message) return true;
    if (seen == Seen::nothing) return false;
    if (seen == Seen::endless) refuse_endless_message();
    is_refused_ = seen == Seen::key_refused || seen == Seen::other_mechanism;
    if (is_refused_) refuse_key(seen);
    // Once a connection has worked, the key is right, and the server may be starting again.
    if (seen == Seen::cut && ++cut_count_ >= cuts_max && options_.key && !is_connected_)
      refuse_key(seen);
    check_first_connection(seen);
  }
}

void Client::Connection::send(const Frame& frame) {
  // Sends a copy. The frame is kept for a resend, which may have to change the session in the
  // frame.
  const auto bytes = frame.bytes();
  const auto sent = uninterrupted([&] {
    return socket_.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::dontwait);
  });
  // The queue has no limit, so a send fails only after libzmq has given up a server that refused
  // the key.
  if (!sent) is_refused_ = true;
}

std::optional<ReceivedReply> Client::Connection::receive(Clock::time_point until) {
  ReceivedReply reply;
  reply.message = std::make_unique<zmq::message_t>();
  if (!wait_for_message(until)) return std::nullopt;
  if (!receive_now(socket_, *reply.message)) return std::nullopt;
  reply.frame = to_aligned(*reply.message);
  reply.decoded = decode_reply(reply.frame);
  if (reply.decoded.problem && reply.decoded.problem->code == ErrorCode::malformed) {
    reply.damage = std::move(reply.decoded.problem->sentence);
    reply.decoded.problem = bad_reply("sent a reply that is damaged: " + reply.damage);
  }
  return reply;
}

void Client::Connection::say_hello(Clock::time_point deadline) {
  while (true) {
    send(session_.hello());
    const auto reply = receive(std::min(deadline, Clock::now() + patience()));
    if (!reply) {
      check_deadline(deadline);
      open_socket();
      continue;
    }
    if (const auto* terms = std::get_if<HelloReply>(&reply->decoded.body)) {
      if (auto put_back = session_.on_hello(*terms)) fail_forgotten(*std::move(put_back));
      watch_.ignore_failures();
      cut_count_ = 0;
      return;
    }
    const Problem* problem = reply->problem();
    if (problem == nullptr) {
      note_stray(*reply);
      check_deadline(deadline);
      continue;
    }
    if (reply->decoded.problem && !is_connected_)
      throw EndpointError(options_.commands +
                          " does not answer as a server's commands endpoint of this version" +
                          (reply->damage.empty() ? ". " : ": " + reply->damage + " ") +
                          "Give the commands endpoint, such as tcp://127.0.0.1:7411.");
    if (consumes_sequence(problem->code)) throw RefusedError(*problem);
    last_obstacle_ = problem->sentence;
    back_off(deadline);
  }
}

/// Makes a failed reply for each request that the session has forgotten. If the session has
/// forgotten none, the next request that changes something is refused instead of sent.
void Client::Connection::fail_forgotten(ClientSession::PutBack put_back) {
  ++put_backs_;
  put_back_ = std::move(put_back.problem);
  must_tell_put_back_ = put_back.request_ids.empty();
  for (const std::uint64_t request_id : put_back.request_ids) {
    ReceivedReply& failed = failed_.emplace_back();
    failed.decoded.head.request_id = request_id;
    failed.decoded.problem = put_back_;
  }
}

std::variant<Outgoing, Problem> Client::Connection::prepare(const RequestBody& body) {
  if (is_sequenced(body) && std::exchange(must_tell_put_back_, false)) return put_back_;
  auto prepared = session_.prepare(body);
  const auto* const outgoing = std::get_if<Outgoing>(&prepared);
  if (outgoing == nullptr) return prepared;
  const std::uint64_t put_backs = put_backs_;
  while (!session_.has_credit_for(*outgoing)) take(next_answer());
  if (outgoing->sequence != 0 && put_backs_ != put_backs) return put_back_;
  return prepared;
}

void Client::Connection::start_again(Clock::time_point deadline) {
  open_socket();
  say_hello(deadline);
  for (const Outgoing& outgoing : session_.unanswered()) send(outgoing.frame);
}

void Client::Connection::check_deadline(Clock::time_point deadline) const {
  if (Clock::now() < deadline) return;
  if (cut_count_ >= late_cuts_min && options_.key && !is_connected_)
    refuse_key(HandshakeWatch::Seen::cut);
  std::string sentence = "The server at " + options_.commands + " did not answer within " +
                         std::to_string(wait_ms()) + " ms";
  if (stray_count_ > 0)
    throw TimeoutError(
        sentence + ", but sent " + std::to_string(stray_count_) +
        " replies that answer no request" +
        (last_stray_.empty() ? ". " : ", the last one damaged: " + last_stray_ + " ") +
        std::string(other_server_advice));
  if (!last_obstacle_.empty())
    throw TimeoutError(sentence + "; its last refusal: " + last_obstacle_);
  sentence += ".";
  if (cut_count_ >= cuts_max)
    sentence += " It ended " + std::to_string(cut_count_) +
                " handshakes: it may have no room, be no server of this kind, or need another key.";
  else if (!is_connected_)
    sentence += " " + std::string(start_advice);
  throw TimeoutError(sentence);
}

void Client::Connection::back_off(Clock::time_point deadline) {
  check_deadline(deadline);
  back_off_ms_ = std::clamp(2 * back_off_ms_, back_off_ms_first, back_off_ms_max);
  std::this_thread::sleep_for(std::chrono::milliseconds(back_off_ms_));
}

Problem Client::Connection::bad_reply(const std::string& what) const {
  const bool is_sentence = what.ends_with('.');
  return {ErrorCode::malformed, "The server at " + options_.commands + " " + what +
                                    (is_sentence ? " " : ". ") + std::string(other_server_advice)};
}

Result<std::uint64_t> Client::Connection::page_after(std::uint64_t page,
                                                     std::uint64_t next_page) const {
  if (next_page == 0 || next_page > page) return next_page;
  return bad_reply("sent pages in a circle: after page " + std::to_string(page) +
                   " it named page " + std::to_string(next_page));
}

void Client::Connection::note_stray(const ReceivedReply& reply) {
  if (session_.has_asked(reply.decoded.head.request_id)) return;
  ++stray_count_;
  last_stray_ = reply.damage;
}

ReceivedReply Client::Connection::next_answer() {
  const auto give_up = deadline();
  while (true) {
    if (!failed_.empty()) {
      ReceivedReply failed = std::move(failed_.front());
      failed_.pop_front();
      return failed;
    }
    if (is_refused_) start_again(give_up);
    auto reply = receive(std::min(give_up, Clock::now() + patience()));
    if (!reply) {
      check_deadline(give_up);
      start_again(give_up);
      continue;
    }
    const Outgoing* const asked = session_.find(reply->decoded.head.request_id);
    if (asked != nullptr && !reply->decoded.problem)
      if (const auto misfit = ClientSession::misfit(*asked, reply->decoded.body))
        reply->decoded.problem = bad_reply(*misfit);
    const Problem* problem = reply->problem();
    const auto refusal = problem == nullptr ? ErrorCode::none : problem->code;
    switch (session_.on_reply(reply->decoded.head, refusal)) {
      case ClientSession::Verdict::answered:
        back_off_ms_ = 0;
        stray_count_ = 0;
        return std::move(*reply);
      case ClientSession::Verdict::unexpected:
        note_stray(*reply);
        check_deadline(give_up);
        break;
      case ClientSession::Verdict::try_again:
        last_obstacle_ = problem->sentence;
        back_off(give_up);
        send(session_.find(reply->decoded.head.request_id)->frame);
        break;
      case ClientSession::Verdict::start_again:
        last_obstacle_ = problem->sentence;
        back_off(give_up);
        start_again(give_up);
        break;
    }
  }
}

void Client::Connection::take(ReceivedReply reply) {
  if (begun_ == reply.decoded.head.request_id)
    begun_reply_ = std::move(reply);
  else
    count(reply);
}

void Client::Connection::count(const ReceivedReply& reply) {
  if (const Problem* problem = reply.problem()) {
    if (!totals_.first_refusal) totals_.first_refusal = *problem;
    return;
  }
  const auto* batch = std::get_if<BatchReply>(&reply.decoded.body);
  if (batch == nullptr) return;
  totals_.accepted += batch->accepted;
  totals_.late += batch->late;
  totals_.rejected += batch->rejected;
  for (const ReasonCount& each : batch->reasons) {
    if (each.reason > last_row_reason) continue;
    const auto reason = static_cast<std::size_t>(each.reason);
    totals_.rejected_by_reason[reason] += each.count;
    totals_.limit_by_reason[reason] = each.limit;
  }
}

std::optional<Problem> Client::Connection::post(const RequestBody& batch) {
  check_usage(is_batch(batch),
              "post: only batches of rows, names or queries are posted; call the "
              "function of the request");
  auto prepared = prepare(batch);
  if (auto* problem = std::get_if<Problem>(&prepared)) return std::move(*problem);
  auto& outgoing = std::get<Outgoing>(prepared);
  send(session_.admit(std::move(outgoing)).frame);
  return std::nullopt;
}

BatchTotals Client::Connection::flush() {
  while (!failed_.empty() || session_.unanswered().size() > (awaits_begun() ? 1 : 0))
    take(next_answer());
  return std::exchange(totals_, {});
}

std::optional<Problem> Client::Connection::begin(const RequestBody& body) {
  check_usage(!begun_, "begin_tick, begin_report: one has begun; call its finish_ function first");
  auto prepared = prepare(body);
  if (auto* problem = std::get_if<Problem>(&prepared)) return std::move(*problem);
  auto& outgoing = std::get<Outgoing>(prepared);
  begun_ = outgoing.request_id;
  send(session_.admit(std::move(outgoing)).frame);
  return std::nullopt;
}

Result<ReceivedReply> Client::Connection::finish() {
  check_usage(begun_.has_value(),
              "finish_tick, finish_report: nothing has begun; call the begin_ function first");
  while (!begun_reply_) take(answer_or_abandon(*begun_));
  ReceivedReply reply = std::move(*begun_reply_);
  begun_.reset();
  begun_reply_.reset();
  if (const Problem* problem = reply.problem()) return *problem;
  return reply;
}

ReceivedReply Client::Connection::answer_or_abandon(std::uint64_t request_id) {
  const auto abandon = [&] {
    session_.abandon(request_id);
    if (begun_ == request_id && session_.find(request_id) == nullptr) begun_.reset();
  };
  try {
    return next_answer();
  } catch (const TimeoutError&) {
    abandon();
    throw;
  } catch (const KeyError&) {
    abandon();
    throw;
  }
}

Result<ReceivedReply> Client::Connection::call(const RequestBody& body) {
  auto prepared = prepare(body);
  if (auto* problem = std::get_if<Problem>(&prepared)) return std::move(*problem);
  auto& outgoing = std::get<Outgoing>(prepared);
  const std::uint64_t request_id = outgoing.request_id;
  send(session_.admit(std::move(outgoing)).frame);
  while (true) {
    ReceivedReply reply = answer_or_abandon(request_id);
    if (reply.decoded.head.request_id != request_id) {
      take(std::move(reply));
      continue;
    }
    if (const Problem* problem = reply.problem()) return *problem;
    return reply;
  }
}

}  // namespace starling::protocol
