#include "content/storage/pending_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/random.h"
#include "content/storage/commit_file.h"
#include "file/whole_file.h"

namespace h2server::content {

namespace {

constexpr std::size_t id_size = 32;
constexpr std::string_view info_suffix = ".info";
constexpr std::string_view unfinished_suffix = ".new";
constexpr std::size_t info_bytes_max = 256 * 1024;  // a thousand parts take 50 KB

std::string name_of(std::string_view id, std::string_view suffix) {
  return fmt::format("{}{}{}", pending_upload_prefix, id, suffix);
}

// Returns true if `file` is what has that name now.
bool is_named(int file, int directory, const std::string& name) noexcept {
  struct stat own{};
  struct stat named{};
  return ::fstat(file, &own) == 0 &&
         ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

Result<void, int> write_unfinished(int directory, const std::string& name, std::string_view text,
                                   Durability durability) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const base::Fd file(::openat(directory, name.c_str(), flags, 0644));
  if (!file.valid()) return std::unexpected(errno);
  Result<void, int> written = file::write_all(file.get(), text);
  if (written && durability != Durability::none) written = sync_file(file.get());
  return written;
}

}  // namespace

std::string new_upload_id() {
  const std::uint64_t high = base::random_number();
  return fmt::format("{:016x}{:016x}", high, base::random_number());
}

bool is_upload_id(std::string_view text) {
  return text.size() == id_size && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string pending_bytes_name(std::string_view id) { return name_of(id, ""); }
std::string pending_info_name(std::string_view id) { return name_of(id, info_suffix); }

std::optional<PendingEntry> parse_pending_entry(std::string_view name) {
  if (!name.starts_with(pending_upload_prefix)) return std::nullopt;
  name.remove_prefix(pending_upload_prefix.size());
  const std::string_view id = name.substr(0, id_size);
  if (!is_upload_id(id)) return std::nullopt;
  const std::string_view suffix = name.substr(id_size);
  using Kind = PendingEntry::Kind;
  if (suffix.empty()) return PendingEntry{std::string(id), Kind::bytes};
  if (suffix == info_suffix) return PendingEntry{std::string(id), Kind::info};
  if (suffix == unfinished_suffix) return PendingEntry{std::string(id), Kind::unfinished_info};
  return std::nullopt;
}

bool is_pending_bytes(std::string_view name) {
  const std::optional<PendingEntry> entry = parse_pending_entry(name);
  return entry && entry->kind == PendingEntry::Kind::bytes;
}

Result<base::Fd, int> make_pending_bytes(int directory, const std::string& id) {
  const std::string name = pending_bytes_name(id);
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (;;) {
    base::Fd file(::openat(directory, name.c_str(), flags, 0644));
    if (!file.valid()) return std::unexpected(errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      // Otherwise a sweep took it for abandoned before it was locked.
      if (is_named(file.get(), directory, name)) return file;
      continue;
    }
    const int error = errno;
    if (error == EWOULDBLOCK) continue;  // that sweep removes it now
    ::unlinkat(directory, name.c_str(), 0);
    return std::unexpected(error);
  }
}

Result<base::Fd, int> lock_pending_bytes(int directory, const std::string& id) {
  const std::string name = pending_bytes_name(id);
  base::Fd file(::openat(directory, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return std::unexpected(errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return std::unexpected(errno);
  // It may have been stored or removed meanwhile.
  if (!is_named(file.get(), directory, name)) return std::unexpected(ENOENT);
  return file;
}

Result<void, int> write_pending_info(int directory, const std::string& id,
                                     const PendingDescription& description, Durability durability) {
  const std::string unfinished = name_of(id, unfinished_suffix);
  const std::string name = pending_info_name(id);
  Result<void, int> written =
      write_unfinished(directory, unfinished, to_json(description), durability);
  if (written && ::renameat(directory, unfinished.c_str(), directory, name.c_str()) != 0) {
    written = std::unexpected(errno);
  }
  if (!written) ::unlinkat(directory, unfinished.c_str(), 0);
  if (written && durability == Durability::file_and_directory) return sync_directory(directory);
  return written;
}

Result<PendingDescription, int> read_pending_info(int directory, const std::string& id) {
  const std::string name = pending_info_name(id);
  const base::Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return std::unexpected(errno);
  std::string text;
  char piece[4096];
  while (text.size() <= info_bytes_max) {
    const ssize_t count = ::read(file.get(), piece, sizeof(piece));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);
    if (count == 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  std::optional<PendingDescription> description = parse_description(text);
  if (!description) return std::unexpected(EBADMSG);
  return *std::move(description);
}

void remove_pending(int directory, const std::string& id) noexcept {
  // ENOENT is as good; what can't be removed for another reason, the next sweep finds again.
  ::unlinkat(directory, pending_info_name(id).c_str(), 0);
  ::unlinkat(directory, pending_bytes_name(id).c_str(), 0);
}

std::optional<FileFacts> look_at_file(int directory, const std::string& name) noexcept {
  struct stat status{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FileFacts{.size = static_cast<std::uint64_t>(status.st_size),
                   .modified_s = status.st_mtim.tv_sec};
}

}  // namespace h2server::content
