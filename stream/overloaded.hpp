// SPDX-License-Identifier: Apache-2.0
// Combines lambdas into one function object with an overload for each, for std::visit. The request
// code visits requests, their rows and their replies with it.
#pragma once

namespace starling::stream {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace starling::stream
