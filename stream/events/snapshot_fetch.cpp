// SPDX-License-Identifier: Apache-2.0
// Asks for one page after another, and passes each to the thread: see snapshot_fetch.hpp.
#include "starling/stream/events/snapshot_fetch.hpp"

#include <new>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace starling::stream {

namespace asio = boost::asio;
using protocol::ErrorCode;

namespace {

// The server keeps few snapshots for a session (SnapshotLimits), and a new snapshot replaces the
// oldest, even if its pages are still being fetched.
constexpr std::size_t under_way_max = 2;
constexpr std::size_t waiting_max = 256;  // further fetches are refused

constexpr std::size_t list_bytes_min = 28;  // {"query":"1","neighbors":[]}

protocol::Problem problem_of(const protocol::ReplyBody& reply) {
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) return error->problem;
  return {ErrorCode::busy, "The server gave no lists; ask again.", {}};
}

}  // namespace

void SnapshotFetch::fetch(PrincipalId principal, std::string stream,
                          std::vector<std::uint64_t> query_ids, Done done) {
  if (waiting_.size() >= waiting_max)
    return asio::post(parts_.loop, [done = std::move(done)] {
      done({nullptr,
            protocol::Problem{ErrorCode::busy, "Too many clients ask for lists; ask again.", {}}});
    });
  waiting_.push_back(std::make_shared<Fetch>(
      Fetch{principal, std::move(stream), std::move(query_ids), std::move(done)}));
  begin_next();
}

void SnapshotFetch::begin_next() {
  if (waiting_.empty() || under_way_ >= under_way_max) return;
  ++under_way_;
  const auto next = std::move(waiting_.front());
  waiting_.pop_front();
  ask(next, 0);
}

void SnapshotFetch::ask(const std::shared_ptr<Fetch>& fetch, std::uint64_t page) {
  parts_.send(
      fetch->principal,
      [fetch, page] {
        return protocol::GetSnapshot{
            .stream = fetch->stream, .query_ids = fetch->query_ids, .page = page};
      },
      [this, fetch](const protocol::ReplyBody& reply) { take(fetch, reply); });
}

void SnapshotFetch::take(const std::shared_ptr<Fetch>& fetch, const protocol::ReplyBody& reply) {
  if (const auto* page = std::get_if<protocol::SnapshotPage>(&reply)) return add_page(fetch, *page);
  fetch->problem = problem_of(reply);
  end(fetch);
}

void SnapshotFetch::add_page(const std::shared_ptr<Fetch>& fetch,
                             const protocol::SnapshotPage& page) {
  const protocol::SnapshotHead& head = page.head;
  fetch->snapshot.epoch = head.epoch;
  fetch->snapshot.tick = head.tick;
  fetch->snapshot.time_us = head.tau_us;
  fetch->snapshot.sequence = head.sequence;
  fetch->snapshot.run = head.runs.empty() ? 0 : head.runs.front().id;
  fetch->snapshot.place = head.place;
  if (head.list_count * list_bytes_min > parts_.bytes_max) {
    fetch->problem = too_long();
    return end(fetch);
  }
  parts_.beside.post(
      [this, fetch, owner = parts_.reply_owner(), lists = page.lists, next_page = head.next_page] {
        append(*fetch, lists);
        asio::post(parts_.loop, [this, fetch, next_page] {
          if (next_page == 0 || fetch->problem) return end(fetch);
          ask(fetch, next_page);
        });
      });
}

void SnapshotFetch::append(Fetch& fetch, const protocol::ListChunk& lists) const {
  try {
    if (!append_lists(fetch.snapshot, lists, parts_.form, parts_.bytes_max))
      fetch.problem = too_long();
  } catch (const std::bad_alloc&) {
    fetch.problem = protocol::out_of_memory();
  }
}

void SnapshotFetch::end(const std::shared_ptr<Fetch>& fetch) {
  --under_way_;
  Result result{.snapshot = nullptr, .problem = fetch->problem};
  if (!fetch->problem)
    result.snapshot = std::make_shared<const StreamSnapshot>(std::move(fetch->snapshot));
  std::exchange(fetch->done, {})(std::move(result));
  begin_next();
}

protocol::Problem SnapshotFetch::too_long() const {
  const protocol::ReachedLimit limit{"http-stream-bytes-max", parts_.bytes_max};
  return {ErrorCode::too_many_rows,
          "The lists have more bytes of JSON than " + to_string(limit) +
              " allows; choose some of the queries with ?queries=1,2, or use the results endpoint "
              "(protocol/README.md).",
          limit};
}

}  // namespace starling::stream
