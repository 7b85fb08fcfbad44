// SPDX-License-Identifier: Apache-2.0
// Divides the work between the loop and the thread: see event_hub.hpp. Only functions that are
// posted to the thread use what the thread owns. The loop waits for the thread only in the
// destructor.
#include "starling/stream/events/event_hub.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "starling/stream/events/followed_stream.hpp"
#include "starling/stream/events/snapshot_fetch.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/pools/own_thread.hpp"
#include "starling/stream/sockets/moved_socket.hpp"
#include "starling/stream/sockets/push_connection.hpp"

namespace starling::stream {

namespace asio = boost::asio;

namespace {

constexpr PlaceWords place_words{"readers of events", "http-events-max", "event_readers"};

std::shared_ptr<Places> places_of(const EventHub::Parts& parts) {
  return std::make_shared<Places>(
      PlacesOptions{.places_max = parts.limits.readers_max, .quota = parts.quota});
}

/// Counts a reader among those of its stream, and holds its place, until it is destroyed.
struct Slot {
  using Count = std::shared_ptr<std::atomic<unsigned>>;
  Slot(std::shared_ptr<const HeldPlace> held, Count stream_readers)
      : place(std::move(held)), of_stream(std::move(stream_readers)) {
    ++*of_stream;
  }
  ~Slot() { --*of_stream; }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  std::shared_ptr<const HeldPlace> place;
  Count of_stream;
};

std::int64_t beat_period_us(const EventLimits& limits) {
  constexpr std::int64_t least_us = 5'000;
  constexpr std::int64_t most_us = 250'000;
  const std::int64_t shortest_us = std::min(limits.heartbeat_us, limits.stall_us);
  return std::clamp(shortest_us / 4, least_us, most_us);
}

/// Returns what makes a connection of `socket` on the thread.
PushLink::Make connection_of(OwnThread& thread, asio::ip::tcp::socket socket) {
  const auto moved = moved_to(thread.context(), std::move(socket));
  if (moved == nullptr) return {};
  return [moved](PushLink::Handlers handlers) {
    return std::make_shared<PushConnection>(std::move(*moved), std::move(handlers));
  };
}

}  // namespace

/// What the loop keeps for a stream that has readers, or had some a short time ago.
struct EventHub::Followed {
  std::shared_ptr<FollowedStream> stream;  ///< only the thread calls its functions
  std::shared_ptr<std::atomic<unsigned>> readers = std::make_shared<std::atomic<unsigned>>(0);
  /// Bytes of the messages that wait for the thread.
  std::shared_ptr<std::atomic<std::size_t>> waiting_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  /// Time of the thread's clock when expire() first found no readers after the last one came; 0: it
  /// has not found this.
  std::int64_t idle_since_us = 0;
};

struct EventHub::Thread {
  Thread(const Parts& parts, Beside beside, std::unique_ptr<OwnThread> owned = nullptr)
      : limits(parts.limits),
        form{coordinate_names(parts.space), parts.name_of},
        own(std::move(owned)),
        executor(beside.thread),
        move(std::move(beside.move)),
        timer(executor.make_timer()),
        snapshots({.loop = parts.loop,
                   .beside = executor,
                   .send = parts.send,
                   .reply_owner = parts.reply_owner,
                   .form = form,
                   .bytes_max = parts.limits.bytes_max}) {}
  ~Thread() {
    if (own != nullptr) own->join();
  }

  template <class Work>
  void post(Work work) {
    executor.post(std::move(work));
  }

  void add(const std::shared_ptr<FollowedStream>& stream) {
    if (is_closed) return;
    streams.insert(stream);
    if (streams.size() == 1) beat_later();
  }

  void close() {
    is_closed = true;
    timer->cancel();
    for (const auto& stream : streams) stream->close();
    streams.clear();
  }

  void beat_later() {
    timer->cancel();  // the timer still waits if the last stream left and another came
    timer->wait_until(executor.now_us() + beat_period_us(limits), [this] {
      if (is_closed || streams.empty()) return;
      for (const auto& stream : streams) stream->beat(executor.now_us());
      std::erase_if(streams, [](const auto& stream) { return stream->is_over(); });
      if (!streams.empty()) beat_later();
    });
  }

