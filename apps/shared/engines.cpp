// SPDX-License-Identifier: Apache-2.0
// The flags, the meaning of `auto` on this machine, and how each backend is made. The CUDA backend
// is a library that is loaded at run time. See engines.hpp.
#include "starling/apps/shared/engines.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "starling/cpu/backend.hpp"
#include "starling/gpu/backend.hpp"
#include "starling/gpu/plugin/loader.hpp"
#include "starling/gpu/vectors/selection_timing.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

constexpr int device_number_max = 1023;
constexpr const char* asked_for_cpu = "chosen by --engine cpu";

constexpr std::array<std::pair<std::string_view, SearchMethod>, 8> methods{{
    {"auto", SearchMethod::automatic},
    {"kato", SearchMethod::kato},
    {"cuknn", SearchMethod::cuknn},
    {"iterative", SearchMethod::iterative},
    {"insertion", SearchMethod::insertion},
    {"threshold", SearchMethod::threshold},
    {"multiselect", SearchMethod::multiselect},
    {"sbq", SearchMethod::sbq},
}};

SearchMethod method_named(std::string_view name) {
  for (const auto& [named, method] : methods)
    if (named == name) return method;
  throw std::runtime_error("--method: there is no method " + std::string(name));
}

/// The CUDA backend on the GPUs that the flags name, or on the first GPU. Without a GPU, all
/// functions are empty.
struct CudaBackend {
  std::string names{};       ///< the GPUs, as a phrase; empty if there is no GPU
  std::string why_no_gpu{};  ///< the reason and what helps; empty if there is a GPU
  std::string why_cpu{};     ///< why `auto` chooses the CPU, as a phrase; empty if there is a GPU
  /// Makes an engine on the first GPU.
  std::function<std::unique_ptr<Engine>(const SpaceOptions&)> make_engine{};
  std::function<std::unique_ptr<VectorSearcher>()> make_searcher{};
  std::function<SelectionTimer()> make_timer{};  ///< makes a timer on the first GPU
};

/// Returns the GPUs as a phrase, such as "on device 0, NVIDIA H200 and 1, NVIDIA H200".
std::string name_devices(const std::vector<int>& numbers,
                         const std::vector<gpu::DeviceInfo>& devices) {
  std::string names;
  for (const int number : numbers) {
    const auto device = std::ranges::find(devices, number, &gpu::DeviceInfo::number);
    if (device == devices.end())
      throw std::runtime_error("--engine cuda: --devices: there is no GPU " +
                               std::to_string(number) +
                               " that the CUDA engine has code for; see starling info");
    names +=
        (names.empty() ? "on device " : " and ") + std::to_string(number) + ", " + device->name;
  }
  return names;
}

SelectionTimer make_cuda_timer(const gpu::CudaDoor& cuda, int device, const std::string& names) {
  return {.engine_name = "cuda " + names,
          .read_gb_per_s = cuda.measure_read_gb_per_s(device),
          .time_ms = [&cuda, device](std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                                     int runs) {
            return cuda.time_selection_ms(
                {.device = device, .rows = rows, .columns = columns, .k = k, .runs = runs});
          }};
}

CudaBackend find_cuda(std::vector<int> numbers) {
  constexpr std::string_view way_out = "use --engine cpu";
  const gpu::CudaLibrary library = gpu::load_cuda_library();
  if (library.door == nullptr)
    return {.why_no_gpu = gpu::with_way_out(library.why_none, way_out),
            .why_cpu = library.path.empty()
                           ? "chosen by --engine auto: the CUDA engine is not installed"
                           : "chosen by --engine auto: the CUDA engine cannot be used"};
  std::string why_no_gpu;
  const auto devices = library.door->find_devices(why_no_gpu);
  if (devices.empty())
    return {.why_no_gpu = gpu::with_way_out(std::move(why_no_gpu), way_out),
            .why_cpu = "chosen by --engine auto: no GPU is available"};
  if (numbers.empty()) numbers = {devices.front().number};
  const std::string names = name_devices(numbers, devices);
  const int first = numbers.front();
  const gpu::CudaDoor& cuda = *library.door;  // stays loaded until the process ends
  return {.names = names,
          .make_engine =
              [&cuda, first](const SpaceOptions& space) {
                return cuda.make_engine({.space = space, .device = first});
              },
          .make_searcher = [&cuda, numbers] { return cuda.make_vector_searcher(numbers); },
          .make_timer = [&cuda, first, names] { return make_cuda_timer(cuda, first, names); }};
}

[[noreturn]] void refuse_cuda(const CudaBackend& cuda) {
  throw std::runtime_error("--engine cuda: " + cuda.why_no_gpu);
}

/// Throws if the flags name several devices. Called for commands that run on one GPU: commands that
/// compute ticks, and `bench selection`.
void check_one_device(const EngineFlags& flags) {
  if (flags.devices.size() > 1)
    throw sim::UsageError("--devices: this command runs on one GPU; name one");
}

void use_simd(const EngineFlags& flags) {
  try {
    cpu::use_simd_target(flags.simd);
  } catch (const std::invalid_argument& error) {
    throw sim::UsageError(std::string("--simd: ") + error.what());
  }
}

EngineChoice cpu_choice(const EngineFlags& flags, std::string why, std::string why_no_gpu) {
  use_simd(flags);
  return {.name = "cpu",
          .why = std::move(why),
          .why_no_gpu = std::move(why_no_gpu),
          .make = [threads = flags.threads](const SpaceOptions& space) {
            return cpu::make_engine({.space = space, .threads = threads, .pin_threads = true});
          }};
}

void add_engine_flag(CLI::App& command, EngineFlags& flags) {
  command
      .add_option("--engine", flags.engine,
                  "Where neighbours are computed: on the CPU or on a GPU. auto: cuda if the CUDA "
                  "engine is installed and this machine has a GPU for it, else cpu")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
}

