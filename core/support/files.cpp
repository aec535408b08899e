/// Whole-file input and output; what is written appears complete or not at all.
#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hash.hpp"
#include "revet/diagnostics.hpp"
#include "revet/launch.hpp"

namespace revet {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const char* verb, const fs::path& path, int error) {
  throw Error(Exit::usage,
              fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(error)));
}

/// Path of the temporary file being written, for the signal handler; empty if there is none.
char temporary[4096] = {};
char temporary_folder[4096] = {};

void remember_temporary(const char* path) noexcept {
  std::strncpy(temporary, path, sizeof temporary - 1);
}

/// False with errno set where not everything could be written.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 1u << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void remove_temporary() noexcept {
  if (temporary[0] != '\0') ::unlink(temporary);
  if (temporary_folder[0] == '\0') return;
  // Walking a folder is not safe in a handler; starting a program is. The thread that works there
  // goes on meanwhile and may have put a file into it: then once more, until the folder is gone.
  constexpr int most_tries = 20;
  for (int i = 0; i < most_tries && ::access(temporary_folder, F_OK) == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/rm", "rm", "-rf", "--", temporary_folder, static_cast<char*>(nullptr));
      ::_exit(1);
    }
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
  }
}

void remove_if_interrupted(const fs::path& folder) noexcept {
  std::strncpy(temporary_folder, folder.c_str(), sizeof temporary_folder - 1);
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  struct stat info {};
  // A device or pipe cannot be replaced by a rename, and a half-written one harms nobody.
  const bool special = ::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special && S_ISDIR(info.st_mode)) fail("write", path_, EISDIR);
  target_ = special ? path_
                    : path_.parent_path() /
                          fmt::format(".{}.{}.tmp", path_.filename().string(), ::getpid());
  if (!special) remember_temporary(target_.c_str());
  fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), 0666);
  if (fd_ >= 0) return;
  const int error = errno;
  remember_temporary("");
  fail("write", path_, error);
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (target_ != path_) ::unlink(target_.c_str());
  remember_temporary("");
}

void OutputFile::add(std::string_view bytes) {
  if (!write_all(fd_, bytes)) fail("write", path_, errno);
}

void OutputFile::finish() {
  int error = ::close(fd_) != 0 ? errno : 0;
  fd_ = -1;
  if (error == 0 && target_ != path_ && ::rename(target_.c_str(), path_.c_str()) != 0)
    error = errno;
  if (error != 0 && target_ != path_) ::unlink(target_.c_str());
  remember_temporary("");
  if (error != 0) fail("write", path_, error);
}

void write_file(const fs::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.add(bytes);
  file.finish();
}

namespace {

/// Reads a file in blocks; throws Error (exit 2).
template <typename Take>
void read_blocks(const fs::path& path, const Take& take) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("read", path, errno);
  int error = 0;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    take(std::string_view(buffer, static_cast<std::size_t>(n)));
  }
  ::close(fd);
  if (error != 0) fail("read", path, error);
}

}  // namespace

std::string hash_of_file(const fs::path& path) {
  Fnv1a hash;
  read_blocks(path, [&](std::string_view block) { hash.add(block); });
  return fmt::format("{:016x}", hash.value());
}

std::string read_file(const fs::path& path) {
  std::string out;
  std::error_code ec;
  // A size that is known saves growing; pipes have none.
  const auto size = fs::file_size(path, ec);
  if (!ec) out.reserve(size);
  read_blocks(path, [&](std::string_view block) { out.append(block); });
  return out;
}

}  // namespace revet
