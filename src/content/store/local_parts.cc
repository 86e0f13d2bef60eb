#include "content/store/local_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text/text.h"
#include "content/names/object_key.h"
#include "content/storage/commit_file.h"
#include "content/storage/directory_entries.h"
#include "content/store/store_refusals.h"
#include "file/content.h"
#include "file/whole_file.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::string_view ended = "ended_";  // of folders that are being removed
constexpr std::size_t part_id_size = 32;
constexpr std::size_t copied_bytes_max = 1024 * 1024;  // at once, if the kernel can't copy

bool is_id(std::string_view text) noexcept {
  constexpr auto is_digit = [](char c) { return base::is_digit(c) || (c >= 'a' && c <= 'f'); };
  return text.size() == part_id_size && std::ranges::all_of(text, is_digit);
}

std::string part_name(unsigned number) { return fmt::format("{:05}", number); }

// Returns 0 for other files.
unsigned number_of(std::string_view name) noexcept {
  const auto number = base::parse_decimal(name);
  return number && name.size() == 5 ? static_cast<unsigned>(*number) : 0;
}

struct Part {
  base::Fd file;
  StoredPart stored = {};
};

std::optional<Part> open_part(int folder, unsigned number) {
  Part part{.file = base::Fd(
                ::openat(folder, part_name(number).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC))};
  if (!part.file.valid()) return std::nullopt;
  const auto version = file::version_of(part.file.get());
  if (!version) return std::nullopt;
  ObjectInfo info = object_info(*version);
  part.stored = {.number = number, .size = info.size, .etag = std::move(info.etag)};
  return part;
}

// Copies the whole file. The kernel may share blocks instead.
Result<void, int> append_file(int from, int to) {
  for (;;) {
    const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, std::size_t{1} << 30, 0);
    if (count == 0) return {};
    if (count > 0 || errno == EINTR) continue;
    // These file systems can't, or not with each other.
    if (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) break;
    return std::unexpected(errno);
  }
  std::string buffer(copied_bytes_max, '\0');
  for (;;) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count == 0) return {};
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(errno);  // EIO
    const auto size = static_cast<std::size_t>(count);
    const Result<void, int> written = file::write_all(to, std::string_view(buffer).substr(0, size));
    if (!written) return written;
  }
}

StoreResult<void> append_parts(int folder, const std::vector<StoredPart>& all, int to) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool in_order = i == 0 || all[i - 1].number < all[i].number;
    if (!in_order) return refused(Kind::failed, "the parts are not in their order");
    const std::optional<Part> part = open_part(folder, all[i].number);
    if (!part || part->stored.etag != all[i].etag) {
      return refused(Kind::failed, "a part is missing, or another one");
    }
    if (i + 1 < all.size() && part->stored.size < PartLimits::bytes_min) {
      return refused(Kind::failed, "a part that is not the last one is too small");
    }
    const Result<void, int> copied = append_file(part->file.get(), to);
    if (!copied) return std::unexpected(write_failure(copied.error()));
  }
  return {};
}

