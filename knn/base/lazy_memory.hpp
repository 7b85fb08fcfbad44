// SPDX-License-Identifier: Apache-2.0
// Memory for large arrays that must never be copied to grow, because the copy would delay the
// thread that grows them. ObjectTable and the staging halves of CPU engines use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <vector>

namespace starling {

/// Returns a memory resource that maps large blocks of address space. The system gives a page of
/// memory when the page is first written, so an array can reserve room for all elements that its
/// limit allows. If address space is limited (`ulimit -v`, or vm.overcommit_memory is 2), returns
/// std::pmr::new_delete_resource().
std::pmr::memory_resource* lazy_memory();
bool is_lazy(const std::pmr::memory_resource* memory);

/// Reserves capacity for `count` elements in all. An array in lazy memory gets room for `count_max`
/// elements, and is then not copied again. The capacity of another array grows by the fraction
/// 1/share at least.
template <std::size_t share, class T, class Allocator>
void reserve_room(std::vector<T, Allocator>& values, std::size_t count, std::size_t count_max) {
  constexpr std::size_t bytes_max = std::size_t{1} << 40;
  const std::size_t room = values.capacity();
  if (count <= room) return;
  const std::size_t more = std::max(count, room + room / share);
  if (is_lazy(values.get_allocator().resource())) {
    try {
      return values.reserve(std::max(more, std::min(count_max, bytes_max / sizeof(T))));
    } catch (const std::bad_alloc&) {
      // There is no address space for all elements.
    }
  }
  values.reserve(more);
}

}  // namespace starling
