// SPDX-License-Identifier: Apache-2.0
// Asks for one page after another, and passes each to the thread: see snapshot_fetch.hpp.
#include "starling/stream/events/snapshot_fetch.hpp"

#include <limits>
#include <new>
#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "starling/knn/base/clocks.hpp"

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

SnapshotFetch::SnapshotFetch(Parts parts)
    : parts_(std::move(parts)),
      fetches_({.jobs_max = waiting_max + under_way_max,
                .running_max = under_way_max,
                .running_us_enough = std::numeric_limits<std::int64_t>::max()}) {}

void SnapshotFetch::fetch(ListsReader reader, std::string stream,
                          std::vector<std::uint64_t> query_ids, Done done) {
  const auto fetch = std::make_shared<Fetch>(
      Fetch{std::move(reader), std::move(stream), std::move(query_ids), std::move(done)});
  const auto begin = [this, fetch] {
    const auto& wait = fetch->reader.sender.wait;
    if (wait && wait->is_over()) return false;
    ask(fetch, 0);
    return true;
  };
  const auto refuse = [this, fetch] {
    asio::post(parts_.loop, [fetch] {
      fetch->done(
          {nullptr,
           protocol::Problem{ErrorCode::busy, "Too many clients ask for lists; ask again.", {}}});
    });
  };
  fetches_.add(fetch->reader.sender.payer, {.begin = begin, .refuse = refuse}, steady_now_us());
}

void SnapshotFetch::ask(const std::shared_ptr<Fetch>& fetch, std::uint64_t page) {
  parts_.send(
      fetch->reader.principal,
      [fetch, page] {
        return protocol::GetSnapshot{
            .stream = fetch->stream, .query_ids = fetch->query_ids, .page = page};
      },
      [this, fetch](const protocol::ReplyBody& reply) { take(fetch, reply); },
      fetch->reader.sender);
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
  Result result{.snapshot = nullptr, .problem = fetch->problem};
  if (!fetch->problem)
    result.snapshot = std::make_shared<const StreamSnapshot>(std::move(fetch->snapshot));
  std::exchange(fetch->done, {})(std::move(result));
  fetches_.ended(fetch->reader.sender.payer, steady_now_us());
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
