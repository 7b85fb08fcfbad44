// SPDX-License-Identifier: Apache-2.0
// What the server keeps for sessions beside SessionTable. Callers owns it.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/page_rate.hpp"
#include "starling/stream/state/snapshot_store.hpp"
#include "starling/stream/state/subscriber_losses.hpp"

namespace starling::stream {

struct SessionStores {
  std::shared_ptr<CreditLedger> credit;  ///< shared with requests that may outlive the stores
  SnapshotStore snapshots;
  PageRate pages;
  SubscriberLosses losses{};

  /// Drops all that is kept for the session. Call it when SessionTable has forgotten the session.
  void forget(std::uint64_t session) {
    credit->close(session);
    snapshots.drop_session(session);
    pages.drop_session(session);
    losses.drop_session(session);
  }
};

}  // namespace starling::stream
