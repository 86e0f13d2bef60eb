#include "content/archive/archive_walk.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "content/archive/open_entry.h"
#include "content/archive/tar.h"
#include "content/archive/zip.h"
#include "content/names/file_name.h"
#include "content/storage/directory_entries.h"

namespace h2server::content {

namespace {

constexpr Error too_many_names{0, "archive: the folders have too many names"};

std::unique_ptr<ArchiveFraming> make_framing(ArchiveFormat format) {
  switch (format) {
    case ArchiveFormat::tar:
      return std::make_unique<TarFraming>();
    case ArchiveFormat::zip:
      return std::make_unique<ZipFraming>();
  }
  ASSERT(!"an archive format");
  return nullptr;
}

// Makes one segment of what the caller calls the archive's top folder.
std::string top_name(std::string name, ArchiveFormat format) {
  std::ranges::replace(name, '/', '_');
  if (name.empty() || name == "." || name == "..") name = "files";
  return format == ArchiveFormat::zip ? zip_name(name) : name;
}

}  // namespace

ArchiveWalk::ArchiveWalk(std::shared_ptr<const file::Folder> folder, std::string path,
                         std::string name, ArchiveFormat format, ArchiveOptions options,
                         const ArchiveLimits& limits)
    : folder_(std::move(folder)),
      format_(format),
      options_(options),
      limits_(limits),
      framing_(make_framing(format)),
      path_(std::move(path)),
      archive_path_(top_name(std::move(name), format)) {
  ASSERT(folder_ != nullptr);
}

Result<void> ArchiveWalk::step(std::string& out) {
  for (std::size_t turn = 0; turn < limits_.entries_per_step && !ended(); ++turn) {
    if (out.size() >= limits_.piece_bytes) break;
    Result<void> advanced = advance(out);
    if (!advanced) return advanced;
  }
  return {};
}

Result<void> ArchiveWalk::advance(std::string& out) {
  switch (state_) {
    case State::start:
      return open_top(out);
    case State::entries:
      return next_entry(out);
    case State::content:
      return read_content(out);
    case State::report:
      return report(out);
    case State::finish:
      if (!framing_->finish(out)) state_ = State::ended;
      return {};
    case State::ended:
      break;
  }
  return {};
}

Result<void> ArchiveWalk::open_top(std::string& out) {
  const Result<OpenedEntry, int> top = open_folder(folder_->fd(), path_);
  if (!top) return std::unexpected(Error{top.error(), "archive: can't open the folder"});
  state_ = State::entries;
  Result<void> entered = enter({path_, archive_path_}, top->descriptor, top->status, out);
  if (entered && levels_.empty()) {
    return std::unexpected(Error{0, "archive: can't read the folder"});
  }
  return entered;
}

Result<void> ArchiveWalk::next_entry(std::string& out) {
  Level& level = levels_.back();
  const std::string_view name = level.names.next();
  if (name.empty()) {
    leave();
    return {};
  }
  Place place{path_, archive_path_ + '/'};
  if (!place.path.empty()) place.path += '/';
  place.path += name;
  if (format_ == ArchiveFormat::zip) {
    place.archive_path += level.zip_names.next(name);
  } else {
    place.archive_path += name;
  }
  return visit(place, out);
}

Result<void> ArchiveWalk::visit(const Place& place, std::string& out) {
  Result<OpenedEntry, int> opened = open_entry(folder_->fd(), place.path);
  if (!opened) return leave_out(place, opened.error());
  switch (opened->kind) {
    case OpenedEntry::Kind::file:
      return begin_file(place, std::move(opened->descriptor), opened->status, out);
    case OpenedEntry::Kind::directory:
      return enter(place, opened->descriptor, opened->status, out);
    case OpenedEntry::Kind::other:
      break;
  }
  return {};
}

std::size_t ArchiveWalk::bytes_held() const noexcept {
  std::size_t bytes = framing_->bytes_held();
  for (const Level& level : levels_) bytes += level.names.bytes();
  return bytes;
}

bool ArchiveWalk::archives(std::string_view name) const {
  if (name == "." || name == ".." || name.starts_with(temporary_file_prefix)) return false;
  return options_.hidden || !name.starts_with('.');
}

Result<ArchiveWalk::Level, int> ArchiveWalk::read_names(int folder, bool& too_many) const {
  std::size_t bytes_left = limits_.names_bytes_max;
  for (const Level& level : levels_) bytes_left -= std::min(bytes_left, level.names.bytes());
  Level level;
  const Result<void, int> walked = for_each_entry(folder, [&](const char* entry) {
    if (!archives(entry)) return true;
    level.names.add(entry);
    if (format_ == ArchiveFormat::zip) level.zip_names.expect(entry);
    too_many = level.names.bytes() > bytes_left;
    return !too_many;
  });
  if (!walked) return std::unexpected(walked.error());
  level.names.sort();
  return level;
}

Result<void> ArchiveWalk::enter(const Place& place, const base::Fd& folder,
                                const struct stat& status, std::string& out) {
  if (levels_.size() == limits_.depth_max) {
    omissions_.add(place.archive_path, "too many folders above it");
    return {};
  }
  bool too_many = false;
  Result<Level, int> level = read_names(folder.get(), too_many);
  if (!level) return leave_out(place, level.error());
  if (too_many) return std::unexpected(too_many_names);
  Result<void> begun = framing_->begin({.path = place.archive_path,
                                        .kind = ArchiveEntry::Kind::directory,
                                        .size = 0,
                                        .modified_s = status.st_mtim.tv_sec},
                                       out);
  if (!begun) return begun;
  framing_->end(out);
  path_ = place.path;
  archive_path_ = place.archive_path;
  level->path_bytes = path_.size();
  level->archive_bytes = archive_path_.size();
  levels_.push_back(*std::move(level));
  return {};
}

void ArchiveWalk::leave() {
  if (levels_.size() == 1) {
    state_ = State::report;
    return;
  }
  levels_.pop_back();
  path_.resize(levels_.back().path_bytes);
  archive_path_.resize(levels_.back().archive_bytes);
}

Result<void> ArchiveWalk::begin_file(const Place& place, base::Fd file, const struct stat& status,
                                     std::string& out) {
  remaining_ = static_cast<std::uint64_t>(status.st_size);
  Result<void> begun = framing_->begin({.path = place.archive_path,
                                        .kind = ArchiveEntry::Kind::file,
                                        .size = remaining_,
                                        .modified_s = status.st_mtim.tv_sec},
                                       out);
  if (!begun) return begun;
  file_ = std::move(file);
  offset_ = 0;
  state_ = State::content;
  if (remaining_ == 0) end_file(out);
  return {};
}

Result<void> ArchiveWalk::read_content(std::string& out) {
  const std::size_t before = out.size();
  const std::size_t room = limits_.piece_bytes - before;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(room, remaining_));
  out.resize(before + wanted);
  ssize_t got = -1;
  do {
    got = ::pread(file_.get(), out.data() + before, wanted, static_cast<off_t>(offset_));
  } while (got < 0 && errno == EINTR);
  // EIO, ESTALE, EISDIR and others alike: the content can't be had.
  if (got < 0) return std::unexpected(Error{errno, "archive: can't read a file"});
  if (got == 0) return std::unexpected(Error{0, "archive: a file has become shorter"});
  const auto size = static_cast<std::size_t>(got);
  out.resize(before + size);
  framing_->cover(std::string_view(out).substr(before));
  offset_ += size;
  remaining_ -= size;
  if (remaining_ == 0) end_file(out);
  return {};
}

