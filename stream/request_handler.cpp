// SPDX-License-Identifier: Apache-2.0
// The common functions of RequestHandler. They pass each request to object_updates.cpp,
// sequenced_requests.cpp, other_requests.cpp or read_requests.cpp, refuse a request that none of
// these can handle, and forget idle sessions and snapshots.
#include "starling/stream/request_handler.hpp"

#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

using protocol::ErrorCode;

RequestHandler::RequestHandler(const ServerOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      sessions_(options.sessions, parts_.publisher.epoch()),
      snapshots_(options.snapshots),
      pages_(options.pages),
      names_(options.names) {}

RequestHandler::~RequestHandler() = default;

void RequestHandler::handle(const Peer& peer, PreparedRequest request) {
  const protocol::DecodedRequest& decoded = request.request;
  const Caller caller{peer, decoded.head};
  const std::uint64_t session = caller.head.session;
  const bool is_known = sessions_.touch(session, steady_now_us());
  // Decoding reports the error `busy` only if memory runs out.
  if (decoded.problem && decoded.problem->code == ErrorCode::busy)
    parts_.metrics.decode_out_of_memory();

  if (decoded.sequenced && is_known && add_update(caller, request)) return;
  settled();  // updates that came before this request are applied and answered before it
  if (decoded.sequenced && is_known) {
    handle_sequenced(caller, request);
  } else if (decoded.problem) {
    refuse(caller, *decoded.problem);
  } else if (is_known || std::holds_alternative<protocol::Hello>(decoded.body)) {
    handle_other(caller, request);
  } else {
    refuse(caller, unknown_session());
  }
  parts_.credit.give_back(session, request.credit);
}

Processor& RequestHandler::settled() {
  apply_updates();
  parts_.updates.settle();
  return parts_.processor;
}

void RequestHandler::refuse_malformed(const Peer& peer, const std::string& sentence) {
  refuse({peer, {}}, ErrorCode::malformed, sentence);
}

void RequestHandler::expire(std::int64_t now_us) {
  settled();
  for (const std::uint64_t session : sessions_.expire(now_us)) {
    spdlog::info("session {} closed: it was idle", session);
    forget_session(session);
  }
  snapshots_.expire(now_us);
}

void RequestHandler::forget_session(std::uint64_t session) {
  parts_.credit.close(session);
  snapshots_.drop_session(session);
  pages_.drop_session(session);
  losses_.drop_session(session);
}

void RequestHandler::refuse(const Caller& caller, ErrorCode code, std::string sentence) {
  refuse(caller, {code, std::move(sentence)});
}

void RequestHandler::refuse(const Caller& caller, protocol::Problem problem) {
  parts_.metrics.refused(problem.code);
  spdlog::debug("session {} request {}: {}", caller.head.session, caller.head.request_id,
                problem.sentence);
  const protocol::ErrorReply reply{std::move(problem),
                                   sessions_.next_sequence(caller.head.session)};
  parts_.send(caller.peer, protocol::encode_error(caller.reply_head(), reply));
}

protocol::ErrorReply RequestHandler::unknown_stream(std::string_view stream) const {
  return {{ErrorCode::unknown_stream, "This server has no stream \"" + std::string(stream) +
                                          "\". Check the name, or make the stream first: with the "
                                          "command starling put stream NAME, or "
                                          "in a program with the request PutStream."},
          0};
}

}  // namespace starling::stream
