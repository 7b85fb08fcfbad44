// Which requests are sequenced, and what they cost of a session's credit.
#include "protocol/messages.hpp"

#include <type_traits>

namespace starling::protocol {
namespace {

template <class Body>
std::uint64_t row_count(const Body& body) {
  if constexpr (requires { body.ids; })
    return body.ids.size();
  else if constexpr (requires { body.queries; })
    return body.queries.size();
  else
    return 0;
}

template <class Body>
constexpr bool has_rows = requires(Body body) {
  body.ids;
}
|| requires(Body body) {
  body.queries;
};

}  // namespace

bool is_batch(const RequestBody& body) {
  return std::visit([](const auto& each) { return has_rows<std::decay_t<decltype(each)>>; }, body);
}

bool is_sequenced(const RequestBody& body) {
  return is_batch(body) || std::holds_alternative<PutStream>(body) ||
         std::holds_alternative<AdvanceTick>(body);
}

std::uint64_t credit_rows(const RequestBody& body) {
  return std::visit([](const auto& each) { return row_count(each); }, body);
}

}  // namespace starling::protocol
