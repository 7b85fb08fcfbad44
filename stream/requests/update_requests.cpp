// SPDX-License-Identifier: Apache-2.0
// Hands updates to the tables and answers them: see update_requests.hpp.
#include "starling/stream/requests/update_requests.hpp"

#include <span>
#include <utility>
#include <variant>

#include "starling/protocol/rows/row_outcomes.hpp"

namespace starling::stream {

/// An update of objects that is admitted and not applied yet.
class UpdateRequests::Pending final : public WaitingUpdate {
 public:
  Pending(UpdateRequests& requests, const Caller& by, std::size_t row_count, std::size_t bytes)
      : WaitingUpdate(row_count, bytes), caller(by), requests_(requests) {}

  protocol::PreparedRows& rows() override { return request.rows; }
  void applied(const GroupOutcome& outcome) override { requests_.answer(*this, outcome); }

  const Caller caller;
  PreparedRequest request{};

 private:
  UpdateRequests& requests_;
};

bool UpdateRequests::add(const Caller& caller, PreparedRequest& request) {
  const auto* const points = std::get_if<protocol::RowSet<ObjectUpdate>>(&request.rows);
  const auto* const vectors = std::get_if<protocol::VectorRowSet>(&request.rows);
  if (request.request.problem || (points == nullptr && vectors == nullptr)) return false;
  const std::size_t rows = points != nullptr ? points->rows.size() : vectors->rows.size();
  auto pending = std::make_unique<Pending>(*this, caller, rows, request.received.bytes.size());
  tables_.updates().reserve();
  sessions_.begin(caller.head.session, caller.head.sequence, request.request.hash);
  pending->request = std::move(request);
  tables_.updates().add(std::move(pending));
  return true;
}

void UpdateRequests::answer(Pending& update, const GroupOutcome& outcome) {
  if (outcome.is_out_of_memory) log_.check_memory();
  const std::span<const UpdateStatus> statuses(update.statuses());
  owners_.charge_update(update.caller, statuses.size(), outcome);
  const auto reply_to = [&](auto& set) {
    log_.note_change(set, statuses);
    if (set.rows.size() == set.reasons.size() && protocol::all_accepted(statuses))
      return protocol::BatchReply{.accepted = statuses.size()};
    protocol::merge_statuses<UpdateStatus>(statuses, set.reasons);
    return protocol::summarize(set.reasons, set.columns);
  };
  auto* const vectors = std::get_if<protocol::VectorRowSet>(&update.rows());
  replies_.answer(update.caller,
                  vectors != nullptr
                      ? reply_to(*vectors)
                      : reply_to(std::get<protocol::RowSet<ObjectUpdate>>(update.rows())));
  credit_.give_back(update.caller.head.session, update.request.credit);
}

}  // namespace starling::stream
