// SPDX-License-Identifier: Apache-2.0
// Counts the rows and bytes of the unanswered batches of each session, and limits both. Credit is
// taken before the rows of a batch are converted, mostly by a decode worker. The loop gives the
// credit back when it has handled the batch. Any thread may call any function.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace starling::stream {

struct Credit {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

class CreditLedger {
 public:
  enum class Taken : std::uint8_t {
    taken,
    beyond_rows,      ///< nothing was taken
    beyond_bytes,     ///< nothing was taken
    unknown_session,  ///< nothing was taken
  };

  /// `granted` is the most that each session may have taken at a time.
  explicit CreditLedger(Credit granted) : granted_(granted) {}

  const Credit& granted() const { return granted_; }
  /// Returns the most rows that any session has taken now, and the most bytes. The two numbers may
  /// belong to different sessions.
  Credit most_taken() const;

  /// Returns whether the session has taken credit and not given all of it back.
  bool has_taken(std::uint64_t session) const;

  void open(std::uint64_t session);
  void close(std::uint64_t session);

  Taken take(std::uint64_t session, Credit amount);
  /// Gives back credit that take() has taken. Does nothing if the session was closed meanwhile.
  void give_back(std::uint64_t session, Credit amount);

 private:
  Credit granted_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Credit> taken_;
};

}  // namespace starling::stream
