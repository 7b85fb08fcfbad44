// SPDX-License-Identifier: Apache-2.0
// Exchanges lists over NCCL, which is loaded at run time: see nccl_exchange.hpp. Each device is an
// NCCL rank. All sends and receives of an exchange are one NCCL group. A build without NCCL's
// header only reports that NCCL is missing.
#include "starling/gpu/vectors/exchange/nccl_exchange.hpp"

#ifdef STARLING_NCCL

#include <cstdlib>
#include <source_location>
#include <stdexcept>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <nccl.h>

namespace starling::gpu {
namespace {

/// Pointers to NCCL's functions. load() looks them up at run time, so the program also runs on
/// machines without NCCL. The library stays loaded, because its threads may outlive communicators.
struct NcclLibrary {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclCommInitAll) comm_init_all = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;

  /// Returns false if NCCL is not available; `why_none` then says why.
  bool load(std::string& why_none) {
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    std::string missing = library == nullptr ? dlerror() : "";
    if (library == nullptr) library = dlopen(STARLING_NCCL, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) missing = find_all(library);
    if (missing.empty()) return true;
    why_none = "NCCL was not found (" + missing + "); install libnccl2, or add the folder of " +
               "libnccl.so.2 to LD_LIBRARY_PATH";
    return false;
  }

 private:
  /// Looks up all functions. Returns a sentence about a function that the library lacks, or an
  /// empty string.
  std::string find_all(void* library) {
    std::string missing;
    const auto find = [&](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) missing = std::string("it lacks ") + name;
    };
    find("ncclGetVersion", get_version);
    find("ncclGetErrorString", get_error_string);
    find("ncclGetLastError", get_last_error);
    find("ncclCommInitAll", comm_init_all);
    find("ncclCommDestroy", comm_destroy);
    find("ncclCommAbort", comm_abort);
    find("ncclGroupStart", group_start);
    find("ncclGroupEnd", group_end);
    find("ncclSend", send);
    find("ncclRecv", receive);
    return missing;
  }
};

/// Throws std::runtime_error with NCCL's own messages if the call that returned `code` failed.
void check(const NcclLibrary& nccl, ncclResult_t code,
           std::source_location where = std::source_location::current()) {
  if (code == ncclSuccess) [[likely]]
    return;
  std::string text = "NCCL returned '";
  text.append(nccl.get_error_string(code)).append("'");
  const char* last = nccl.get_last_error(nullptr);
  if (last != nullptr && *last != '\0') text.append(", ").append(last);
  text.append(", at ").append(where.file_name()).append(":").append(std::to_string(where.line()));
  throw std::runtime_error(text + "; NCCL_DEBUG=WARN prints more, and one GPU needs no NCCL");
}

/// Owns one rank of a communicator. Each device is one rank.
class NcclComm {
 public:
  NcclComm(const NcclLibrary& nccl, ncclComm_t comm) : nccl_(&nccl), comm_(comm) {}
  NcclComm(NcclComm&& other) noexcept
      : nccl_(other.nccl_), comm_(std::exchange(other.comm_, nullptr)) {}
  NcclComm& operator=(NcclComm&&) = delete;  // a rank stays in its communicator
  /// Call abort() first if transfers of this rank may be unfinished.
  ~NcclComm() {
    if (comm_ != nullptr) static_cast<void>(nccl_->comm_destroy(comm_));
  }

  ncclComm_t get() const { return comm_; }
  /// Destroys the rank, and ends work on its device that waits for other ranks.
  void abort() noexcept {
    if (comm_ != nullptr) static_cast<void>(nccl_->comm_abort(std::exchange(comm_, nullptr)));
  }

 private:
  const NcclLibrary* nccl_;
  ncclComm_t comm_;
};

class NcclExchange final : public ListExchange {
 public:
  NcclExchange(const NcclLibrary& nccl, std::span<const int> devices) : nccl_(nccl) {
    std::vector<ncclComm_t> made(devices.size());
    ranks_.reserve(made.size());
    const ncclResult_t code =
        nccl_.comm_init_all(made.data(), static_cast<int>(made.size()), devices.data());
    for (ncclComm_t comm : made) ranks_.emplace_back(nccl_, comm);
    if (code != ncclSuccess)
      for (NcclComm& rank : ranks_) rank.abort();
    check(nccl_, code);
  }

  std::string_view name() const override { return "nccl"; }

  void exchange_async(std::span<const ExchangeEnd> ends, std::uint32_t queries,
                      std::uint32_t k) override {
    static_assert(sizeof(VectorNeighbor) == sizeof(std::uint64_t));
    check(nccl_, nccl_.group_start());
    // A group that has begun must be ended, even if a call in it failed.
    ncclResult_t first_failure = ncclSuccess;
    const auto note = [&](ncclResult_t code) {
      if (first_failure == ncclSuccess) first_failure = code;
    };
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      const ExchangeEnd& end = ends[rank];
      const std::size_t taken = share_of(queries, rank, ends.size()).count * k;
      for (std::size_t peer = 0; peer < ends.size(); ++peer) {
        const DeviceShare given = share_of(queries, peer, ends.size());
        if (given.count > 0)
          note(nccl_.send(end.lists + given.begin * k, given.count * k, ncclUint64,
                          static_cast<int>(peer), ranks_[rank].get(), end.stream->get()));
        if (taken > 0)
          note(nccl_.receive(end.received + peer * taken, taken, ncclUint64, static_cast<int>(peer),
                             ranks_[rank].get(), end.stream->get()));
      }
    }
    note(nccl_.group_end());
    check(nccl_, first_failure);
  }

  void abandon() noexcept override {
    for (NcclComm& rank : ranks_) rank.abort();
  }

 private:
  NcclLibrary nccl_;
  std::vector<NcclComm> ranks_;
};

}  // namespace

std::unique_ptr<ListExchange> make_nccl_exchange(std::span<const int> devices,
                                                 std::string& why_none) {
  // Turns off NVLink multicast. Sends and receives do not use multicast, but it takes memory, and a
  // process that crashes leaves multicast resources behind. ncclConfig_t has no field for
  // multicast, so an environment variable turns it off, unless the user has set that variable.
  static_cast<void>(setenv("NCCL_NVLS_ENABLE", "0", 0));
  NcclLibrary nccl;
  if (!nccl.load(why_none)) return nullptr;
  return std::make_unique<NcclExchange>(nccl, devices);
}

std::string nccl_version(std::string& why_none) {
  NcclLibrary nccl;
  if (!nccl.load(why_none)) return {};
  int version = 0;
  check(nccl, nccl.get_version(&version));
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace starling::gpu

#else

namespace starling::gpu {
namespace {

constexpr const char* why_not_built =
    "this build was made without NCCL; install libnccl-dev and configure again";

}  // namespace

std::unique_ptr<ListExchange> make_nccl_exchange(std::span<const int> /*devices*/,
                                                 std::string& why_none) {
  why_none = why_not_built;
  return nullptr;
}

std::string nccl_version(std::string& why_none) {
  why_none = why_not_built;
  return {};
}

}  // namespace starling::gpu

#endif
