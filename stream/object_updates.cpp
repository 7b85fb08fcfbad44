// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that update objects. Tables applies the updates in groups. Each
// request gets its own reply, in order.
#include <memory>
#include <utility>
#include <variant>

#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

/// An update of objects that is admitted and not applied yet.
class RequestHandler::PendingUpdate final : public WaitingUpdate {
 public:
  PendingUpdate(RequestHandler& handler, const Caller& by, std::size_t rows, std::size_t bytes)
      : WaitingUpdate(rows, bytes), caller(by), handler_(handler) {}

  protocol::PreparedRows& rows() override { return request.rows; }
  void applied(const GroupOutcome& outcome) override { handler_.answer_update(*this, outcome); }

  Caller caller;
  PreparedRequest request{};

 private:
  RequestHandler& handler_;
};

/// Keeps a fresh update of objects for Tables. Returns false, and changes nothing, if the request
/// is anything else.
bool RequestHandler::add_update(const Caller& caller, PreparedRequest& request) {
  if (request.request.problem) return false;
  const auto add = [&](const auto& set) {
    const std::uint64_t hash = request.request.hash;
    const auto admission = sessions_.admit(caller.head.session, caller.head.sequence, hash);
    if (admission.kind != SessionTable::Admission::Kind::fresh) return false;
    auto pending = std::make_unique<PendingUpdate>(*this, caller, set.rows.size(),
                                                   request.received.bytes.size());
    parts_.tables.updates().reserve();
    sessions_.begin(caller.head.session, caller.head.sequence, hash);
    pending->request = std::move(request);
    parts_.tables.updates().add(std::move(pending));
    return true;
  };
  if (const auto* set = std::get_if<protocol::RowSet<ObjectUpdate>>(&request.rows))
    return add(*set);
  if (const auto* set = std::get_if<protocol::VectorRowSet>(&request.rows)) return add(*set);
  return false;
}

void RequestHandler::answer_update(PendingUpdate& update, const GroupOutcome& outcome) {
  if (outcome.is_out_of_memory) check_memory_for_log();
  const std::span<const UpdateStatus> statuses(update.statuses());
  charge_update(update.caller, statuses.size(), outcome);
  const auto reply_to = [&](auto& set) {
    note_change(set, statuses);
    if (set.rows.size() == set.reasons.size() && protocol::all_accepted(statuses))
      return protocol::BatchReply{.accepted = statuses.size()};
    protocol::merge_statuses<UpdateStatus>(statuses, set.reasons);
    return protocol::summarize(set.reasons, set.columns);
  };
  auto* const vectors = std::get_if<protocol::VectorRowSet>(&update.rows());
  answer(update.caller, vectors != nullptr
                            ? reply_to(*vectors)
                            : reply_to(std::get<protocol::RowSet<ObjectUpdate>>(update.rows())));
  parts_.credit.give_back(update.caller.head.session, update.request.credit);
}

}  // namespace starling::stream
