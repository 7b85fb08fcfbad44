// SPDX-License-Identifier: Apache-2.0
// Checks the mode of the open file, so that the file cannot be exchanged after the check: see
// secret_file.hpp.
#include "starling/protocol/keys/secret_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/knn/base/descriptor.hpp"

namespace starling::protocol {
namespace {

std::string cannot_be(const char* what) {
  const int error = errno;
  return std::string("cannot be ") + what + ": " + std::strerror(error);
}

/// Returns the mode of an open file. Throws for anything but a regular file, for example for a
/// directory.
mode_t mode_of(const SecretFile& file, const Descriptor& opened) {
  struct stat status {};
  if (::fstat(opened.number(), &status) != 0) fail(file, cannot_be("read"));
  if (!S_ISREG(status.st_mode))
    fail(file, "is not a file; give a file that " + file.maker + " wrote");
  return status.st_mode;
}

void check_access(const SecretFile& file, mode_t status_mode) {
  if ((status_mode & 0077) == 0) return;
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", unsigned{status_mode} & 07777u);
  fail(file, std::string("is open to others than its owner (mode ") + mode.data() +
                 "); run chmod 600 on it, and make a new one if others may have read it");
}

Descriptor open_to_read(const SecretFile& file) {
  // Without O_NONBLOCK, a named pipe would wait for its writer.
  Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (opened.number() < 0) fail(file, cannot_be("opened") + "; " + file.maker + " makes one");
  return opened;
}

void read_all(const SecretFile& file, const Descriptor& opened, std::string& text) {
  text.resize(secret_bytes_max + 1);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(opened.number(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, cannot_be("read"));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > secret_bytes_max)
    fail(file, "has more than " + std::to_string(secret_bytes_max) + " bytes; give a file that " +
                   file.maker + " wrote");
  text.resize(size);
}

void write_all(const SecretFile& file, int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, cannot_be("written"));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

SecretText::~SecretText() {
  text_.resize(text_.capacity());  // also covers the bytes after a shortened text
  ::explicit_bzero(text_.data(), text_.size());
}

void fail(const SecretFile& file, const std::string& what) {
  throw std::runtime_error("the " + file.kind + ' ' + file.path + ' ' + what);
}

void read_secret(const SecretFile& file, SecretText& secret) {
  const Descriptor opened = open_to_read(file);
  check_access(file, mode_of(file, opened));
  read_all(file, opened, secret.text());
}

void read_public(const SecretFile& file, SecretText& text) {
  const Descriptor opened = open_to_read(file);
  mode_of(file, opened);
  read_all(file, opened, text.text());
}

void write_secret(const SecretFile& file, std::string_view secret) {
  Descriptor opened(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (opened.number() < 0 && errno == EEXIST)
    fail(file, "exists already; give another name, or move the old file away");
  if (opened.number() < 0) fail(file, cannot_be("written"));
  try {
    write_all(file, opened.number(), secret);
    if (::fsync(opened.number()) != 0 || !opened.close()) fail(file, cannot_be("written"));
  } catch (const std::exception&) {
    ::unlink(file.path.c_str());
    throw;
  }
}

}  // namespace starling::protocol
