#include "content/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/clock.h"
#include "content/mime.h"
#include "content/open_beneath.h"
#include "http/date.h"

namespace h2server::content {

namespace {

FileVersion version_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified_s = status.st_mtim.tv_sec,
          .modified_ns = status.st_mtim.tv_nsec,
          .changed_s = status.st_ctim.tv_sec,
          .changed_ns = status.st_ctim.tv_nsec,
          .links = status.st_nlink};
}

// What is sent ahead of a response is made once, with the file.
void make_heads(File& file) {
  const std::string size = fmt::format("{}", file.version.size);
  file.h1_head = fmt::format(
      "HTTP/1.1 200 OK\r\nServer: h2server\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Last-Modified: {}\r\nETag: {}\r\nAccept-Ranges: bytes\r\n",
      file.content_type, size, file.last_modified, file.etag);
  // The size of an empty string's views is that of the head's text, which never moves again.
  const std::string_view head = file.h1_head;
  const std::size_t at = head.find("Content-Length: ") + 16;
  file.h2_fields = {{":status", "200"},
                    {"server", "h2server"},
                    {"content-type", file.content_type},
                    {"content-length", head.substr(at, size.size())},
                    {"last-modified", file.last_modified},
                    {"etag", file.etag},
                    {"accept-ranges", "bytes"}};
}

void describe(File& file, std::string_view path) {
  const FileVersion& version = file.version;
  file.content_type = mime_type(path);
  file.etag = fmt::format("\"{:x}-{:x}-{:x}{:08x}\"", version.inode, version.size,
                          version.changed_s, version.changed_ns);
  std::array<char, http::date_size> date;
  // RFC 9110, 8.8.2.1: never in the future, whatever the file says.
  http::format_date(std::min(version.modified_s, base::unix_seconds()), date);
  file.last_modified.assign(date.data(), date.size());
  make_heads(file);
}

// False when the file was changed meanwhile, or can't be read.
Task<bool> hold_content(io::Engine* engine, File& file, int descriptor) {
  const auto size = static_cast<std::size_t>(file.version.size);
  file.held = std::make_unique_for_overwrite<char[]>(size);
  file.bytes = file.held.get();
  for (std::size_t done = 0; done < size;) {
    const std::span<char> room(file.held.get() + done, size - done);
    const int count = co_await io::make_call(engine, io::FileCall::read(descriptor, room, done));
    if (count == -EINTR) continue;
    if (count <= 0) co_return false;
    done += static_cast<std::size_t>(count);
  }
  struct stat after{};
  co_return ::fstat(descriptor, &after) == 0 && version_of(after) == file.version;
}

bool map_content(File& file, base::Fd descriptor) {
  void* const start =
      ::mmap(nullptr, file.version.size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (start == MAP_FAILED) return false;
  file.bytes = static_cast<const char*>(start);
  file.mapped = true;
  file.descriptor = descriptor.release();
  return true;
}

Lookup::Kind kind_of_error(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:  // a socket's or a device's name
    case ENODEV:
    case EOVERFLOW:
      return Lookup::Kind::absent;
    case EACCES:
    case EPERM:
      return Lookup::Kind::forbidden;
    default:  // EMFILE, ENFILE, ENOMEM, EIO, EAGAIN
      return Lookup::Kind::failed;
  }
}

// The thread gives it up to open a file when connections have taken all descriptors.
thread_local base::Fd spare;

void take_spare() {
  if (!spare.valid()) spare = base::Fd(::open("/dev/null", O_PATH | O_CLOEXEC));
}

bool is_mapped(const Lookup& lookup) { return lookup.file != nullptr && lookup.file->mapped; }

}  // namespace

std::optional<FileVersion> version_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return version_of(status);
}

bool is_settled(const FileVersion& version) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  constexpr std::int64_t tick_ns = 20'000'000;  // two ticks at 100 Hz
  // A file's time may lie centuries away, which is more than 64 bits of nanoseconds.
  const std::int64_t age_s = now.tv_sec - version.changed_s;
  if (age_s < 0 || age_s > 1) return age_s > 0;
  return age_s * 1'000'000'000 + now.tv_nsec - version.changed_ns > tick_ns;
}

FileCache::FileCache(int root, const FileCacheLimits& limits) : root_(root), limits_(limits) {
  take_spare();
}
FileCache::~FileCache() = default;

const Lookup* FileCache::known(std::string_view path, std::int64_t now_ms) {
  const auto found = index_.find(path);
  if (found == index_.end()) return nullptr;
  const Entries::iterator entry = found->second;
  entries_.splice(entries_.begin(), entries_, entry);
  // What is mapped shows a change at once, so it must be seen at once: the head is still to be
  // sent.
  const FileRef& file = entry->lookup.file;
  const bool current = file == nullptr || file->unchanged();
  return current && now_ms - entry->checked_ms < limits_.fresh_ms ? &entry->lookup : nullptr;
}