  EventLimits limits;
  ListForm form;
  EventCounts counts;
  std::unique_ptr<OwnThread> own;  ///< null in tests
  Executor& executor;
  std::function<PushLink::Make(HandedOver)> move;
  std::unique_ptr<Timer> timer;
  std::unordered_set<std::shared_ptr<FollowedStream>> streams;
  bool is_closed = false;
  SnapshotFetch snapshots;  ///< only the loop calls its functions
};

EventHub::EventHub(Parts parts) : parts_(std::move(parts)), places_(places_of(parts_)) {
  auto own = std::make_unique<OwnThread>();
  const Beside beside{.thread = own->executor(),
                      .move = [thread = own.get()](HandedOver connection) {
                        return connection_of(*thread, std::move(connection.socket));
                      }};
  thread_ = std::make_unique<Thread>(parts_, beside, std::move(own));
}

EventHub::EventHub(Parts parts, Beside beside)
    : parts_(std::move(parts)),
      places_(places_of(parts_)),
      thread_(std::make_unique<Thread>(parts_, std::move(beside))) {}

EventHub::~EventHub() {
  close();
}

void EventHub::get_lists(ListsQuestion question, HttpRespond respond) {
  const std::string stream = question.stream;
  thread_->snapshots.fetch(
      std::move(question.reader), stream, std::move(question.query_ids),
      [this, stream, respond](SnapshotFetch::Result result) {
        if (result.problem) return respond(problem_answer(*result.problem));
        thread_->post([this, stream, respond, snapshot = std::move(result.snapshot)] {
          const auto body = std::make_shared<std::string>(json_of(stream, *snapshot));
          asio::post(parts_.loop, [respond, body] {
            respond({.content_type = "application/json", .body = std::move(*body)});
          });
        });
      });
}

void EventHub::get_events(EventsQuestion question, HttpRespond respond) {
  if (const auto fault = parts_.fault_of_stream(question.stream))
    return respond(problem_answer(*fault));
  if (is_closed_) return respond(stopping_answer());
  const std::uint64_t number = ++last_reader_;
  const Places::Taken taken =
      places_->take(number, owner_of(question.reader.principal, question.address));
  if (taken.outcome != Places::Outcome::taken) return respond(no_place_answer(place_words, taken));
  auto place = std::make_shared<const HeldPlace>(places_, number);
  if (taken.gave_way)
    thread_->post([thread = thread_.get(), reader = *taken.gave_way] {
      for (const auto& stream : thread->streams) stream->cut(reader);
    });
  const Followed& followed = follow(question.stream);
  const auto slot = std::make_shared<const Slot>(std::move(place), followed.readers);
  // Without this field, nginx would hold events back until its buffer is full.
  HttpAnswer answer{
      .content_type = "text/event-stream", .body = {}, .fields = {{"X-Accel-Buffering", "no"}}};
  answer.hand_over = [this, slot, number, reader = question.reader, cuts = cuts_,
                      stream = std::weak_ptr(followed.stream),
                      last_event_id = question.last_event_id](HandedOver connection) {
    if (cuts != cuts_) return;  // cut() may have meant this reader; if not, it reconnects
    auto moved = thread_->move(std::move(connection));
    if (!moved) return;
    thread_->post([this, slot, number, reader, stream, last_event_id, moved = std::move(moved)] {
      const auto held = stream.lock();
      if (held && !thread_->is_closed && places_->has(number))
        held->add(moved, number, reader, last_event_id, slot);
    });
  };
  respond(std::move(answer));
}

/// Returns the stream for a reader that comes.
EventHub::Followed& EventHub::follow(const std::string& stream) {
  const auto found = followed_.find(stream);
  if (found != followed_.end()) {
    found->second->idle_since_us = 0;  // the reader may leave before expire() sees it
    return *found->second;
  }
  const auto is_full = [this] { return followed_.size() >= parts_.limits.readers_max; };
  // expire() also notes which streams have become idle.
  if (is_full()) expire(thread_->executor.now_us());
  if (is_full()) forget_longest_idle();
  auto followed = std::make_unique<Followed>();
  followed->stream = std::make_shared<FollowedStream>(
      stream,
      FollowedStream::Parts{.executor = thread_->executor,
                            .limits = thread_->limits,
                            .form = thread_->form,
                            .counts = thread_->counts,
                            .epoch = parts_.epoch,
                            .runs = parts_.runs(),
                            .fetch = [this](const std::weak_ptr<FollowedStream>& of,
                                            const ListsReader& reader) { fetch(of, reader); }});
  thread_->post([this, added = followed->stream] { thread_->add(added); });
  return *followed_.emplace(stream, std::move(followed)).first->second;
}

/// The thread calls this function.
void EventHub::fetch(const std::weak_ptr<FollowedStream>& stream, const ListsReader& reader) {
  asio::post(parts_.loop, [this, reader, name = stream.lock()->name(), stream] {
    thread_->snapshots.fetch(reader, name, {}, [this, stream](SnapshotFetch::Result result) {
      thread_->post([stream, result = std::move(result)] {
        if (const auto held = stream.lock()) held->take(result);
      });
    });
  });
}

void EventHub::publish(std::string_view stream, const protocol::TickHeader& header,
                       const protocol::TickMessage& message) {
  const auto found = followed_.find(stream);
  if (found == followed_.end()) return;
  Followed& followed = *found->second;
  // If too many bytes wait for the thread, the tick is lost, and the readers get a gap.
  std::size_t bytes = message.bytes();
  std::optional<protocol::TickMessage> kept;
  if (*followed.waiting_bytes + bytes <= parts_.limits.bytes_max)
    kept = message;
  else
    bytes = 0;
  *followed.waiting_bytes += bytes;
  thread_->post([to = followed.stream, waiting = followed.waiting_bytes, bytes, header,
                 kept = std::move(kept)]() mutable {
    *waiting -= bytes;
    to->publish(header, std::move(kept));
  });
  if (header.stream_removed) forget(found);
}

void EventHub::expire(std::int64_t now_us) {
  for (auto entry = followed_.begin(); entry != followed_.end();) {
    const auto next = std::next(entry);
    Followed& followed = *entry->second;
    if (*followed.readers > 0)
      followed.idle_since_us = 0;
    else if (followed.idle_since_us == 0)
      followed.idle_since_us = now_us;
    else if (now_us - followed.idle_since_us >= parts_.limits.linger_us)
      leave(entry);
    entry = next;
  }
}

void EventHub::forget_longest_idle() {
  auto oldest = followed_.end();
  for (auto entry = followed_.begin(); entry != followed_.end(); ++entry) {
    if (*entry->second->readers > 0) continue;
    if (oldest == followed_.end() || entry->second->idle_since_us < oldest->second->idle_since_us)
      oldest = entry;
  }
  if (oldest != followed_.end()) leave(oldest);
}

/// Stops following a stream without readers.
void EventHub::leave(Streams::iterator entry) {
  thread_->post([this, left = entry->second->stream] { thread_->streams.erase(left); });
  forget(entry);
}

/// Stops following a stream. The thread still serves the stream's readers.
void EventHub::forget(Streams::iterator entry) {
  // The thread must destroy the stream, because it uses the stream's connections.
  thread_->post([owned = std::move(entry->second->stream)] {});
  followed_.erase(entry);
}

void EventHub::cut(const std::function<bool(zmtp::PrincipalId)>& is_meant) {
  ++cuts_;
  thread_->post([thread = thread_.get(), is_meant] {
    for (const auto& stream : thread->streams) stream->cut(is_meant);
  });
}

void EventHub::close() {
  if (std::exchange(is_closed_, true)) return;
  while (!followed_.empty()) forget(followed_.begin());
  thread_->post([thread = thread_.get()] { thread->close(); });
}

const EventCounts& EventHub::counts() const {
  return thread_->counts;
}

}  // namespace starling::stream
