// The flags, what `auto` comes to on this machine, and how each engine is made; the CUDA one only
// in builds that have it: see engine_choice.hpp.
#include "apps/shared/engine_choice.hpp"

#include <stdexcept>

#include "cpu/points/engine.hpp"
#ifdef STARLING_CUDA
#include "gpu/points/engine.hpp"
#endif

namespace starling::apps {
namespace {

EngineChoice cpu_choice(const EngineFlags& flags, std::string why) {
  return {"cpu", std::move(why), [threads = flags.threads](const SpaceOptions& space) {
            return cpu::make_engine({.space = space.space,
                                     .threads = threads,
                                     .pin_threads = true,
                                     .dimension = space.dimension,
                                     .metric = space.metric});
          }};
}

#ifdef STARLING_CUDA

EngineChoice choose_automatically(const EngineFlags& flags) {
  std::string why_none;
  const auto devices = gpu::find_devices(why_none);
  if (devices.empty()) return cpu_choice(flags, why_none);
  EngineFlags cuda = flags;
  cuda.engine = "cuda";
  return choose_engine(cuda);
}

EngineChoice cuda_choice(const EngineFlags& flags) {
  std::string why_none;
  const auto devices = gpu::find_devices(why_none);
  if (devices.empty()) throw std::runtime_error("--engine cuda: " + why_none);
  for (const gpu::DeviceInfo& device : devices)
    if (device.number == flags.device)
      return {"cuda", "on device " + std::to_string(device.number) + ", " + device.name,
              [number = device.number](const SpaceOptions& space) {
                return gpu::make_engine({.space = space.space,
                                         .device = number,
                                         .dimension = space.dimension,
                                         .metric = space.metric});
              }};
  std::string numbers;
  for (const gpu::DeviceInfo& device : devices)
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(device.number);
  throw std::runtime_error("--device " + std::to_string(flags.device) +
                           ": there is no such GPU that this build has code for, only " + numbers);
}

#else

constexpr const char* why_not_built = "this build has no CUDA engine";

EngineChoice choose_automatically(const EngineFlags& flags) {
  return cpu_choice(flags, why_not_built);
}

EngineChoice cuda_choice(const EngineFlags& /*flags*/) {
  throw std::runtime_error(std::string("--engine cuda: ") + why_not_built +
                           "; install CUDA 13 and configure with -DSTARLING_CUDA=ON");
}

#endif

}  // namespace

void add_engine_choice(CLI::App& command, EngineFlags& flags) {
  command
      .add_option("--engine", flags.engine, "What answers; auto: cuda where there is a GPU for it")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command.add_option("--device", flags.device, "Number of the GPU, for cuda")
      ->capture_default_str()
      ->check(CLI::Range(0, 1023));
  command
      .add_option("--threads", flags.threads,
                  "Threads that compute a tick, for cpu; 0: one per core")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

EngineChoice choose_engine(const EngineFlags& flags) {
  if (flags.engine == "cpu") return cpu_choice(flags, "as asked");
  return flags.engine == "cuda" ? cuda_choice(flags) : choose_automatically(flags);
}

}  // namespace starling::apps
