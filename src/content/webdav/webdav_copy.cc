// Copies of files and folders: made under a temporary name, and put in place when they are whole.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "content/storage/commit_file.h"
#include "content/storage/directory_entries.h"
#include "content/storage/upload_file.h"
#include "content/webdav/webdav_dead_properties.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_places.h"
#include "content/webdav/webdav_tree.h"
#include "file/whole_file.h"

namespace h2server::content {

namespace {

constexpr std::size_t piece_bytes = 8 * 1024 * 1024;  // copied between looks at the free space
constexpr std::size_t buffer_bytes = 1024 * 1024;     // of a copy that the kernel can't make

// Copies at most `bytes` from where both files are. Returns the count; 0 at the end. The kernel may
// share blocks instead. The error is an errno value.
Result<std::size_t, int> copy_piece(int from, int to, std::size_t bytes) {
  for (;;) {
    const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, bytes, 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) continue;
    // These file systems can't, or not with each other.
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
      return std::unexpected(errno);
    }
    break;
  }
  std::string buffer(std::min(bytes, buffer_bytes), '\0');
  ssize_t count = 0;
  do {
    count = ::read(from, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return std::unexpected(errno);  // EIO
  const auto size = static_cast<std::size_t>(count);
  const Result<void, int> written = file::write_all(to, std::string_view(buffer).substr(0, size));
  if (!written) return std::unexpected(written.error());
  return size;
}

// Returns the status of the refusal.
Result<void, int> status_of_verdict(UploadSpace::Verdict verdict) {
  switch (verdict) {
    case UploadSpace::Verdict::granted:
      break;
    case UploadSpace::Verdict::directory_full:
      return std::unexpected(413);
    case UploadSpace::Verdict::disk_full:
      return std::unexpected(507);
  }
  return {};
}

// Errors are statuses.
class Copier {
 public:
  Copier(UploadDirectory& directory, const CopyOptions& options)
      : directory_(directory),
        options_(options),
        spares_(directory.fd()),
        claim_(directory.space(), options.uploads) {}

  // Checks that there is room for `bytes`, and that they may be copied.
  Result<void, int> expect(std::uint64_t bytes) {
    const Result<void, int> room = status_of_verdict(claim_.expect(bytes, 0));
    return room ? charge(bytes) : room;
  }
  // Copies the entry `source` to `target`, where nothing is, or a file that a file replaces. `path`
  // is where it will be found.
  void copy(const Place& source, const Place& target, const std::string& path);
  // Counts what was copied as stored, in place of `replaced` bytes.
  void keep(std::uint64_t replaced) noexcept { claim_.keep(replaced + dropped_); }

  [[nodiscard]] SparePlaces& spares() noexcept { return spares_; }
  [[nodiscard]] TreeFailures& failures() noexcept { return failures_; }
  [[nodiscard]] bool stopped() const noexcept { return file::is_set(options_.stop); }
  // Of the files that were copied whole.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Result<void, int> charge(std::uint64_t bytes) {
    if (options_.charge && !options_.charge(bytes)) return std::unexpected(413);
    charged_ += bytes;
    return {};
  }
  Result<void, int> copy_file(const Place& source, const Place& target);
  Result<void, int> copy_bytes(int from, int to);
  Result<void, int> fill(const TemporaryNames::Created& made, int from, const Place& target);
  void copy_folder(const Place& source, const Place& target, const std::string& path);
  void copy_entry(const Place& source, const Place& target, const std::string& path);
  void copy_found(const FileState& state, const Place& source, const Place& target,
                  const std::string& path);

  UploadDirectory& directory_;
  const CopyOptions& options_;
  SparePlaces spares_;
  UploadClaim claim_;
  std::uint64_t bytes_ = 0;
  std::uint64_t begun_ = 0;    // of all files that it has begun to copy
  std::uint64_t charged_ = 0;  // of these, and of those to come
  std::uint64_t dropped_ = 0;  // bytes of the claim that were written in vain
  TreeFailures failures_;
};

void Copier::copy(const Place& source, const Place& target, const std::string& path) {
  const Result<FileState, int> state = look_at(source.folder.get(), source.name);
  if (!state) return add_failure(failures_, path, false, status_of_error(state.error()));
  copy_found(*state, source, target, path);
}

// Of a folder, an entry may be gone.
void Copier::copy_entry(const Place& source, const Place& target, const std::string& path) {
  const Result<FileState, int> state = look_at(source.folder.get(), source.name);
  if (state) copy_found(*state, source, target, path);
}

void Copier::copy_found(const FileState& state, const Place& source, const Place& target,
                        const std::string& path) {
  if (stopped()) return add_failure(failures_, path, false, 503);
  if (state.is_folder) return copy_folder(source, target, path);
  const Result<void, int> copied = copy_file(source, target);
  if (!copied) add_failure(failures_, path, false, copied.error());
}

Result<void, int> Copier::copy_file(const Place& source, const Place& target) {
  const base::Fd from(::openat(source.folder.get(), source.name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!from.valid()) return std::unexpected(status_of_error(errno));
  const Result<TemporaryNames::Created, int> made = spares_.create_file();
  if (!made) return std::unexpected(status_of_error(made.error()));
  const Result<void, int> filled = fill(*made, from.get(), target);
  const off_t size = ::lseek(made->file.get(), 0, SEEK_CUR);
  if (size > 0) (filled ? bytes_ : dropped_) += static_cast<std::uint64_t>(size);
  if (filled) return filled;
  ::unlinkat(directory_.fd(), made->name.c_str(), 0);
  return filled;
}

Result<void, int> Copier::fill(const TemporaryNames::Created& made, int from, const Place& target) {
  const Result<void, int> copied = copy_bytes(from, made.file.get());
  if (!copied) return copied;
  // A file system without attributes, or with too little room, keeps the content alone.
  if (const std::string properties = read_raw_properties(from); !properties.empty()) {
    (void)write_raw_properties(made.file.get(), properties);
  }
  const Existing existing = options_.replace ? Existing::replace : Existing::refuse;
  const Result<void, int> done =
      commit_file(made.file.get(), directory_.fd(), made.name, target.folder.get(), target.name,
                  existing, options_.uploads.durability);
  if (done) return {};
  return std::unexpected(done.error() == EEXIST ? 412 : status_of_error(done.error()));
}

Result<void, int> Copier::copy_bytes(int from, int to) {
  struct stat status{};
  if (::fstat(from, &status) != 0) return std::unexpected(status_of_error(errno));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t most = options_.uploads.file_bytes_max;
  if (most != 0 && size > most) return std::unexpected(413);
  begun_ += size;
  if (begun_ > charged_) {  // the source has grown meanwhile
    const Result<void, int> paid = charge(begun_ - charged_);
    if (!paid) return paid;
  }
  std::uint64_t done = 0;
  while (done < size) {
    if (stopped()) return std::unexpected(503);
    const std::uint64_t wanted = std::min<std::uint64_t>(size - done, piece_bytes);
    const Result<void, int> covered = status_of_verdict(claim_.cover(wanted));
    if (!covered) return covered;
    const Result<std::size_t, int> count = copy_piece(from, to, wanted);
    if (!count) return std::unexpected(status_of_error(count.error()));
    if (*count == 0) break;  // it became shorter
    done += *count;
    claim_.wrote(*count);
  }
  return {};
}

void Copier::copy_folder(const Place& source, const Place& target, const std::string& path) {
  if (depth_of(path) >= TreeLimits::depth_max) return add_failure(failures_, path, true, 403);
  Place from{open_subfolder(source.folder.get(), source.name), {}};
  if (!from.folder.valid()) return add_failure(failures_, path, true, status_of_error(errno));
  if (::mkdirat(target.folder.get(), target.name.c_str(), 0755) != 0) {
    return add_failure(failures_, path, true, status_of_error(errno));
  }
  Place to{open_subfolder(target.folder.get(), target.name), {}};
  if (!to.folder.valid()) return add_failure(failures_, path, true, status_of_error(errno));
  if (const std::string properties = read_raw_properties(from.folder.get()); !properties.empty()) {
    (void)write_raw_properties(to.folder.get(), properties);
  }
  if (options_.shallow) return;
  const Result<void, int> done = for_each_entry(from.folder.get(), [&](const char* name) {
    if (!is_visible_name(name)) return true;
    from.name = to.name = name;
    copy_entry(from, to, join_path(path, name));
    return true;
  });
  if (!done) add_failure(failures_, path, true, status_of_error(done.error()));
  sync_names(to.folder.get(), options_.uploads);
}

// --- places -----------------------------------------------------------------------------------

// Copies to a spare place and then takes the target's, where something is if `exists`. Returns
// whether the copy is there.
bool copy_beside(UploadDirectory& directory, Copier& copier, const Place& source,
                 const Place& target, const std::string& to, bool exists) {
  const Result<Place, int> copy = copier.spares().next();
  const Result<Place, int> spare = copier.spares().next();
  for (const Result<Place, int>* const place : {&copy, &spare}) {
    if (*place) continue;
    add_failure(copier.failures(), to, true, status_of_error(place->error()));
    return false;
  }
  copier.copy(source, *copy, to);
  copier.keep(0);  // what is removed below counts no more
  const Result<FileState, int> made = look_at(copy->folder.get(), copy->name);
  if (!made) return false;
  bool placed = false;
  const bool all_or_nothing = exists || copier.stopped();
  if (!all_or_nothing || copier.failures().empty()) {
    const Result<void, int> done = exists ? exchange_places(*copy, target, *spare)
                                          : put_in_place(*copy, target, made->is_folder, false);
    placed = done.has_value();
    if (!placed) {
      const int status = done.error() == EEXIST ? 412 : status_of_error(done.error());
      add_failure(copier.failures(), to, made->is_folder, status);
    }
  }
  // The copy, or what was replaced. What can't be removed is not shown.
  if (!placed || exists) (void)remove_place(directory, *copy, to);
  return placed;
}

}  // namespace

TreeOutcome copy_tree(UploadDirectory& directory, const std::string& from, const std::string& to,
                      const CopyOptions& options) {
  const auto fail = [&to](int status) { return TreeOutcome{.failures = {{to, false, status}}}; };
  const Result<Place, int> source = open_place(directory.fd(), from);
  if (!source) return fail(status_of_error(source.error()));
  const Result<Place, int> target = open_place(directory.fd(), to);
  if (!target) return fail(status_without_folder(target.error()));
  const Result<FileState, int> copied = look_at(source->folder.get(), source->name);
  if (!copied) return fail(status_of_error(copied.error()));
  const Result<FileState, int> before = look_at(target->folder.get(), target->name);
  if (before && !options.replace) return fail(412);
  if (before && before->is_folder) {
    TreeSum old = sum_tree(*target, to, options.stop);
    if (!old.obstacles.empty()) return {.failures = std::move(old.obstacles)};
  }
  Copier copier(directory, options);
  const bool nothing_in_it = copied->is_folder && options.shallow;
  const std::uint64_t bytes = nothing_in_it ? 0 : sum_tree(*source, from, options.stop).bytes;
  if (const Result<void, int> room = copier.expect(bytes); !room) return fail(room.error());
  TreeOutcome outcome;
  bool there = true;
  if (copied->is_folder || (before && before->is_folder)) {
    if (before) outcome.replaced = TreeOutcome::Replaced::tree;
    there = copy_beside(directory, copier, *source, *target, to, before.has_value());
  } else {
    if (before) outcome.replaced = TreeOutcome::Replaced::file;
    copier.copy(*source, *target, to);
    if (copier.failures().empty()) copier.keep(before ? before->version.size : 0);
  }
  if (there) outcome.bytes = copier.bytes();
  sync_names(target->folder.get(), options.uploads);
  outcome.failures = std::move(copier.failures());
  return outcome;
}

}  // namespace h2server::content
