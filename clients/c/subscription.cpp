// SPDX-License-Identifier: Apache-2.0
// The functions of starling.h for a subscription to a stream. The events of one poll wait in a
// queue until the caller takes them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "starling/clients/c/client_options.hpp"
#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/result.hpp"
#include "starling/clients/c/starling.h"
#include "starling/clients/c/structs.hpp"
#include "starling/protocol/client/subscriber.hpp"

namespace starling::c {
namespace {

struct Event {
  starling_event_kind kind = STARLING_EVENT_NONE;
  std::uint64_t ticks = 0;
  std::unique_ptr<ResultHandle> result{};
};

class SubscriptionHandle final : public Handle {
 public:
  explicit SubscriptionHandle(protocol::SubscriberOptions options)
      : stream_(options.subscription.stream),
        subscriber_(zmq_context(), std::move(options), handlers()) {}

  Event next(std::int64_t timeout_ms) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    while (events_.empty()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      subscriber_.poll(std::clamp<std::int64_t>(left.count(), 0, poll_ms_max));
      if (events_.empty() && Clock::now() >= deadline) return {};
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  const char* obstacle() const { return subscriber_.obstacle().c_str(); }
  const char* obstacle_name() const {
    const protocol::ErrorCode code = subscriber_.obstacle_code();
    return code == protocol::ErrorCode::none ? "" : to_string(code).data();
  }

  std::unique_ptr<ResultHandle> lists() const {
    const auto& held_at = subscriber_.state().held_at();
    if (!held_at)
      fail(STARLING_REFUSED,
           "No lists are held yet; call starling_subscription_next until it returns a snapshot.");
    return all_lists(*held_at);
  }

 private:
  // Longest wait of one poll. The subscriber reports to the server and retries at longer intervals.
  static constexpr std::int64_t poll_ms_max = 100;

  protocol::SubscriptionHandlers handlers() {
    return {.replaced =
                [this](const protocol::HeldAt& at) {
                  // The snapshot replaces all earlier snapshots and ticks, so the caller need not
                  // read them.
                  std::erase_if(events_, [](const Event& event) {
                    return event.kind == STARLING_EVENT_TICK ||
                           event.kind == STARLING_EVENT_SNAPSHOT;
                  });
                  events_.push_back({.kind = STARLING_EVENT_SNAPSHOT, .result = all_lists(at)});
                },
            .applied =
                [this](const protocol::DecodedTick& tick) {
                  if (tick.header.failed) return;  // the lists stay as they are
                  events_.push_back({.kind = STARLING_EVENT_TICK, .result = changes(tick)});
                },
            .lost =
                [this](std::uint64_t ticks) {
                  events_.push_back({.kind = STARLING_EVENT_LOST, .ticks = ticks});
                },
            .restarted = [this] { events_.push_back({.kind = STARLING_EVENT_RESTARTED}); }};
  }

  std::unique_ptr<ResultHandle> all_lists(const protocol::HeldAt& at) const {
    auto result = std::make_unique<ResultHandle>();
    result->info.epoch = at.epoch;
    result->info.tick = to_number(at.tick);
    result->info.tau_us = at.tau_us;
    const protocol::ListStore& lists = subscriber_.state().lists();
    std::vector<const protocol::ListStore::value_type*> sorted;
    sorted.reserve(lists.size());
    for (const auto& entry : lists) sorted.push_back(&entry);
    std::ranges::sort(sorted, {}, [](const auto* entry) { return entry->first; });
    ListArrays arrays(stream_, at.with);
    for (const auto* entry : sorted) arrays.add(entry->first, entry->second);
    result->streams.push_back(std::move(arrays));
    return result;
  }

  std::unique_ptr<ResultHandle> changes(const protocol::DecodedTick& tick) const {
    auto result = std::make_unique<ResultHandle>();
    result->info.epoch = tick.header.epoch;
    result->info.tick = to_number(tick.header.tick);
    result->info.tau_us = tick.header.tau_us;
    result->info.object_count = tick.header.object_count;
    ListArrays arrays(stream_, tick.header.with);
    if (tick.header.stream_removed) arrays.set_last();
    for (const protocol::ListChunk& chunk : tick.chunks)
      arrays.add(chunk, [this](const protocol::ListKey& key) {
        return subscriber_.state().is_wanted(key);
      });
    result->streams.push_back(std::move(arrays));
    return result;
  }

  std::string stream_;
  std::deque<Event> events_;
  protocol::Subscriber subscriber_;
};

using Subscription = Use<SubscriptionHandle>;

protocol::SubscriberOptions subscriber_options(const starling_subscription_options& given) {
  protocol::SubscriberOptions options{.results = given.results == nullptr
                                                     ? std::string()
                                                     : text_of(given.results, "options.results"),
                                      .client = client_options({.commands = given.commands,
                                                                .name = given.name,
                                                                .timeout_ms = given.timeout_ms,
                                                                .key_file = given.key_file,
                                                                .server_key = given.server_key})};
  options.subscription.stream = stream_name_of(given.stream);
  const auto queries = array_of(given.query_ids, given.query_count, "options.query_ids");
  options.subscription.query_ids.assign(queries.begin(), queries.end());
  const auto subjects = array_of(given.subject_ids, given.subject_count, "options.subject_ids");
  options.subscription.subject_ids.assign(subjects.begin(), subjects.end());
  return options;
}

}  // namespace
}  // namespace starling::c

using namespace starling;

starling_code starling_subscription_options_init(starling_subscription_options* options,
                                                 size_t size) {
  return c::guard([&] {
    c::init_struct(options, size, "starling_subscription_options",
                   starling_subscription_options{.size = 0,
                                                 .commands = "tcp://127.0.0.1:7411",
                                                 .results = nullptr,
                                                 .name = "libstarling",
                                                 .timeout_ms = 30'000,
                                                 .stream = nullptr,
                                                 .query_ids = nullptr,
                                                 .query_count = 0,
                                                 .subject_ids = nullptr,
                                                 .subject_count = 0,
                                                 .key_file = nullptr,
                                                 .server_key = nullptr});
  });
}

starling_code starling_subscription_open(const starling_subscription_options* options,
                                         starling_subscription** subscription) {
  return c::guard([&] {
    c::check_place(subscription, "subscription");
    const auto given = c::read_struct(options, "options");
    c::give(std::make_unique<c::SubscriptionHandle>(c::subscriber_options(given)), subscription);
  });
}

starling_code starling_subscription_close(starling_subscription* subscription) {
  return c::destroy<c::SubscriptionHandle>(subscription);
}

starling_code starling_subscription_next(starling_subscription* subscription, int64_t timeout_ms,
                                         starling_event* event, starling_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    const c::Subscription use(subscription);
    c::size_of(event, "event");
    constexpr std::int64_t day_ms = 86'400'000;
    if (timeout_ms < 0 || timeout_ms > day_ms)
      c::fail(STARLING_INVALID_ARGUMENT, "timeout_ms is " + std::to_string(timeout_ms) +
                                             "; it must be 0 to " + std::to_string(day_ms) + ".");
    c::Event next = use->next(timeout_ms);
    c::write_struct(event, "event",
                    starling_event{.size = 0,
                                   .kind = next.kind,
                                   .ticks = next.ticks,
                                   .obstacle = use->obstacle(),
                                   .obstacle_name = use->obstacle_name()});
    if (next.result) c::give(std::move(next.result), result);
  });
}

starling_code starling_subscription_lists(starling_subscription* subscription,
                                          starling_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    c::give(c::Subscription(subscription)->lists(), result);
  });
}
