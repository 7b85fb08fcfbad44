// SPDX-License-Identifier: Apache-2.0
// Adds up replies and prints the sums: see row_totals.hpp.
#include "starling/apps/shared/server/row_totals.hpp"

#include <stdexcept>

#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::apps {

void RowTotals::add_rejected(const std::string& name, const std::string& sentence,
                             std::uint64_t count) {
  if (count == 0) return;
  rejected += count;
  Reason& reason = reasons[name];
  if (reason.count == 0) reason.sentence = sentence;
  reason.count += count;
}

void RowTotals::add(const protocol::BatchTotals& totals) {
  if (totals.first_refusal) throw std::runtime_error(refusal_text(*totals.first_refusal));
  accepted += totals.accepted;
  late += totals.late;
  std::uint64_t known = 0;
  for (std::size_t at = 0; at < totals.rejected_by_reason.size(); ++at) {
    const auto reason = static_cast<protocol::RowReason>(at);
    known += totals.rejected_by_reason[at];
    add_rejected(std::string(to_string(reason)), rejection_text(reason, totals.limit_by_reason[at]),
                 totals.rejected_by_reason[at]);
  }
  // A newer server may have reasons that this program does not know.
  add_rejected("unknown", rejection_text(protocol::RowReason{255}, {}), totals.rejected - known);
}

void RowTotals::add(const protocol::BatchReply& reply) {
  protocol::BatchTotals totals{
      .accepted = reply.accepted, .late = reply.late, .rejected = reply.rejected};
  for (const protocol::ReasonCount& each : reply.reasons) {
    if (each.reason > protocol::last_row_reason) continue;
    totals.rejected_by_reason[static_cast<std::size_t>(each.reason)] += each.count;
    totals.limit_by_reason[static_cast<std::size_t>(each.reason)] = each.limit;
  }
  add(totals);
}

void print_totals(const RowTotals& totals, bool json, std::ostream& out) {
  if (json) {
    JsonText line;
    line.begin_object().number("accepted", totals.accepted).number("late", totals.late);
    line.number("rejected", totals.rejected).key("reasons").begin_object();
    for (const auto& [name, reason] : totals.reasons) line.number(name, reason.count);
    out << line.end_object().end_object().take() << '\n';
    return;
  }
  out << totals.accepted << " accepted, " << totals.late << " late, " << totals.rejected
      << " rejected\n";
  if (totals.late > 0) out << "  late: " << rejection_text(protocol::RowReason::late, {}) << '\n';
  for (const auto& [name, reason] : totals.reasons)
    out << "  " << reason.count << " rejected: " << plain_text(reason.sentence) << '\n';
}

}  // namespace starling::apps
