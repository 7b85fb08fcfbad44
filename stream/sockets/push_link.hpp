// SPDX-License-Identifier: Apache-2.0
// A connection on which only the server speaks, as FollowedStream uses it: an interface, so that
// tests have readers without sockets. PushConnection is the program's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace starling::stream {

class PushLink {
 public:
  using Text = std::shared_ptr<const std::string>;

  struct Handlers {
    std::function<void()> sent;   ///< the system has taken all bytes of send()
    std::function<void()> ended;  ///< the connection is closed; no handler is called after it
  };
  /// Makes a connection of one that was handed over. Call it once, on the thread that serves it.
  using Make = std::function<std::shared_ptr<PushLink>(Handlers)>;

  virtual ~PushLink() = default;
  PushLink(const PushLink&) = delete;
  PushLink& operator=(const PushLink&) = delete;

  /// Begins to read, to notice when the peer leaves. Call it once.
  virtual void start() = 0;
  /// Sends the texts one after another. Call it only if is_idle().
  virtual void send(std::vector<Text> texts) = 0;
  /// Returns true if nothing is being sent.
  virtual bool is_idle() const = 0;
  /// Returns when the system last took bytes for the peer, in microseconds of the steady clock.
  virtual std::int64_t progress_us() const = 0;
  /// Closes the connection when the system has taken all bytes of send().
  virtual void finish() = 0;
  virtual void close() = 0;

 protected:
  PushLink() = default;
};

}  // namespace starling::stream