Task<Lookup> FileCache::find(io::Engine* engine, std::string path, std::int64_t now_ms) {
  if (const Lookup* const fresh = known(path, now_ms)) co_return *fresh;
  if (engine == nullptr) {
    Lookup lookup = co_await find_alone(nullptr, std::move(path), now_ms);
    co_return lookup;
  }
  const auto [loading, first] = loading_.try_emplace(path);
  if (!first) {
    Waiter waiter;
    loading->second.push_back(&waiter);
    co_await waiter.found.wait();
    // What is mapped may have been opened before a change that came before this question.
    const FileRef& file = waiter.lookup.file;
    if (file == nullptr || file->unchanged()) co_return std::move(waiter.lookup);
    Lookup lookup = co_await find_alone(engine, std::move(path), now_ms);
    co_return lookup;
  }
  Lookup lookup = co_await find_alone(engine, path, now_ms);
  const auto waiters = loading_.extract(path);
  for (Waiter* const waiter : waiters.mapped()) {
    waiter->lookup = lookup;
    waiter->found.set();
  }
  co_return lookup;
}

Task<Lookup> FileCache::find_alone(io::Engine* engine, std::string path, std::int64_t now_ms) {
  FileRef kept;
  if (const auto entry = index_.find(path); entry != index_.end() && entry->second->settled) {
    kept = entry->second->lookup.file;
  }
  Loaded loaded = co_await load(engine, path, kept);
  // Another request may have had the same wish meanwhile.
  const auto found = index_.find(path);
  if (found != index_.end()) {
    Entry& entry = *found->second;
    if (entry.lookup.kind == loaded.lookup.kind && entry.lookup.file == loaded.lookup.file) {
      entry.checked_ms = now_ms;
      co_return entry.lookup;
    }
    drop(found->second);
  }
  Entry entry{.path = std::move(path),
              .lookup = std::move(loaded.lookup),
              .checked_ms = now_ms,
              .settled = loaded.settled};
  co_return keep(std::move(entry));
}

Task<FileCache::Loaded> FileCache::load(io::Engine* engine, std::string path, FileRef kept) {
  constexpr int attempts_max = 3;  // a file may be written while it is read
  Loaded loaded;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    loaded = co_await load_once(engine, path, kept);
    take_spare();
    if (loaded.lookup.kind != Lookup::Kind::failed) break;
  }
  co_return loaded;
}

Task<FileCache::Loaded> FileCache::load_once(io::Engine* engine, const std::string& path,
                                             FileRef kept) {
  Loaded loaded;
  loaded.lookup.kind = Lookup::Kind::failed;
  Result<base::Fd, int> opened = co_await open_beneath(engine, root_, path, O_RDONLY);
  const bool short_of_descriptors =
      !opened && (opened.error() == EMFILE || opened.error() == ENFILE);
  if (short_of_descriptors) {
    spare.close();
    opened = co_await open_beneath(engine, root_, path, O_RDONLY);
  }
  if (!opened) {
    loaded.lookup.kind = kind_of_error(opened.error());
    co_return loaded;
  }
  // An open file's attributes are in memory: no disk is waited for.
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) co_return loaded;
  if (!S_ISREG(status.st_mode)) {
    loaded.lookup.kind = S_ISDIR(status.st_mode) ? Lookup::Kind::directory : Lookup::Kind::absent;
    co_return loaded;
  }
  const FileVersion version = version_of(status);
  if (kept != nullptr && kept->version == version) {
    loaded.lookup = {Lookup::Kind::file, std::move(kept)};
    co_return loaded;
  }
  auto file = std::make_shared<File>();
  file->version = version;
  loaded.settled = is_settled(version);
  bool complete = false;
  if (version.size <= limits_.held_bytes_max) {
    complete = co_await hold_content(engine, *file, opened->get());
  } else {
    complete = map_content(*file, *std::move(opened));
  }
  if (!complete) co_return loaded;
  describe(*file, path);
  loaded.lookup = {Lookup::Kind::file, std::move(file)};
  co_return loaded;
}

std::size_t FileCache::cost(const Entry& entry) noexcept {
  const File* const file = entry.lookup.file.get();
  return entry.path.size() + (file != nullptr ? static_cast<std::size_t>(file->version.size) : 0);
}

// Keeps the entry, at the cost of the least recently used. What failed may succeed the next time,
// and what is larger than all else together is served without being kept.
Lookup FileCache::keep(Entry entry) {
  Lookup lookup = entry.lookup;
  const std::size_t bytes = cost(entry);
  if (lookup.kind == Lookup::Kind::failed || bytes > limits_.bytes_max) return lookup;
  make_room(bytes, is_mapped(lookup));
  mapped_ += is_mapped(lookup) ? 1 : 0;
  entries_.push_front(std::move(entry));
  index_.emplace(entries_.front().path, entries_.begin());
  bytes_ += bytes;
  return lookup;
}

void FileCache::make_room(std::size_t bytes, bool mapped) {
  while (!entries_.empty() &&
         (entries_.size() >= limits_.entries_max || bytes_ + bytes > limits_.bytes_max)) {
    drop(std::prev(entries_.end()));
  }
  if (!mapped || mapped_ < limits_.mapped_max) return;
  const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(),
                                   [](const Entry& entry) { return is_mapped(entry.lookup); });
  drop(std::prev(oldest.base()));
}

void FileCache::drop(Entries::iterator entry) {
  mapped_ -= is_mapped(entry->lookup) ? 1 : 0;
  bytes_ -= cost(*entry);
  index_.erase(entry->path);
  entries_.erase(entry);
}

}  // namespace h2server::content
