// SPDX-License-Identifier: Apache-2.0
// Keeps the progress function of each thread: see progress.hpp. Also implements
// starling_set_progress.
#include "starling/clients/c/progress.hpp"

#include "starling/clients/c/error.hpp"
#include "starling/clients/c/starling.h"

namespace starling::c {
namespace {

struct ProgressFunction {
  starling_progress_function call = nullptr;
  void* context = nullptr;
};

thread_local ProgressFunction progress_function;

}  // namespace

Poll Progress::poll() {
  const ProgressFunction function = progress_function;
  if (function.call == nullptr) return Poll();
  return Poll([this, function] {
    const starling_progress progress{.size = sizeof(starling_progress),
                                     .context = function.context,
                                     .done = done_,
                                     .total = total_};
    if (function.call(&progress) != 0)
      fail(STARLING_CANCELLED, "The progress function has cancelled the call.");
  });
}

}  // namespace starling::c

using namespace starling;

starling_code starling_set_progress(starling_progress_function function, void* context) {
  c::progress_function = {.call = function, .context = context};
  return STARLING_OK;
}
