// SPDX-License-Identifier: Apache-2.0
// One mutex guards all counts: see credit_ledger.hpp. prepare.cpp takes credit. The
// families of requests open and close the sessions' accounts, and give credit back.
#include "starling/stream/state/credit_ledger.hpp"

#include <algorithm>

#include "starling/knn/base/assert.hpp"

namespace starling::stream {

void CreditLedger::open(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  taken_.try_emplace(session);
}

void CreditLedger::close(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  taken_.erase(session);
}

bool CreditLedger::has_taken(std::uint64_t session) const {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(session);
  return found != taken_.end() && found->second.bytes > 0;
}

Credit CreditLedger::most_taken() const {
  const std::lock_guard lock(mutex_);
  Credit most;
  for (const auto& [session, taken] : taken_)
    most = {std::max(most.rows, taken.rows), std::max(most.bytes, taken.bytes)};
  return most;
}

CreditLedger::Taken CreditLedger::take(std::uint64_t session, Credit amount) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(session);
  if (found == taken_.end()) return Taken::unknown_session;
  Credit& taken = found->second;
  if (amount.rows > granted_.rows - taken.rows) return Taken::beyond_rows;
  if (amount.bytes > granted_.bytes - taken.bytes) return Taken::beyond_bytes;
  taken.rows += amount.rows;
  taken.bytes += amount.bytes;
  return Taken::taken;
}

void CreditLedger::give_back(std::uint64_t session, Credit amount) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(session);
  if (found == taken_.end()) return;
  Credit& taken = found->second;
  check_invariant(amount.rows <= taken.rows && amount.bytes <= taken.bytes,
                  "no more credit comes back than was taken");
  taken.rows -= amount.rows;
  taken.bytes -= amount.bytes;
}

}  // namespace starling::stream
