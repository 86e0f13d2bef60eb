#include "app/system/pid_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "file/whole_file.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"

namespace h2server::app {

namespace {

constexpr std::size_t pid_bytes_max = 32;

std::unexpected<std::string> unusable_pid_file(const std::string& path, int error) {
  return std::unexpected(fmt::format("can't use the pid file {}: {}", path, std::strerror(error)));
}

}  // namespace

Result<PidFile::Content, std::string> PidFile::read(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return unusable_pid_file(path, errno);
  const Result<std::string, int> text = file::read_whole_file(path, pid_bytes_max);
  if (!text) return unusable_pid_file(path, text.error());
  Content content{.inode = status.st_ino};
  const char* const end = text->data() + text->size();
  const auto [rest, failure] = std::from_chars(text->data(), end, content.process);
  const bool is_number = failure == std::errc() && std::string_view(rest, end) == "\n";
  if (is_number && content.process > 1) return content;
  return std::unexpected(fmt::format("{} does not hold the id of a process", path));
}

PidFile::~PidFile() { remove(); }

void PidFile::remove() noexcept {
  const std::string path = std::exchange(path_, {});
  if (path.empty()) return;
  const base::Fd lock = net::lock_folder_of(path);
  const Result<Content, std::string> content = read(path);
  if (content && content->process == ::getpid()) ::unlink(path.c_str());
}

Result<void, std::string> PidFile::write(const std::string& path) {
  std::error_code ignored;
  const std::string written = std::filesystem::absolute(path, ignored).string();
  {  // unlocks before remove(), which may lock the same folder
    const base::Fd lock = net::lock_folder_of(written);
    constexpr mode_t readable = 0644;
    int error = net::write_unfinished(written, fmt::format("{}\n", ::getpid()), readable);
    if (error == 0) error = net::publish_over(written);
    if (error != 0) return unusable_pid_file(path, error);
  }
  // The same file may have two paths.
  if (!path_.empty() && !std::filesystem::equivalent(path_, written, ignored)) remove();
  path_ = written;
  return {};
}

}  // namespace h2server::app
