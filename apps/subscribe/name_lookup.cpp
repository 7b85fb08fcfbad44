// SPDX-License-Identifier: Apache-2.0
// The thread that asks for names in batches, and the wait for its answers: see name_lookup.hpp. If
// a server does not answer, the thread asks again. If a server refuses or sends no names, the
// thread stops asking. Called by apps/subscribe/subscribe.cpp.
#include "starling/apps/subscribe/name_lookup.hpp"

#include <utility>
#include <vector>

namespace starling::apps {
namespace {

// The time between two requests that ask whether the server has new names.
constexpr std::chrono::seconds news_interval{2};

}  // namespace

NameLookup::NameLookup(protocol::ClientOptions client)
    : options_(std::move(client)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

NameLookup::~NameLookup() {
  thread_.request_stop();
  zmq_.shutdown();  // ends the request that the thread waits for
}

void NameLookup::with_names(std::span<const std::uint64_t> ids, const std::function<void()>& use) {
  std::unique_lock lock(mutex_);
  for (const std::uint64_t id : ids) cache_.want(id);
  if (!cache_.is_complete()) {
    changed_.notify_all();
    if (!changed_.wait_for(lock, wait_max, [&] { return is_late_ || cache_.is_complete(); }))
      is_late_ = true;
  }
  use();
}

void NameLookup::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) try {
      protocol::Client client(zmq_, options_);
      ask_on(stop, client);
      return;
    } catch (const protocol::TimeoutError&) {
      const std::scoped_lock lock(mutex_);
      cache_.unanswered();
      is_late_ = true;
      changed_.notify_all();
    } catch (const zmq::error_t&) {
      return;  // the context was shut down
    } catch (const protocol::EndpointError&) {
      break;
    } catch (const protocol::KeyError&) {
      break;
    } catch (const protocol::RefusedError&) {
      break;
    }
  const std::scoped_lock lock(mutex_);
  cache_.give_up();
  changed_.notify_all();
}

void NameLookup::ask_on(const std::stop_token& stop, protocol::Client& client) {
  while (!stop.stop_requested()) {
    const std::size_t count_max = client.server().limits.names_asked_max;
    std::unique_lock lock(mutex_);
    const std::vector<std::uint64_t> ids = cache_.next_asked(count_max);
    lock.unlock();
    const auto answers = count_max == 0 ? protocol::Problem{} : client.get_names(ids);
    lock.lock();
    if (!answers) {
      cache_.give_up();  // an older server without GetNames
      changed_.notify_all();
      return;
    }
    cache_.answered(ids, *answers);
    if (cache_.is_complete()) {
      is_late_ = false;
      changed_.notify_all();
    }
    changed_.wait_for(lock, stop, news_interval, [&] { return cache_.has_wanted(); });
  }
}

}  // namespace starling::apps
