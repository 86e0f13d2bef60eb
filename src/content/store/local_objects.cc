#include "content/store/local_objects.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "content/names/object_key.h"
#include "content/storage/commit_file.h"
#include "content/storage/directory_entries.h"
#include "content/storage/upload_file.h"
#include "content/store/store_refusals.h"
#include "file/open_beneath.h"
#include "http/file_head.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<base::Fd, int> make_object_folder(int directory, const std::string& name) {
  if (::mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(errno);
  }
  base::Fd folder(::openat(directory, name.c_str(), folder_flags));
  if (!folder.valid()) return std::unexpected(errno);
  return folder;
}

// Of an object, or of a folder, which has none.
struct FolderItem {
  std::string name;  // a folder's has a "/" at the end
  std::uint64_t size = 0;
  std::int64_t modified_s = 0;
};

// Returns nullopt for what is neither.
std::optional<FolderItem> entry_of(int directory, const std::string& name) {
  const auto opened = file::open_beneath_now(directory, name, O_PATH);
  struct stat status{};
  if (!opened || ::fstat(opened->get(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return FolderItem{.name = name + '/'};
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FolderItem{.name = name,
                    .size = static_cast<std::uint64_t>(status.st_size),
                    .modified_s = status.st_mtim.tv_sec};
}

StoreResult<void> check_for_reading(const ObjectInfo& info, const StoreConditions& conditions) {
  if (!conditions.if_match.empty() && conditions.if_match != info.etag) {
    return refused(Kind::precondition);
  }
  if (!conditions.if_none_match.empty() && conditions.if_none_match == info.etag) {
    return std::unexpected(StoreError{.kind = Kind::not_modified, .info = info});
  }
  return {};
}

// Its errors are those of a folder that is gone again, or of a disk that fails later calls, too.
void sync_folder(int directory, const std::string& path) {
  const auto folder = file::open_beneath_now(directory, path, O_RDONLY | O_DIRECTORY);
  if (folder) static_cast<void>(sync_directory(folder->get()));
}

}  // namespace

bool is_local_key(std::string_view key) noexcept {
  return is_object_key(key) && key.find('\0') == key.npos &&
         key.substr(0, key.find('/')) != LocalObjects::own_folder;
}

ObjectInfo object_info(const file::FileVersion& version) {
  return {.size = version.size,
          .etag = http::FileHead(version, {}, 0).etag,
          .modified_s = std::max<std::int64_t>(version.modified_s, 0)};
}

StoreError read_failure(int code) {
  const std::string reason = "can't read: " + std::generic_category().message(code);
  switch (code) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:  // a socket
      return {.kind = Kind::absent};
    case EACCES:
    case EPERM:
      return {.kind = Kind::denied, .reason = reason};
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return {.kind = Kind::busy, .reason = reason};
    default:
      return {.kind = Kind::failed, .reason = reason};
  }
}

StoreError write_failure(int code) {
  if (code == EEXIST) return {.kind = Kind::precondition};
  if (code == EISDIR) return {.reason = "a folder has the name of the object"};
  if (code == ENOTDIR || code == ELOOP) {
    return {.reason = "something else has the name of the object's folder"};
  }
  StoreError error = read_failure(code);
  error.reason = "can't write: " + std::generic_category().message(code);
  if (code == EROFS) error.kind = Kind::denied;
  if (error.kind == Kind::absent) error.kind = Kind::failed;
  return error;
}

Result<std::unique_ptr<LocalObjects>, int> LocalObjects::open(const std::string& directory) {
  base::Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return std::unexpected(errno);
  auto own = make_object_folder(folder.get(), std::string(own_folder));
  if (!own) return std::unexpected(own.error());
  auto received = make_object_folder(own->get(), "received");
  if (!received) return std::unexpected(received.error());
  const Result<void, int> removed = remove_abandoned(received->get());
  if (!removed) return std::unexpected(removed.error());
  return std::make_unique<LocalObjects>(std::move(folder), *std::move(own), *std::move(received));
}

// --- reading ----------------------------------------------------------------------------------

StoreResult<LocalObjects::Opened> LocalObjects::open_object(
    const std::string& key, const StoreConditions& conditions) const {
  if (!is_local_key(key)) return refused(Kind::absent);
  auto file = file::open_beneath_now(directory_.get(), key, O_RDONLY);
  if (!file) return std::unexpected(read_failure(file.error()));
  struct stat status{};
  const auto version = file::version_of(file->get());
  if (!version || ::fstat(file->get(), &status) != 0) return std::unexpected(read_failure(errno));
  if (!S_ISREG(status.st_mode)) return refused(Kind::absent);
  Opened opened{.file = *std::move(file), .info = object_info(*version)};
  const StoreResult<void> checked = check_for_reading(opened.info, conditions);
  if (!checked) return std::unexpected(checked.error());
  return opened;
}

// By the order of the keys: that of a folder has a "/" behind its name.
StoreResult<ListPage> LocalObjects::list(const ListOptions& options) const {
  if (!is_key_prefix(options.prefix)) return refused(Kind::absent);
  ListPage page;
  const std::string path = options.prefix.substr(0, options.prefix.size() - 1);
  if (!options.prefix.empty() && !is_local_key(path)) return page;
  const auto folder = file::open_beneath_now(directory_.get(), options.prefix.empty() ? "." : path,
                                             O_RDONLY | O_DIRECTORY);
  const StoreError error = folder ? StoreError() : read_failure(folder.error());
  if (!folder && error.kind == Kind::absent) return page;
  if (!folder) return std::unexpected(error);
  std::vector<FolderItem> entries;
  const Result<void, int> read = for_each_entry(folder->get(), [&](const char* name) {
    if (!is_local_key(options.prefix + name)) return true;
    std::optional<FolderItem> entry = entry_of(folder->get(), name);
    if (entry && entry->name > options.after) entries.push_back(*std::move(entry));
    return true;
  });
  if (!read) return std::unexpected(read_failure(read.error()));
  std::ranges::sort(entries, {}, &FolderItem::name);
  const std::size_t count = std::min(entries.size(), std::max<std::size_t>(options.entries_max, 1));
  if (count < entries.size()) page.next = entries[count - 1].name;
  entries.resize(count);
  for (FolderItem& entry : entries) {
    if (entry.name.ends_with('/')) {
      page.folders.push_back(entry.name.substr(0, entry.name.size() - 1));
    } else {
      page.objects.push_back({std::move(entry.name), entry.size, entry.modified_s});
    }
  }
  return page;
}

// --- writing ----------------------------------------------------------------------------------

// Held until the descriptor is closed.
Result<base::Fd, int> LocalObjects::lock() const {
  base::Fd file(::openat(own_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return std::unexpected(errno);
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(errno);  // ENOLCK
  }
  return file;
}

StoreResult<ObjectInfo> LocalObjects::put(const std::string& key, const PutOptions& options,
                                          const Write& write) const {
  if (!is_local_key(key)) return refused(Kind::absent);
  TemporaryNames names(received_.get(), 0644, TemporaryNames::Lock::in_first_file);
  const auto created = names.create();
  if (!created) return std::unexpected(write_failure(created.error()));
  const StoreResult<void> written = write(created->file.get());
  StoreResult<ObjectInfo> info = written ? commit(created->file.get(), created->name, key, options)
                                         : std::unexpected(written.error());
  if (!info) ::unlinkat(received_.get(), created->name.c_str(), 0);
  return info;
}

StoreResult<ObjectInfo> LocalObjects::commit(int file, const std::string& temporary,
                                             const std::string& key,
                                             const PutOptions& options) const {
  const Result<void, int> synced = sync_file(file);
  if (!synced) return std::unexpected(write_failure(synced.error()));
  std::optional<file::FileVersion> version;
  std::vector<std::string> made;
  {
    const Result<base::Fd, int> locked = lock();
    if (!locked) return std::unexpected(write_failure(locked.error()));
    auto parent = open_upload_parent(directory_.get(), key, true);
    if (!parent) return std::unexpected(write_failure(parent.error()));
    made = std::move(parent->made);
    const StoreResult<void> renamed = rename_checked(temporary, key, *parent, options);
    if (!renamed) {
      remove_made_folders(directory_.get(), made);
      return std::unexpected(renamed.error());
    }
    version = file::version_of(file);
  }
  sync_folder(directory_.get(), std::string(folder_of(key)));
  for (const std::string& folder : made) {
    sync_folder(directory_.get(), std::string(folder_of(folder)));
  }
  if (!version) return refused(Kind::failed, "can't read the state of the file");
  return object_info(*version);
}

// Nobody else writes meanwhile.
StoreResult<void> LocalObjects::rename_checked(const std::string& temporary, const std::string& key,
                                               const UploadParent& parent,
                                               const PutOptions& options) const {
  if (!options.if_match.empty()) {
    const StoreResult<Opened> found = open_object(key, {});
    if (!found) return std::unexpected(found.error());
    if (found->info.etag != options.if_match) return refused(Kind::precondition);
  }
  const Existing existing = options.must_be_new ? Existing::refuse : Existing::replace;
  const Result<void, int> renamed =
      rename_file(received_.get(), temporary, parent.directory.get(), parent.name, existing);
  if (!renamed) return std::unexpected(write_failure(renamed.error()));
  return {};
}

StoreResult<void> LocalObjects::remove(const std::string& key) const {
  if (!is_local_key(key)) return {};
  {
    const Result<base::Fd, int> locked = lock();
    if (!locked) return std::unexpected(write_failure(locked.error()));
    const auto parent = open_upload_parent(directory_.get(), key, false);
    if (!parent) {
      const StoreError error = read_failure(parent.error());
      return error.kind == Kind::absent ? StoreResult<void>() : std::unexpected(error);
    }
    if (::unlinkat(parent->directory.get(), parent->name.c_str(), 0) != 0) {
      if (errno == ENOENT || errno == EISDIR || errno == ENAMETOOLONG) return {};
      return std::unexpected(write_failure(errno));
    }
    remove_empty_folders(std::string(folder_of(key)));
  }
  sync_folder(directory_.get(), std::string(folder_of(key)));
  return {};
}

// An object store has no folders but those of its keys.
void LocalObjects::remove_empty_folders(std::string path) const {
  while (!path.empty()) {
    // ENOTEMPTY
    if (::unlinkat(directory_.get(), path.c_str(), AT_REMOVEDIR) != 0) break;
    path.resize(folder_of(path).size());
  }
  sync_folder(directory_.get(), path);
}

}  // namespace h2server::content
