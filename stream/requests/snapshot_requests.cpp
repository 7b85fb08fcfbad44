// SPDX-License-Identifier: Apache-2.0
// Collects the queries of a snapshot in slices, has the engine copy their lists, and encodes pages
// beside the loop: see snapshot_requests.hpp.
#include "starling/stream/requests/snapshot_requests.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

// On the wire, the number of a page combines the snapshot's number and the page's index in the
// snapshot. No page has the number 0. In a request, 0 asks for a new snapshot. In a reply, 0 means
// that no page follows.
constexpr unsigned page_index_bits = 24;

constexpr std::uint64_t page_name(std::uint64_t snapshot_number, std::size_t page) {
  return snapshot_number << page_index_bits | page;
}

/// The HTTP endpoint gets short pages, because the loop also copies them.
constexpr std::size_t own_page_bytes_max = std::size_t{256} << 10;

/// A set of slots. It takes memory only as slots are added, and in small parts.
class SlotSet {
 public:
  /// Adds the slot. Returns false if the set had it already.
  bool insert(Slot slot) {
    const std::size_t part = slot / part_slots;
    if (part >= parts_.size()) parts_.resize(part + 1);
    if (!parts_[part]) parts_[part] = std::make_unique<Part>();
    std::uint64_t& word = (*parts_[part])[slot % part_slots / word_bits];
    const std::uint64_t bit = std::uint64_t{1} << slot % word_bits;
    return (std::exchange(word, word | bit) & bit) == 0;
  }

 private:
  static constexpr std::size_t word_bits = 64;
  static constexpr std::size_t part_slots = 32'768;  // 4 KiB
  using Part = std::array<std::uint64_t, part_slots / word_bits>;

  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace

/// The queries of a snapshot, and what their lists may take.
struct AskedQueries {
  std::vector<QuerySlot> queries{};
  std::vector<Slot> slots{};    ///< slots of `queries`
  std::uint64_t lists = 0;      ///< number of lists of all `queries`
  std::uint64_t neighbors = 0;  ///< the most neighbours of all these lists

