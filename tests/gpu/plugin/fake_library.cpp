// SPDX-License-Identifier: Apache-2.0
// A library that is not the CUDA engine of this build: with the build id FAKE_BUILD_ID, or without
// any. It has no door.
#include "build_id/starling_build_id.hpp"

#ifdef FAKE_BUILD_ID
extern "C" {
extern const char starling_cuda_build_id[];
const char starling_cuda_build_id[] = FAKE_BUILD_ID;
}
#endif
