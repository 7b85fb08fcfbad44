// SPDX-License-Identifier: Apache-2.0
// The subscriptions of one I/O thread's subscribers, and the messages that wait for each
// subscriber. ResultsSocket has Subscriptions for each of its I/O threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace starling::stream {

/// The type of connections is a parameter, so that tests need no sockets.
template <class Connection>
class Subscriptions {
 public:
  struct Subscriber {
    Connection* connection = nullptr;
    std::set<std::string, std::less<>> topics;
    std::size_t topic_bytes = 0;
    std::size_t waiting_bytes = 0;
    std::size_t waiting_messages = 0;
    std::uint64_t last_message = 0;  ///< the number of the last message that matched
  };

  Subscriber& add(std::uint64_t number, Connection& connection) {
    Subscriber& subscriber = subscribers_[number];
    subscriber.connection = &connection;
    return subscriber;
  }
  Subscriber* find(std::uint64_t number) {
    const auto found = subscribers_.find(number);
    return found == subscribers_.end() ? nullptr : &found->second;
  }
  void remove(std::uint64_t number) {
    const auto found = subscribers_.find(number);
    if (found == subscribers_.end()) return;
    for (const std::string& topic : found->second.topics) unlist(topic, found->second);
    subscribers_.erase(found);
  }

  /// Returns false, and does nothing, if the subscriber has the topic already.
  bool join(Subscriber& subscriber, std::string_view topic) {
    if (!subscriber.topics.emplace(topic).second) return false;
    subscriber.topic_bytes += topic.size();
    listed_[std::string(topic)].push_back(&subscriber);
    ++sizes_[topic.size()];
    return true;
  }
  /// Returns false, and does nothing, if the subscriber does not have the topic.
  bool leave(Subscriber& subscriber, std::string_view topic) {
    const auto found = subscriber.topics.find(topic);
    if (found == subscriber.topics.end()) return false;
    unlist(*found, subscriber);
    subscriber.topic_bytes -= topic.size();
    subscriber.topics.erase(found);
    return true;
  }

  /// Calls `take` once for each subscriber that has subscribed to a text that `topic` begins with.
  template <class Take>
  void match(std::string_view topic, const Take& take) {
    ++messages_;
    for (const auto& [size, count] : sizes_) {
      if (size > topic.size()) return;
      const auto found = listed_.find(topic.substr(0, size));
      if (found == listed_.end()) continue;
      for (Subscriber* const subscriber : found->second) {
        if (subscriber->last_message == messages_) continue;
        subscriber->last_message = messages_;
        take(*subscriber);
      }
    }
  }

 private:
  void unlist(const std::string& topic, Subscriber& subscriber) {
    const auto listed = listed_.find(topic);
    std::erase(listed->second, &subscriber);
    if (listed->second.empty()) listed_.erase(listed);
    const auto size = sizes_.find(topic.size());
    if (--size->second == 0) sizes_.erase(size);
  }

  std::unordered_map<std::uint64_t, Subscriber> subscribers_;  ///< addresses of values stay valid
  // A tree, because peers choose the topics and could choose them to collide in a hash table.
  std::map<std::string, std::vector<Subscriber*>, std::less<>> listed_;
  std::map<std::size_t, std::size_t> sizes_;  ///< number of subscriptions, by the topic's size
  std::uint64_t messages_ = 0;
};

}  // namespace starling::stream
