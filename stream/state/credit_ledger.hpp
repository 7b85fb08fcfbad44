// SPDX-License-Identifier: Apache-2.0
// Counts the rows and bytes of unanswered batches of each session, and limits them. A decode worker
// takes credit before it converts the rows of a batch; the loop gives the credit back when it
// answers. Any thread may call any method.
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

  explicit CreditLedger(Credit granted) : granted_(granted) {}

  const Credit& granted() const { return granted_; }
  /// Returns the most rows and the most bytes that any session has taken. The rows may be of one
  /// session and the bytes of another.
  Credit most_taken() const;

  void open(std::uint64_t session);
  void close(std::uint64_t session);

  Taken take(std::uint64_t session, Credit amount);
  /// Gives back what take() has taken. Does nothing if the session was closed meanwhile.
  void give_back(std::uint64_t session, Credit amount);

 private:
  Credit granted_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Credit> taken_;
};

}  // namespace starling::stream