void remove_folder(int directory, const std::string& name) {
  const base::Fd folder(
      ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return;
  // What can't be removed is removed when the store is opened again.
  static_cast<void>(for_each_entry(folder.get(), [&folder](const char* entry) {
    ::unlinkat(folder.get(), entry, 0);
    return true;
  }));
  ::unlinkat(directory, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

Result<std::unique_ptr<LocalParts>, int> LocalParts::open(const LocalObjects& objects) {
  if (::mkdirat(objects.own_directory(), "parts", 0700) != 0 && errno != EEXIST) {
    return std::unexpected(errno);
  }
  base::Fd directory(
      ::openat(objects.own_directory(), "parts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return std::unexpected(errno);
  auto parts = std::make_unique<LocalParts>(objects, std::move(directory));
  parts->sweep();
  return parts;
}

void LocalParts::sweep() const {
  std::vector<std::string> names;
  static_cast<void>(for_each_entry(directory_.get(), [&names](const char* name) {
    if (std::string_view(name).starts_with(ended)) names.emplace_back(name);
    return true;
  }));
  for (const std::string& name : names) remove_folder(directory_.get(), name);
}

StoreResult<PartsId> LocalParts::begin(const std::string& key) const {
  if (!is_local_key(key)) return refused(Kind::absent);
  PartsId parts{.key = key,
                .id = fmt::format("{:016x}{:016x}", base::random_number(), base::random_number())};
  if (::mkdirat(directory_.get(), parts.id.c_str(), 0700) != 0) {
    return std::unexpected(write_failure(errno));
  }
  const std::string path = parts.id + "/key";
  const base::Fd file(::openat(directory_.get(), path.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return std::unexpected(write_failure(errno));
  Result<void, int> written = file::write_all(file.get(), key);
  if (written) written = sync_file(file.get());
  if (written) written = sync_directory(directory_.get());
  if (!written) return std::unexpected(write_failure(written.error()));
  return parts;
}

StoreResult<LocalParts::Opened> LocalParts::find(const PartsId& parts) const {
  if (!is_id(parts.id)) return refused(Kind::absent);
  Opened opened;
  opened.folder = base::Fd(::openat(directory_.get(), parts.id.c_str(),
                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.folder.valid()) return std::unexpected(read_failure(errno));
  opened.key_file =
      base::Fd(::openat(opened.folder.get(), "key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.key_file.valid()) return std::unexpected(read_failure(errno));
  std::string key(key_bytes_max + 1, '\0');
  const ssize_t count = ::pread(opened.key_file.get(), key.data(), key.size(), 0);
  if (count < 0) return std::unexpected(read_failure(errno));
  key.resize(static_cast<std::size_t>(count));
  if (key != parts.key) return refused(Kind::absent);
  return opened;
}

StoreResult<StoredPart> LocalParts::put(const PartsId& parts, unsigned number,
                                        std::string_view bytes) const {
  if (number == 0 || number > PartLimits::number_max) {
    return refused(Kind::failed, "no number of a part");
  }
  const StoreResult<Opened> opened = find(parts);
  if (!opened) return std::unexpected(opened.error());
  const int folder = opened->folder.get();
  const std::string name = fmt::format("new_{:016x}", base::random_number());
  const base::Fd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() && errno == ENOENT) return refused(Kind::absent);  // they have just ended
  if (!file.valid()) return std::unexpected(write_failure(errno));
  Result<void, int> written = file::write_all(file.get(), bytes);
  if (written) {
    written = commit_file(file.get(), folder, name, folder, part_name(number), Existing::replace,
                          Durability::file_and_directory);
  }
  if (!written) {
    ::unlinkat(folder, name.c_str(), 0);
    if (written.error() == ENOENT) return refused(Kind::absent);
    return std::unexpected(write_failure(written.error()));
  }
  const auto version = file::version_of(file.get());
  if (!version) return refused(Kind::failed, "can't read the state of the file");
  return StoredPart{.number = number, .size = bytes.size(), .etag = object_info(*version).etag};
}

StoreResult<std::vector<StoredPart>> LocalParts::list(const PartsId& parts) const {
  const StoreResult<Opened> opened = find(parts);
  if (!opened) return std::unexpected(opened.error());
  std::vector<StoredPart> all;
  const Result<void, int> read = for_each_entry(opened->folder.get(), [&](const char* name) {
    const unsigned number = number_of(name);
    std::optional<Part> part = number != 0 ? open_part(opened->folder.get(), number) : std::nullopt;
    if (part) all.push_back(std::move(part->stored));
    return true;
  });
  if (!read) return std::unexpected(read_failure(read.error()));
  std::ranges::sort(all, {}, &StoredPart::number);
  return all;
}

StoreResult<ObjectInfo> LocalParts::complete(const PartsId& parts,
                                             const std::vector<StoredPart>& all,
                                             const PutOptions& options) const {
  if (all.empty()) return refused(Kind::failed, "there are no parts");
  const StoreResult<Opened> opened = find(parts);
  if (!opened) return std::unexpected(opened.error());
  // Another call for these parts may be at it, also in another process.
  while (::flock(opened->key_file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(write_failure(errno));
  }
  struct stat status{};
  const bool gone = ::fstat(opened->key_file.get(), &status) != 0 || status.st_nlink == 0;
  if (gone) return refused(Kind::absent);
  StoreResult<ObjectInfo> info = objects_.put(
      parts.key, options, [&](int file) { return append_parts(opened->folder.get(), all, file); });
  if (info) end(parts);
  return info;
}

StoreResult<void> LocalParts::abandon(const PartsId& parts) const {
  const StoreResult<Opened> opened = find(parts);
  if (!opened) return std::unexpected(opened.error());
  if (!end(parts)) return refused(Kind::absent);
  return {};
}

// Returns false if they have ended already.
bool LocalParts::end(const PartsId& parts) const {
  const std::string name = std::string(ended) + parts.id;
  const bool renamed =
      ::renameat(directory_.get(), parts.id.c_str(), directory_.get(), name.c_str()) == 0;
  if (!renamed) return false;
  remove_folder(directory_.get(), name);
  return true;
}

}  // namespace h2server::content
