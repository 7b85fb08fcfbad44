// SPDX-License-Identifier: Apache-2.0
// Overloaded combines lambdas into one function object for std::visit. Each lambda becomes one
// overload. The code that handles requests uses it for requests, rows and replies.
#pragma once

namespace starling {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace starling
