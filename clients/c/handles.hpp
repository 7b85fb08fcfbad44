// SPDX-License-Identifier: Apache-2.0
// The live handles of the process. A call with a handle that is not live, or that another thread
// uses, is refused instead of touching freed memory. There is one table for all kinds of handles,
// because a pointer from a C program does not show its kind.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "starling/clients/c/error.hpp"

namespace starling::c {

/// The base class of all objects that handles point to.
struct Handle {
  virtual ~Handle() = default;
  bool in_use = false;  ///< guarded by the table's mutex
};

class HandleTable {
 public:
  /// Adds an object. Its address is its handle.
  void add(std::unique_ptr<Handle> object) {
    const std::lock_guard lock(mutex_);
    Handle* const address = object.get();
    live_.emplace(address, std::move(object));
  }

  /// Returns the object, which stays in use until release(). Throws FailureError if the handle is
  /// not live, of another kind, or in use.
  template <class Object>
  Object& acquire(const void* handle) {
    const std::lock_guard lock(mutex_);
    Object& object = find<Object>(handle);
    if (object.in_use)
      fail(STARLING_IN_USE,
           "A call with this handle is under way, in another thread or with a progress function of "
           "this one; use the handle after that call.");
    object.in_use = true;
    return object;
  }
  void release(Handle& object) {
    const std::lock_guard lock(mutex_);
    object.in_use = false;
  }

  /// Takes the object out of the table. Throws FailureError if it is not live or is in use.
  template <class Object>
  std::unique_ptr<Handle> remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    Object& object = find<Object>(handle);
    if (object.in_use)
      fail(STARLING_IN_USE,
           "A call with this handle is under way, in another thread or with a progress function of "
           "this one; destroy the handle after that call.");
    auto node = live_.extract(static_cast<const Handle*>(&object));
    return std::move(node.mapped());
  }

 private:
  template <class Object>
  Object& find(const void* handle) {
    if (handle == nullptr) fail(STARLING_BAD_HANDLE, "The handle is NULL.");
    // A handle is the address of its Handle, which is the table's key.
    const auto found = live_.find(static_cast<const Handle*>(handle));
    auto* const object =
        found == live_.end() ? nullptr : dynamic_cast<Object*>(found->second.get());
    if (object == nullptr)
      fail(STARLING_BAD_HANDLE,
           "The handle is not live: it was destroyed, or it is of another kind, or it was never "
           "made.");
    return *object;
  }

  std::mutex mutex_;
  std::unordered_map<const Handle*, std::unique_ptr<Handle>> live_;
};

/// The table of this process. It lives until the process ends, because handles may outlive
/// destructors of static objects.
inline HandleTable& handle_table() {
  static HandleTable& table = *new HandleTable;
  return table;
}

/// Keeps a handle in use during a call.
template <class Object>
class Use {
 public:
  explicit Use(const void* handle) : object_(handle_table().acquire<Object>(handle)) {}
  ~Use() { handle_table().release(object_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Object* operator->() const { return &object_; }
  Object& operator*() const { return object_; }

 private:
  Object& object_;
};

/// Gives an object to the caller as a handle of the type that starling.h names.
template <class Name>
void give(std::unique_ptr<Handle> object, Name** handle) {
  Handle* const address = object.get();
  handle_table().add(std::move(object));
  *handle = reinterpret_cast<Name*>(address);
}

/// Throws FailureError if `handle` is NULL. Otherwise sets *handle to NULL, so that it is NULL if
/// the call fails.
template <class Name>
void check_place(Name** handle, const char* what) {
  if (handle == nullptr) fail(STARLING_INVALID_ARGUMENT, std::string(what) + " is NULL.");
  *handle = nullptr;
}

/// Destroys a handle. NULL is allowed.
template <class Object>
starling_code destroy(const void* handle) noexcept {
  if (handle == nullptr) return STARLING_OK;
  // The object's destructor runs after the table's mutex is free.
  return guard([&] { const auto object = handle_table().remove<Object>(handle); });
}

}  // namespace starling::c
