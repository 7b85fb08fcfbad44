// SPDX-License-Identifier: Apache-2.0
// A library that load_cuda_library() must refuse. Its build id is FAKE_BUILD_ID, or it has no build
// id. It has no door.
#include "build_id/starling_build_id.hpp"

#ifdef FAKE_BUILD_ID
extern "C" {
extern const char starling_cuda_build_id[];
const char starling_cuda_build_id[] = FAKE_BUILD_ID;
}
#endif
