// SPDX-License-Identifier: Apache-2.0
// Puts long lists of names in slices, and reads names at once: see name_requests.hpp.
#include "starling/stream/requests/name_requests.hpp"

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

using protocol::RowReason;

void NameRequests::put(const Caller& caller, PreparedRequest& request) {
  tables_.growth().let_grow(request.received.bytes.size());
  const auto held = rows_.hold(caller, request);
  const auto& body = std::get<protocol::PutNames>(held->request.request.body);
  const auto reasons = std::make_shared<std::vector<RowReason>>(body.ids.size());
  const auto of_ended_session = std::make_shared<std::uint64_t>(0);
  rows_.run(held, {.rows = body.ids.size(),
                   .step = in_steps(
                       body.ids.size(),
                       [this, caller, &body, reasons, of_ended_session](auto first, auto count) {
                         put_rows(owners_.name_teller(caller, *of_ended_session), caller, body,
                                  first, std::span(*reasons).subspan(first, count));
                       }),
                   .finish = [this, &body, reasons]() -> SequencedReply {
                     log_.note_change(body, std::span<const RowReason>(*reasons));
                     return protocol::summarize(*reasons);
                   }});
}

/// Puts one name for each entry of `reasons`, from the row `first` on.
void NameRequests::put_rows(const NameTable::Teller& teller, const Caller& caller,
                            const protocol::PutNames& request, std::size_t first,
                            std::span<RowReason> reasons) {
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::uint64_t id = request.ids[first + i];
    reasons[i] = caller.principal->may_use_object(id)
                     ? tables_.names().put(ObjectId{id}, request.texts[first + i], teller)
                     : RowReason::not_allowed;
  }
}

void NameRequests::get(const Caller& caller, const protocol::GetNames& request) {
  const NameTable& names = tables_.names();
  protocol::Names reply{.epoch = publisher_.epoch(), .name_count = names.count(), .texts = {}};
  reply.texts.reserve(request.object_ids.size());
  for (const std::uint64_t id : request.object_ids) reply.texts.push_back(names.find(ObjectId{id}));
  replies_.send(caller, protocol::encode_names(caller.reply_head(), reply));
}

}  // namespace starling::stream
