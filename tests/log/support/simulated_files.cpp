// SPDX-License-Identifier: Apache-2.0
// Keeps the cached bytes of a file apart from the bytes on the disk: see simulated_files.hpp.
#include "tests/log/support/simulated_files.hpp"

#include "starling/log/segment.hpp"

namespace starling::log {

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedFiles& files, std::shared_ptr<SimulatedFiles::Content> content)
      : files_(files), content_(std::move(content)) {}

  std::uint64_t bytes() const override { return content_->cached.size(); }

  std::uint64_t page_bytes() const override { return simulated_page_bytes; }

  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= bytes()) return 0;
    const std::size_t count = std::min<std::size_t>(out.size(), bytes() - offset);
    std::copy_n(content_->cached.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    if (files_.on_read) files_.on_read();
    return count;
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    ++files_.writes_;
    const bool fails = files_.failing_write_ != 0 && files_.writes_ >= files_.failing_write_;
    if (fails) bytes = bytes.first(bytes.size() / 2);
    if (content_->cached.size() < offset + bytes.size()) {
      content_->cached.resize(offset + bytes.size());
      content_->on_disk.resize(offset + bytes.size());
    }
    std::copy(bytes.begin(), bytes.end(),
              content_->cached.begin() + static_cast<std::ptrdiff_t>(offset));
    if (!bytes.empty())
      for (std::uint64_t page = offset / simulated_page_bytes;
           page <= (offset + bytes.size() - 1) / simulated_page_bytes; ++page)
        content_->dirty_pages.insert(page);
    if (fails) throw IoError("cannot write: Input/output error");
  }

  void begin_sync(std::uint64_t, std::uint64_t) override {}

  void sync() override {
    if (files_.on_sync) files_.on_sync();
    ++files_.syncs_;
    if (files_.failing_sync_ != 0 && files_.syncs_ >= files_.failing_sync_) {
      content_->dirty_pages.clear();  // Linux, too, then counts the pages as written
      throw IoError("cannot write to the disk: Input/output error");
    }
    for (const std::uint64_t page : content_->dirty_pages) {
      const std::uint64_t begin = page * simulated_page_bytes;
      const std::uint64_t end = std::min<std::uint64_t>(begin + simulated_page_bytes, bytes());
      for (std::uint64_t i = begin; i < end; ++i) content_->on_disk[i] = content_->cached[i];
    }
    content_->dirty_pages.clear();
  }

 private:
  SimulatedFiles& files_;
  std::shared_ptr<SimulatedFiles::Content> content_;
};

std::vector<std::string> SimulatedFiles::list() const {
  std::vector<std::string> names;
  for (const auto& [name, content] : entries_) names.push_back(name);
  return names;
}

std::unique_ptr<File> SimulatedFiles::open(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw IoError("cannot open " + std::string(name) + ": no such file");
  return std::make_unique<SimulatedFile>(*this, found->second);
}

void SimulatedFiles::change(std::function<void(Entries&)> operation) {
  operation(entries_);
  unsynced_.push_back(std::move(operation));
}

std::unique_ptr<File> SimulatedFiles::create(std::string_view name, std::uint64_t bytes) {
  if (bytes > space_ || ++creates_ == failing_create_)
    throw NoSpace("no room for " + std::to_string(bytes) + " bytes: No space left on device");
  if (space_ != UINT64_MAX) space_ -= bytes;
  auto content = std::make_shared<Content>();
  content->cached.resize(bytes);
  content->on_disk.resize(bytes);
  content->birth = ++births_;
  change([name = std::string(name), content](Entries& entries) { entries[name] = content; });
  return std::make_unique<SimulatedFile>(*this, content);
}

void SimulatedFiles::rename(std::string_view from, std::string_view to) {
  const auto found = entries_.find(from);
  if (found == entries_.end()) throw IoError("cannot rename " + std::string(from));
  change(
      [from = std::string(from), to = std::string(to), content = found->second](Entries& entries) {
        entries.erase(from);
        entries[to] = content;
      });
}

SimulatedFiles SimulatedFiles::with_removed_segments() const {
  SimulatedFiles made;
  const auto put = [&](const std::map<std::string, std::vector<std::byte>>& files) {
    for (const auto& [name, bytes] : files)
      if (sequence_of_name(name)) made.put(name, bytes);
  };
  put(removed_);
  put(all_bytes());
  return made;
}

void SimulatedFiles::remove(std::string_view name) {
  const auto found = entries_.find(name);
  if (keeps_removed_ && found != entries_.end())
    removed_[std::string(name)] = found->second->cached;
  change([name = std::string(name)](Entries& entries) { entries.erase(name); });
}

void SimulatedFiles::sync_folder() {
  entries_on_disk_ = entries_;
  unsynced_.clear();
}

std::map<std::string, std::vector<std::byte>> SimulatedFiles::all_bytes() const {
  std::map<std::string, std::vector<std::byte>> all;
  for (const auto& [name, content] : entries_) all[name] = content->cached;
  return all;
}

void SimulatedFiles::put(const std::string& name, std::vector<std::byte> bytes) {
  auto content = std::make_shared<Content>();
  content->cached = content->on_disk = std::move(bytes);
  content->birth = ++births_;
  entries_[name] = entries_on_disk_[name] = content;
}

SimulatedFiles::Image SimulatedFiles::image() const {
  Image image;
  for (const auto& [name, content] : entries_)
    image.files[name] = {content->cached, content->birth};
  image.removed = removed_;
  return image;
}

void SimulatedFiles::put_back(const Image& image, bool as_copies) {
  entries_.clear();
  entries_on_disk_.clear();
  unsynced_.clear();
  removed_ = image.removed;
  for (const auto& [name, file] : image.files) {
    put(name, file.first);
    if (!as_copies) entries_[name]->birth = file.second;
  }
}

}  // namespace starling::log
