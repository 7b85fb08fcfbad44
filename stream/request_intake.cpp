// SPDX-License-Identifier: Apache-2.0
// Decodes requests and keeps their order: see request_intake.hpp.
#include "starling/stream/request_intake.hpp"

#include <memory>
#include <utility>

namespace starling::stream {

namespace {

constexpr std::size_t decode_on_loop_bytes_max = 4096;

}  // namespace

RequestIntake::RequestIntake(const ServerOptions& options, Parts parts)
    : options_(options),
      executor_(parts.executor),
      access_(parts.access),
      metrics_(parts.metrics),
      requests_(parts.requests),
      tables_(parts.tables),
      journal_(parts.journal),
      read_on_(std::move(parts.read_on)),
      ended_(std::move(parts.ended)),
      decoder_(executor_, options.decode_threads, rounds()) {}

OrderedPool::Rounds RequestIntake::rounds() {
  return {.may_begin = [this] { return may_change(); },
          .takes_more = [this] { return tables_.takes_more_updates(); },
          .end = [this] { tables_.updates().apply(); }};
}

bool RequestIntake::has_room() const {
  return bytes_ < options_.decode_bytes_max && decoder_.waiting() < options_.decode_requests_max;
}

/// Whether a request that changes something may be handled now.
bool RequestIntake::may_change() const {
  return tables_.has_room() && (journal_ == nullptr || !journal_->commits().is_behind());
}

bool RequestIntake::may_read() {
  is_reading_paused_ = !has_room();
  return !is_reading_paused_;
}

void RequestIntake::receive(const Peer& peer, ReceivedBytes received) {
  if (received.bytes.size() > decode_on_loop_bytes_max) {
    bytes_ += received.bytes.size();
    return decoder_.submit([this, peer, received = std::move(received)]() mutable {
      return completion_of(peer, prepare(peer, std::move(received)));
    });
  }
  PreparedRequest prepared = prepare(peer, std::move(received));
  if (!prepared.request.sequenced || (decoder_.waiting() == 0 && may_change())) {
    requests_.handle(peer, std::move(prepared));
    return tables_.updates().apply();
  }
  bytes_ += prepared.received.bytes.size();
  decoder_.submit_done(completion_of(peer, std::move(prepared)));
}

PreparedRequest RequestIntake::prepare(const Peer& peer, ReceivedBytes received) {
  const std::int64_t since_us = executor_.now_us();
  PreparedRequest prepared =
      prepare_request(std::move(received), options_.limits, tables_.space(), requests_.credit(),
                      access_.ring().principal(peer.principal));
  metrics_.decoded(executor_.ms_since(since_us));
  return prepared;
}

OrderedPool::Completion RequestIntake::completion_of(const Peer& peer, PreparedRequest request) {
  const auto prepared = std::make_shared<PreparedRequest>(std::move(request));
  return [this, peer, prepared] {
    bytes_ -= prepared->received.bytes.size();
    requests_.handle(peer, std::move(*prepared));
    ended();
  };
}

void RequestIntake::work_beside(std::size_t bytes,
                                std::function<std::function<void()>()> function) {
  bytes_ += bytes;
  decoder_.submit([this, bytes, function = std::move(function)]() -> OrderedPool::Completion {
    return [this, bytes, complete = function()] {
      bytes_ -= bytes;
      complete();
      ended();
    };
  });
}

void RequestIntake::ended() {
  if (is_reading_paused_ && has_room()) read_on_();
  ended_();
}

}  // namespace starling::stream
