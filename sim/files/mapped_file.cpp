// Opens, refuses what is no ordinary file, and maps the rest; the descriptor is closed at once: see
// mapped_file.hpp.
#include "sim/files/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/traces/trace.hpp"

namespace starling::sim {
namespace {

class Descriptor {
 public:
  // Of a pipe without a writer, which is to be refused, O_NONBLOCK does not wait for one.
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) throw TraceError(path + ": cannot be opened: " + std::strerror(errno));
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const Descriptor file(path_);
  struct stat status {};
  if (fstat(file.number(), &status) != 0)
    throw TraceError(path_ + ": cannot be read: " + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw TraceError(path_ + ": is a directory");
  if (!S_ISREG(status.st_mode))
    throw TraceError(path_ + ": is no ordinary file, as binary vectors and labels must be");
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (begin == MAP_FAILED) throw TraceError(path_ + ": cannot be read: " + std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(begin), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace starling::sim
