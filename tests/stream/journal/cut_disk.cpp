// SPDX-License-Identifier: Apache-2.0
// Passes file operations on until the power is cut, and tears writes: see cut_disk.hpp.
#include "tests/stream/journal/cut_disk.hpp"

#include <span>
#include <utility>

namespace starling::stream {

namespace {

class CutFile final : public log::File {
 public:
  CutFile(CutDisk& disk, std::unique_ptr<log::File> file) : disk_(disk), file_(std::move(file)) {}

  std::uint64_t bytes() const override { return file_->bytes(); }
  std::uint64_t page_bytes() const override { return file_->page_bytes(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(disk_.mutex);
    disk_.check_power();
    return file_->read(offset, out);
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::size_t written = bytes.size();
    disk_.operate([&] {
      if (!disk_.has_power()) written = disk_.torn(bytes.size());
      file_->write(offset, bytes.first(written));
    });
  }
  void begin_sync(std::uint64_t, std::uint64_t) override {}
  void sync() override {
    disk_.operate([&] { file_->sync(); });
  }

 private:
  CutDisk& disk_;
  std::unique_ptr<log::File> file_;
};

class CutFiles final : public log::Files {
 public:
  explicit CutFiles(CutDisk& disk) : disk_(disk) {}

  std::vector<std::string> list() const override {
    const std::lock_guard lock(disk_.mutex);
    disk_.check_power();
    return disk_.files.list();
  }
  std::unique_ptr<log::File> open(std::string_view name) override {
    const std::lock_guard lock(disk_.mutex);
    disk_.check_power();
    return std::make_unique<CutFile>(disk_, disk_.files.open(name));
  }
  std::unique_ptr<log::File> create(std::string_view name, std::uint64_t bytes) override {
    std::unique_ptr<log::File> made;
    disk_.operate([&] { made = disk_.files.create(name, bytes); });
    return std::make_unique<CutFile>(disk_, std::move(made));
  }
  void rename(std::string_view from, std::string_view to) override {
    disk_.operate([&] { disk_.files.rename(from, to); });
  }
  void remove(std::string_view name) override {
    disk_.operate([&] { disk_.files.remove(name); });
  }
  std::string birth_of(std::string_view name) const override {
    const std::lock_guard lock(disk_.mutex);
    disk_.check_power();
    return disk_.files.birth_of(name);
  }
  void sync_folder() override {
    disk_.operate([&] { disk_.files.sync_folder(); });
  }
  std::uint64_t free_bytes() const override { return disk_.files.free_bytes(); }

 private:
  CutDisk& disk_;
};

}  // namespace

std::unique_ptr<log::Files> CutDisk::open() {
  return std::make_unique<CutFiles>(*this);
}

void CutDisk::check_power() const {
  if (!has_power()) throw log::IoError("the power is off");
}

void CutDisk::operate(const std::function<void()>& operation) {
  const std::lock_guard lock(mutex);
  check_power();
  if (--left_ <= 0) {
    has_power_ = false;
    if (random_() % 2 == 0) operation();
    throw log::IoError("the power fails");
  }
  operation();
}

void CutDisk::restore() {
  left_ = INT64_MAX;
  if (!has_power_.exchange(true)) files.cut_power(random_);
}

}  // namespace starling::stream
