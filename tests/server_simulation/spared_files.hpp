// SPDX-License-Identifier: Apache-2.0
// The simulated disk as the server sees it: the disk's own allocations do not fail.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/log/files.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::simulation {

class SparedFile final : public log::File {
 public:
  explicit SparedFile(std::unique_ptr<log::File> file) : file_(std::move(file)) {}

  std::uint64_t bytes() const override { return file_->bytes(); }
  std::uint64_t page_bytes() const override { return file_->page_bytes(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    const test::SparedAllocations spared;
    return file_->read(offset, out);
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const test::SparedAllocations spared;
    file_->write(offset, bytes);
  }
  void begin_sync(std::uint64_t offset, std::uint64_t bytes) override {
    const test::SparedAllocations spared;
    file_->begin_sync(offset, bytes);
  }
  void sync() override {
    const test::SparedAllocations spared;
    file_->sync();
  }

 private:
  std::unique_ptr<log::File> file_;
};

class SparedFiles final : public log::Files {
 public:
  explicit SparedFiles(std::unique_ptr<log::Files> files) : files_(std::move(files)) {}

  std::vector<std::string> list() const override {
    const test::SparedAllocations spared;
    return files_->list();
  }
  std::unique_ptr<log::File> open(std::string_view name) override {
    const test::SparedAllocations spared;
    return std::make_unique<SparedFile>(files_->open(name));
  }
  std::unique_ptr<log::File> create(std::string_view name, std::uint64_t bytes) override {
    const test::SparedAllocations spared;
    return std::make_unique<SparedFile>(files_->create(name, bytes));
  }
  void rename(std::string_view from, std::string_view to) override {
    const test::SparedAllocations spared;
    files_->rename(from, to);
  }
  void remove(std::string_view name) override {
    const test::SparedAllocations spared;
    files_->remove(name);
  }
  std::string birth_of(std::string_view name) const override {
    const test::SparedAllocations spared;
    return files_->birth_of(name);
  }
  void sync_folder() override {
    const test::SparedAllocations spared;
    files_->sync_folder();
  }
  std::uint64_t free_bytes() const override { return files_->free_bytes(); }

 private:
  std::unique_ptr<log::Files> files_;
};

}  // namespace starling::simulation
