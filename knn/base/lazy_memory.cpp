// SPDX-License-Identifier: Apache-2.0
// Maps blocks of address space without reserving memory for them: see lazy_memory.hpp.
#include "starling/knn/base/lazy_memory.hpp"

#include <fstream>

#include <sys/mman.h>
#include <sys/resource.h>

namespace starling {
namespace {

constexpr std::size_t mapped_bytes_min = std::size_t{1} << 20;

/// After these bytes, a block may use huge pages, so that random reads of a large table wait less
/// for address translation. A small table does not, because huge pages would take more memory.
constexpr std::size_t small_bytes = std::size_t{4} << 20;

class LazyMemory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < mapped_bytes_min)
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    if (bytes > small_bytes)
      madvise(static_cast<std::byte*>(block) + small_bytes, bytes - small_bytes, MADV_HUGEPAGE);
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (bytes < mapped_bytes_min)
      return std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    munmap(block, bytes);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

/// With vm.overcommit_memory=2, the system counts mapped blocks as memory.
bool is_address_space_limited() {
  rlimit of_addresses{};
  if (getrlimit(RLIMIT_AS, &of_addresses) == 0 && of_addresses.rlim_cur != RLIM_INFINITY)
    return true;
  int overcommit = 0;
  return std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit && overcommit == 2;
}

}  // namespace

std::pmr::memory_resource* lazy_memory() {
  static LazyMemory lazy;
  static std::pmr::memory_resource* const memory =
      is_address_space_limited() ? std::pmr::new_delete_resource() : &lazy;
  return memory;
}

bool is_lazy(const std::pmr::memory_resource* memory) {
  return memory == lazy_memory() && memory != std::pmr::new_delete_resource();
}

}  // namespace starling
