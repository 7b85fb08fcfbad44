// SPDX-License-Identifier: Apache-2.0
// How many rows and bytes of unanswered batches each session has, which bounds a producer. Decode
// workers take credit before they convert a batch's rows; the loop gives it back with the answer.
// Safe from any thread.
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
  /// The most rows of any session, and the most bytes of any.
  Credit most_taken() const;

  void open(std::uint64_t session);
  void close(std::uint64_t session);

  Taken take(std::uint64_t session, Credit amount);
  /// What was taken before; a session closed meanwhile is no error.
  void give_back(std::uint64_t session, Credit amount);

 private:
  Credit granted_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Credit> taken_;
};

}  // namespace starling::stream