/// Adds --devices and its old name --device, which --help does not show. The value of --device
/// becomes the value of --devices. CLI11 processes options in the order in which they were added.
/// --device is therefore added first, so that CLI11 checks its value as a value of --devices.
CLI::Option* add_devices_flag(CLI::App& command, EngineFlags& flags, const std::string& help) {
  command
      .add_option_function<std::string>(
          "--device",
          [&command](const std::string& numbers) {
            std::fputs("starling: `--device` is now called `--devices`\n", stderr);
            CLI::Option* const devices = command.get_option("--devices");
            if (devices->count() > 0)
              throw CLI::ValidationError("--device",
                                         "is the old name of --devices; use --devices alone");
            devices->add_result(numbers);
          },
          help)
      ->group("");
  return command.add_option("--devices", flags.devices, help)
      ->delimiter(',')
      ->check(CLI::Range(0, device_number_max));
}

void add_threads_flag(CLI::App& command, EngineFlags& flags, const std::string& help) {
  command.add_option("--threads", flags.threads, help)
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

}  // namespace

void add_engine_flags(CLI::App& command, EngineFlags& flags) {
  add_engine_flag(command, flags);
  add_device_flag(command, flags);
  add_threads_flag(command, flags,
                   "For cpu: the number of threads that compute a tick. 0: one per core");
}

void add_searcher_flags(CLI::App& command, EngineFlags& flags) {
  add_engine_flag(command, flags);
  add_devices_flag(
      command, flags,
      "For cuda: the numbers of the GPUs, such as 0,1. Each GPU holds all points and answers a "
      "part of the queries; if the points do not fit, each GPU holds a part of them. Without this "
      "flag, the first GPU");
  add_threads_flag(command, flags, "For cpu: the number of threads that search. 0: one per core");
}

void add_device_flag(CLI::App& command, EngineFlags& flags) {
  add_devices_flag(command, flags,
                   "For cuda: the number of the GPU. Without this flag, the first GPU")
      ->allow_extra_args(false);
}

void add_simd_flag(CLI::App& command, EngineFlags& flags) {
  std::string names;
  for (const std::string_view name : cpu::simd_targets()) names += ", " + std::string(name);
  command
      .add_option("--simd", flags.simd,
                  "For cpu: the instruction set. All of them give the same bytes. On this machine: "
                  "best" +
                      names)
      ->capture_default_str();
}

void add_method_flag(CLI::App& command, SearcherFlags& flags) {
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const auto& [name, method] : methods) names.emplace_back(name);
  command
      .add_option(
          "--method", flags.method,
          "How lists are found. All methods write the same bytes; auto takes the fastest one for "
          "the sizes of this run")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
}

EngineChoice choose_engine(const EngineFlags& flags) {
  check_one_device(flags);
  if (flags.engine == "cpu") return cpu_choice(flags, asked_for_cpu, "");
  const CudaBackend cuda = find_cuda(flags.devices);
  if (cuda.make_engine)
    return {.name = "cuda", .why = cuda.names, .why_no_gpu = "", .make = cuda.make_engine};
  if (flags.engine == "cuda" || !flags.devices.empty()) refuse_cuda(cuda);
  return cpu_choice(flags, cuda.why_cpu, cuda.why_no_gpu);
}

SearcherChoice choose_searcher(const SearcherFlags& flags) {
  SearcherChoice choice{
      .searcher = nullptr, .why = asked_for_cpu, .method = method_named(flags.method)};
  std::set<int> named;
  for (const int number : flags.devices)
    if (!named.insert(number).second)
      throw sim::UsageError("--devices: " + std::to_string(number) + " is named twice");
  if (flags.engine != "cpu") {
    const CudaBackend cuda = find_cuda(flags.devices);
    choice.why = cuda.make_searcher ? cuda.names : cuda.why_cpu;
    if (cuda.make_searcher) {
      choice.searcher = cuda.make_searcher();
    } else if (flags.engine == "cuda" || !flags.devices.empty()) {
      refuse_cuda(cuda);
    }
  }
  if (!choice.searcher) {
    use_simd(flags);
    choice.searcher = cpu::make_vector_searcher(flags.threads);
  }
  if (!choice.searcher->supports(choice.method))
    throw std::runtime_error("--method " + flags.method + ": the engine " +
                             std::string(choice.searcher->name()) +
                             " does not have this method; leave --method out, the answer is the "
                             "same");
  return choice;
}

SelectionTimer choose_selection_timer(const EngineFlags& flags) {
  check_one_device(flags);
  const CudaBackend cuda = find_cuda(flags.devices);
  if (!cuda.make_timer) refuse_cuda(cuda);
  return cuda.make_timer();
}

std::unique_ptr<Engine> snapshot_engine(const SpaceOptions& space) {
  return cpu::make_engine({.space = space, .threads = 1});
}

CpuFacts describe_cpu() {
  const auto engine = cpu::make_engine({.threads = 1});
  return {std::string(engine->name()), std::string(cpu::simd_target()), engine->limits()};
}

CudaFacts describe_cuda() {
  const gpu::CudaLibrary library = gpu::load_cuda_library();
  if (library.door == nullptr) {
    if (!library.path.empty()) return {.library = library.path + ", which cannot be used"};
    std::string paths;
    for (const std::string& path : library.looked_for) paths += (paths.empty() ? "" : ", ") + path;
    return {.library = "not found; looked for " + paths};
  }
  std::string why_none;
  const std::string nccl = library.door->nccl_version(why_none);
  return {.library = library.path,
          .exchange =
              nccl.empty() ? "merge lists by copies: " + why_none : "merge lists by NCCL " + nccl};
}

}  // namespace starling::apps
