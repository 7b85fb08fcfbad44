// One function object out of a function for each kind, for std::visit over requests, their rows and
// their replies.
#pragma once

namespace starling::stream {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace starling::stream