  void add(QueryId id, Slot slot, const QueryDefinition& definition, std::uint64_t objects) {
    queries.push_back({id, slot});
    slots.push_back(slot);
    const bool has_many = definition.anchor.kind == AnchorKind::every_object;
    const std::uint64_t of_query = has_many ? objects : 1;
    lists += of_query;
    neighbors += of_query * std::min<std::uint64_t>(definition.k, objects);
  }
};

/// A snapshot that was asked for and is not stored yet.
struct SnapshotRequests::Asked {
  Caller caller;
  SnapshotStore::Place place;
  StreamId stream{};
  std::string name;
  std::uint64_t opening = 0;
  bool is_of_all = false;
  PreparedRequest request;             ///< owner of the memory of `ids`
  std::span<const std::uint64_t> ids;  ///< ids of the queries; empty: all queries
  std::size_t next_id = 0;
  SlotSet seen;  ///< slots of the queries in `ids` so far
  AskedQueries found;
  bool is_out_of_memory = false;
};

void SnapshotRequests::get(const Caller& caller, PreparedRequest& request) {
  const auto& body = std::get<protocol::GetSnapshot>(request.request.body);
  if (body.page != 0) return get_page(caller, body.page);
  const auto stream = tables_.settled().queries().find_stream(body.stream);
  if (!stream) return replies_.refuse(caller, unknown_stream(body.stream));
  if (auto refusal = beyond_quota(caller, 0)) return replies_.refuse(caller, *std::move(refusal));
  // At the limit of memory, one snapshot at a time is allowed, so that each reader gets its turn.
  if (snapshots_.count() > 0 && !tables_.growth().let_grow(0)) {
    auto limit = reached("memory-bytes-max", options_);
    return replies_.refuse(caller,
                           {ErrorCode::busy,
                            "The server's memory is as full as " + to_string(limit) +
                                " allows, and it holds a snapshot already; ask again later.",
                            std::move(limit)});
  }
  begin(caller, request, *stream);
}

void SnapshotRequests::get_page(const Caller& caller, std::uint64_t name) {
  const std::uint64_t number = name >> page_index_bits;
  const std::size_t page = name & ((std::size_t{1} << page_index_bits) - 1);
  const auto snapshot = snapshots_.find(caller.head.session, number, executor_.now_us());
  if (snapshot == nullptr || page >= snapshot->page_count() ||
      !caller.principal->may_use_stream(snapshot->stream))
    return replies_.refuse(
        caller, ErrorCode::page_expired,
        "The server no longer holds the snapshot of this page; start again with page 0.");
  if (pages_.rows_max(caller, 1) == 0) return;
  if (page + 1 == snapshot->page_count()) snapshots_.release(number);
  beside_.submit([this, caller, snapshot, number, page] {
    std::shared_ptr<protocol::Frame> frame;
    try {
      frame = std::make_shared<protocol::Frame>(encode_page(caller, *snapshot, number, page));
    } catch (const std::bad_alloc&) {
      frame = nullptr;
    }
    return [this, caller, frame] {
      if (!frame) return replies_.refuse_for_memory(caller);
      replies_.send(caller, *frame);
    };
  });
}

/// Reserves a place for the snapshot and begins to collect its queries.
void SnapshotRequests::begin(const Caller& caller, PreparedRequest& request, StreamId stream) {
  const auto& body = std::get<protocol::GetSnapshot>(request.request.body);
  const auto asked = std::make_shared<Asked>();
  asked->caller = caller;
  asked->stream = stream;
  asked->name = body.stream;
  asked->opening = publisher_.opening(stream);
  asked->is_of_all = body.query_ids.empty();
  asked->ids = body.query_ids;
  const std::size_t count = asked->is_of_all
                                ? tables_.processor().queries().members_of(stream).size()
                                : asked->ids.size();
  asked->found.queries.reserve(count);
  asked->found.slots.reserve(count);
  asked->place = {caller.head.session, snapshot_owner_of(caller.peer)};
  const auto reservation = snapshots_.reserve(asked->place, executor_.now_us());
  if (!reservation.granted) return replies_.refuse(caller, beyond_places(reservation, 0));
  asked->request = std::move(request);
  request.credit = std::exchange(asked->request.credit, {});
  // Nothing changes the table between two slices, and the engine gets the slots in the last slice.
  // So no slot passes to another query meanwhile.
  const auto collect = [this, asked] {
    try {
      return collect_some(*asked);
    } catch (const std::bad_alloc&) {
      asked->is_out_of_memory = true;
      return true;
    }
  };
  tables_.slice(collect, [this, asked] { read(asked); });
}

/// Collects the next queries of a snapshot. Returns whether all queries are collected now.
bool SnapshotRequests::collect_some(Asked& asked) {
  constexpr std::size_t members_at_once = 2048;
  constexpr std::size_t ids_at_once = 512;
  const Processor& processor = tables_.settled();
  const QueryTable& queries = processor.queries();
  const std::uint64_t objects = processor.objects().alive_count();
  const auto add = [&](QueryId id, Slot slot) {
    asked.found.add(id, slot, queries.definition_of(slot), objects);
  };
  if (asked.is_of_all) {
    const auto members = queries.members_of(asked.stream).subspan(asked.found.queries.size());
    const auto next = members.first(std::min(members.size(), members_at_once));
    for (const QuerySlot& member : next) queries.prefetch(member.slot);
    for (const QuerySlot& member : next) add(member.id, member.slot);
    return next.size() == members.size();
  }
  const auto rest = std::span(asked.ids).subspan(asked.next_id);
  const auto next = rest.first(std::min(rest.size(), ids_at_once));
  for (const std::uint64_t id : next) {
    const Slot slot = queries.find(asked.stream, QueryId{id});
    if (slot == no_slot || !asked.seen.insert(slot)) continue;
    add(QueryId{id}, slot);
  }
  asked.next_id += next.size();
  return next.size() == rest.size();
}

/// Has the engine copy the lists of a snapshot. A thread beside the loop then divides them into
/// pages and encodes the first page.
void SnapshotRequests::read(const std::shared_ptr<Asked>& asked) {
  if (asked->is_out_of_memory) {
    snapshots_.cancel(asked->place);
    return replies_.refuse_for_memory(asked->caller);
  }
  Processor& processor = tables_.settled();
  const ReportWith with = processor.queries().stream(asked->stream).with;
  const std::uint64_t bytes =
      snapshot_bytes(asked->found.lists, asked->found.neighbors, with.position || with.tags);
  const auto taken = snapshots_.take_bytes(asked->place, bytes);
  if (!taken.granted) {
    snapshots_.cancel(asked->place);
    return replies_.refuse(asked->caller, beyond_places(taken, bytes));
  }
  processor.engine().read_lists(
      std::move(asked->found.slots), [this, &executor = executor_, asked](Answers answers) {
        executor.post([this, asked, answers = std::move(answers)]() mutable {
          make(asked, std::move(answers));
        });
      });
}

void SnapshotRequests::make(const std::shared_ptr<Asked>& asked, Answers answers) {
  const Caller& caller = asked->caller;
  if (!answers.error.empty()) {
    snapshots_.cancel(asked->place);
    return replies_.refuse_unanswered(caller, answers);
  }
  const QueryTable& queries = tables_.settled().queries();
  // The stream may have been removed meanwhile, and another stream may have its number.
  if (queries.find_stream(asked->name) != asked->stream ||
      publisher_.opening(asked->stream) != asked->opening) {
    snapshots_.cancel(asked->place);
    return replies_.refuse(caller, unknown_stream(asked->name));
  }
  const ReportWith with = queries.stream(asked->stream).with;
  const std::uint64_t sequence = publisher_.sequence(asked->stream, answers.tick);
  const std::uint64_t number = snapshots_.next_number();
  const std::uint64_t place = place_of(answers.tick);
  const auto copied = std::make_shared<Answers>(std::move(answers));
  beside_.submit([this, asked, with, sequence, number, place, copied] {
    const Caller& to = asked->caller;
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<protocol::Frame> frame;
    try {
      const auto made = std::make_shared<Snapshot>(
          asked->name, with, sequence, std::move(*copied), std::move(asked->found.queries),
          asked->is_of_all, to.peer.in_process ? own_page_bytes_max : protocol::chunk_bytes_max);
      made->place = place;
      snapshot = made;
      frame = std::make_shared<protocol::Frame>(encode_page(to, *snapshot, number, 0));
    } catch (const std::bad_alloc&) {
      frame = nullptr;
    }
    return [this, asked, snapshot, frame, number] { keep(asked, snapshot, frame, number); };
  });
}

/// Stores the snapshot and sends its first page. `first_page` is null if memory has run out.
void SnapshotRequests::keep(const std::shared_ptr<Asked>& asked,
                            const std::shared_ptr<const Snapshot>& snapshot,
                            const std::shared_ptr<protocol::Frame>& first_page,
                            std::uint64_t number) {
  if (!first_page) {
    snapshots_.cancel(asked->place);
    return replies_.refuse_for_memory(asked->caller);
  }
  if (snapshot->page_count() > 1)
    if (auto refusal = beyond_quota(asked->caller, snapshot->bytes())) {
      snapshots_.cancel(asked->place);
      return replies_.refuse(asked->caller, *std::move(refusal));
    }
  snapshots_.pin(asked->place, number, snapshot, executor_.now_us(), asked->caller.principal->id);
  if (snapshot->page_count() == 1) snapshots_.release(number);
  replies_.send_after(asked->caller, *first_page, &AnswerPlaces::end_of_snapshot,
                      snapshot->answers.tick);
}

/// Returns a place of the log after all records that the copied lists depend on. It may be after
/// further records that are on the disk, because no restart loses these.
std::uint64_t SnapshotRequests::place_of(Tick tick) const {
  const Journal* const journal = log_.journal();
  return journal == nullptr
             ? 0
             : std::max(journal->places().end_of_snapshot(tick), journal->commits().durable());
}

/// Any thread may call this function.
protocol::Frame SnapshotRequests::encode_page(const Caller& caller, const Snapshot& snapshot,
                                              std::uint64_t number, std::size_t page) const {
  const bool is_last = page + 1 == snapshot.page_count();
  const protocol::SnapshotHead head{.stream = snapshot.stream,
                                    .epoch = publisher_.epoch(),
                                    .tick = snapshot.answers.tick,
                                    .tau_us = snapshot.answers.tau_us,
                                    .sequence = snapshot.sequence,
                                    .next_page = is_last ? 0 : page_name(number, page + 1),
                                    .list_count = snapshot.reports.size(),
                                    .runs = log_.runs(),
                                    .place = snapshot.place};
  return protocol::encode_snapshot_page(
      caller.reply_head(), head, tables_.space().source_of(snapshot.page(page), snapshot.with));
}

/// Returns the refusal of a snapshot that would need up to `bytes`; 0: the bytes are not known yet.
protocol::Problem SnapshotRequests::beyond_places(const SnapshotStore::Reservation& refused,
                                                  std::uint64_t bytes) const {
  auto limit = reached(refused.limit, options_);
  const std::string again =
      "ask again in " + std::to_string(refused.retry_after_us / 1000 + 1) + " ms";
  if (bytes == 0)
    return {ErrorCode::busy,
            "There are as many snapshots as " + to_string(limit) + " allows; " + again + ".",
            std::move(limit)};
  const std::string needed =
      "The snapshot may need " + std::to_string(bytes) + " bytes, by the k of its queries, ";
  if (refused.retry_after_us == 0)
    return {ErrorCode::too_many_rows,
            needed + "which is more than " + to_string(limit) +
                " allows; ask for fewer queries (query_ids), or start the server with a larger --" +
                limit.name + ".",
            std::move(limit)};
  return {ErrorCode::busy,
          needed + "and the snapshots that are held or copied leave fewer than " +
              to_string(limit) + " allows; read the last page of those that you have begun, or " +
              again + ".",
          std::move(limit)};
}

/// Returns the refusal if a snapshot of `more_bytes` would exceed the principal's quota. 0: returns
/// the refusal only if the quota is used up already.
std::optional<protocol::Problem> SnapshotRequests::beyond_quota(const Caller& caller,
                                                                std::uint64_t more_bytes) const {
  const auto& quota_bytes = caller.principal->quotas.snapshot_bytes;
  if (!quota_bytes) return std::nullopt;
  const std::uint64_t held = snapshots_.bytes_of(caller.principal->id);
  if (more_bytes == 0 ? held < *quota_bytes : held + more_bytes <= *quota_bytes)
    return std::nullopt;
  auto quota = reached_quota("snapshot_bytes", *quota_bytes);
  std::string sentence = "The snapshots of \"" + caller.principal->name + "\" would exceed " +
                         to_string(quota) +
                         "; read the last page of those that you have begun, ask for fewer "
                         "queries, or " +
                         quota_text(*caller.principal, quota) + ".";
  // A snapshot that never fits must not be asked for again and again.
  const bool may_fit_later = held > 0 && more_bytes <= *quota_bytes;
  return protocol::Problem{may_fit_later ? ErrorCode::busy : ErrorCode::too_many_rows,
                           std::move(sentence), std::move(quota)};
}

}  // namespace starling::stream