void ArchiveWalk::end_file(std::string& out) {
  ASSERT(remaining_ == 0);
  framing_->end(out);
  file_.close();
  state_ = State::entries;
}

Result<void> ArchiveWalk::leave_out(const Place& place, int code) {
  if (!is_left_out(code)) return std::unexpected(Error{code, "archive: can't open a file"});
  omissions_.add(place.archive_path, std::strerror(code));
  return {};
}

Result<void> ArchiveWalk::report(std::string& out) {
  state_ = State::finish;
  if (omissions_.empty()) return {};
  constexpr int numbers_max = 100;  // a folder with all these names gets one twice
  const SortedNames& names = levels_.front().names;
  std::string name = "NOT INCLUDED.txt";
  for (int number = 2; number <= numbers_max && names.contains_ignoring_case(name); ++number) {
    name = fmt::format("NOT INCLUDED {}.txt", number);
  }
  const std::string text = omissions_.text();
  Result<void> begun = framing_->begin({.path = archive_path_ + '/' + name,
                                        .kind = ArchiveEntry::Kind::file,
                                        .size = text.size(),
                                        .modified_s = base::unix_seconds()},
                                       out);
  if (!begun) return begun;
  framing_->cover(text);
  out += text;
  framing_->end(out);
  return {};
}

}  // namespace h2server::content
