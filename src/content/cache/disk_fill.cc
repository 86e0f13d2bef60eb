#include "content/cache/disk_fill.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "content/storage/commit_file.h"
#include "content/store/local_objects.h"
#include "file/calls.h"
#include "file/content.h"
#include "file/whole_file.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

constexpr std::size_t fill_bytes = 256 * 1024;  // a call on a thread costs less than its bytes
static_assert(disk_block_bytes % fill_bytes == 0);

}  // namespace

DiskFill::DiskFill(std::shared_ptr<DiskCache> cache, std::string name, ObjectInfo info,
                   DiskNames names)
    : cache_(std::move(cache)),
      name_(std::move(name)),
      names_(std::move(names)),
      head_({.info = std::move(info)}),
      temporary_(std::make_unique<TemporaryNames>(cache_->directory_.get(), 0600)),
      room_(std::make_unique_for_overwrite<char[]>(fill_bytes)) {}

std::unique_ptr<DiskFill> DiskFill::begin(std::shared_ptr<DiskCache> cache, std::string name,
                                          ObjectInfo info) {
  DiskNames names = cache->names_of(name, info);
  if (!cache->claim(names, info.size)) return nullptr;
  auto fill = std::make_unique<DiskFill>(std::move(cache), std::move(name), std::move(info),
                                         std::move(names));
  const Result<void, int> created = fill->create();
  if (created) return fill;
  fill->cache_->report_write_failure(created.error());
  return nullptr;
}

DiskFill::~DiskFill() {
  cache_->release(names_);
  if (!files_.empty()) cache_->leave({std::move(temporary_), std::move(files_)});
}

Result<void, int> DiskFill::create() {
  Result<TemporaryNames::Created, int> created = temporary_->create();
  if (!created) return std::unexpected(created.error());
  files_.push_back(std::move(created->name));
  file_ = std::move(created->file);
  return {};
}

std::string_view DiskFill::take(std::string_view bytes) {
  const std::size_t count = std::min(bytes.size(), fill_bytes - held_);
  std::ranges::copy(bytes.substr(0, count), room_.get() + held_);
  held_ += count;
  return bytes.substr(count);
}

bool DiskFill::is_due() const noexcept {
  return held_ == fill_bytes || written_ + held_ >= head_.info.size;
}

DiskFill::State DiskFill::write() {
  if (written_ + held_ > head_.info.size) return State::failed;
  Result<void, int> done = write_room();
  const bool whole = written_ == head_.info.size;
  if (done && whole) done = commit();
  if (done) return whole ? State::complete : State::going_on;
  cache_->report_write_failure(done.error());
  return State::failed;
}

// Pieces of the size of the room, but for the last one, so a block ends with one of them.
Result<void, int> DiskFill::write_room() {
  const std::string_view bytes(room_.get(), held_);
  Result<void, int> done = file::write_all(file_.get(), bytes);
  if (!done) return done;
  digest_.update(bytes);
  written_ += held_;
  held_ = 0;
  cache_->index_.wrote(names_.digits, bytes.size());
  if (written_ % disk_block_bytes == 0 || written_ == head_.info.size) {
    head_.digests.push_back(digest_.finish());
    digest_ = Sha256();
  }
  return {};
}

// Without fsync: should the machine lose power, digests tell what has become of the file.
Result<void, int> DiskFill::commit() {
  const int directory = cache_->directory_.get();
  Result<TemporaryNames::Created, int> beside = temporary_->create();
  if (!beside) return std::unexpected(beside.error());
  files_.push_back(beside->name);
  Result<void, int> done = file::write_all(beside->file.get(), to_text(head_));
  if (!done) return done;
  // The date of the object, which is a part of the version.
  const timespec modified{.tv_sec = head_.info.modified_s, .tv_nsec = 0};
  const timespec times[2] = {modified, modified};
  if (::futimens(file_.get(), times) != 0) return std::unexpected(errno);
  // Another process may replace it as soon as it has its name.
  base::Fd file(::openat(directory, files_.front().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return std::unexpected(errno);
  done = rename_file(directory, beside->name, directory, names_.head(), Existing::replace);
  if (!done) return done;
  files_.pop_back();
  // What carries the lock gets its name last.
  done = rename_file(directory, files_.front(), directory, names_.bytes(), Existing::replace);
  if (!done) return done;
  files_.clear();
  return open(std::move(file));
}

Result<void, int> DiskFill::open(base::Fd file) {
  const auto version = file::version_of(file.get());
  if (!version) return std::unexpected(errno);
  const auto checks = std::make_shared<DiskChecks>(*version, 0);
  const std::int64_t now_s = base::unix_seconds();
  cache_->add({.names = names_,
               .bytes = head_.info.size,
               .used_s = now_s,
               .touched_s = now_s,
               .name = name_,
               .checks = checks});
  auto content = file::Content::map(*version, std::move(file));
  if (content == nullptr) return std::unexpected(ENOMEM);
  opened_ = {std::move(content), std::make_unique<DiskObject>(std::move(head_), checks)};
  return {};
}

// --- the body -----------------------------------------------------------------------------------

Task<Result<std::string_view>> FillingBody::read() {
  Result<std::string_view> piece = co_await body_->read();
  if (fill_ == nullptr) co_return piece;
  if (piece && !piece->empty()) {
    co_await keep(*piece);
  } else {
    fill_.reset();  // it broke off, or is shorter than the object
  }
  co_return piece;
}

Task<void> FillingBody::keep(std::string_view piece) {
  while (fill_ != nullptr && !piece.empty()) {
    piece = fill_->take(piece);
    if (!fill_->is_due()) continue;
    auto work = [this] { return fill_->write(); };
    const std::optional<DiskFill::State> state =
        co_await file::run_waiting(io::Engine::current(), std::move(work));
    if (state == DiskFill::State::going_on) continue;
    if (state == DiskFill::State::complete) filled_(fill_->take_opened());
    fill_.reset();
  }
}

}  // namespace h2server::content
