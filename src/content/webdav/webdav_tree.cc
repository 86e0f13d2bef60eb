#include "content/webdav/webdav_tree.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "content/names/file_name.h"
#include "content/storage/directory_entries.h"
#include "content/storage/pending_files.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_places.h"

namespace h2server::content {

namespace {

// Returns the names of the visible entries, at most TreeLimits::names_max. The error is an errno
// value.
Result<std::vector<std::string>, int> visible_names(int folder) {
  std::vector<std::string> names;
  const Result<void, int> done = for_each_entry(folder, [&names](const char* name) {
    if (is_visible_name(name)) names.emplace_back(name);
    return names.size() < TreeLimits::names_max;
  });
  if (!done) return std::unexpected(done.error());
  return names;
}

// --- removal ----------------------------------------------------------------------------------

class Remover {
 public:
  explicit Remover(const file::StopFlag* stop = nullptr) noexcept : stop_(stop) {}

  // Removes `name` of `parent`, which `path` leads to.
  void remove(int parent, const std::string& name, const std::string& path, unsigned depth = 0);
  [[nodiscard]] TreeFailures& failures() noexcept { return failures_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr int rounds_max = 1000;  // while others go on storing

  void remove_folder(int parent, const std::string& name, const std::string& path, unsigned depth);
  void fail(const std::string& path, bool is_folder, int status);
  void empty(int parent, const std::string& name, const std::string& path, unsigned depth);

  const file::StopFlag* const stop_;
  TreeFailures failures_;      // the first of them
  std::uint64_t failed_ = 0;   // entries
  std::uint64_t removed_ = 0;  // entries
  std::uint64_t bytes_ = 0;    // of removed files
};

void Remover::fail(const std::string& path, bool is_folder, int status) {
  ++failed_;
  add_failure(failures_, path, is_folder, status);
}

void Remover::remove(int parent, const std::string& name, const std::string& path, unsigned depth) {
  if (file::is_set(stop_)) return fail(path, false, 503);
  const Result<FileState, int> state = look_at(parent, name);
  if (!state) {
    // Gone meanwhile, or a link, which keeps its folder.
    if (state.error() != ENOENT || depth == 0) {
      fail(path, false, status_of_error(state.error()));
    }
    return;
  }
  if (state->is_folder) return remove_folder(parent, name, path, depth);
  if (::unlinkat(parent, name.c_str(), 0) != 0) {
    if (errno == ENOENT) return;  // another request removed it
    return fail(path, false, status_of_error(errno));
  }
  ++removed_;
  if (state->version.links <= 1) bytes_ += state->version.size;
}

// A request that opened the folder before may store something in it after it was emptied: then it
// is emptied again.
void Remover::remove_folder(int parent, const std::string& name, const std::string& path,
                            unsigned depth) {
  const std::uint64_t before = failed_;
  for (int round = 0;; ++round) {
    const std::uint64_t removed = removed_;
    empty(parent, name, path, depth);
    if (failed_ != before) return;  // RFC 4918, 9.6.1: what holds something stays
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) break;
    if (errno == ENOENT) return;  // another request removed it
    const bool again = errno == ENOTEMPTY && (round == 0 || removed_ > removed);
    if (!again || round == rounds_max) {
      return fail(path, true, status_of_error(errno));
    }
  }
  ++removed_;
}

void Remover::empty(int parent, const std::string& name, const std::string& path, unsigned depth) {
  if (depth == TreeLimits::depth_max) return fail(path, true, 403);
  const base::Fd folder = open_subfolder(parent, name);
  if (!folder.valid()) return fail(path, true, status_of_error(errno));
  for (bool again = true; again;) {
    const std::uint64_t before = removed_;
    const Result<std::vector<std::string>, int> names = visible_names(folder.get());
    if (!names) return fail(path, true, status_of_error(names.error()));
    for (const std::string& entry : *names) {
      remove(folder.get(), entry, join_path(path, entry), depth + 1);
    }
    again = names->size() == TreeLimits::names_max && removed_ > before;
  }
}

}  // namespace

TreeFailures remove_tree(UploadDirectory& directory, const std::string& path,
                         const file::StopFlag* stop) {
  const Result<Place, int> place = open_place(directory.fd(), path);
  if (!place) return {{path, false, status_of_error(place.error())}};
  return remove_place(directory, *place, path, stop);
}

TreeFailures remove_place(UploadDirectory& directory, const Place& place, const std::string& path,
                          const file::StopFlag* stop) {
  Remover remover(stop);
  remover.remove(place.folder.get(), place.name, path);
  if (remover.bytes() > 0) directory.space().keep(0, remover.bytes());
  return std::move(remover.failures());
}

// --- what killed servers left -----------------------------------------------------------------

namespace {

// The lock is that of TemporaryNames. Returns true if nobody holds it; then `lock` does.
bool is_abandoned(int root, const std::string& name, base::Fd& lock) noexcept {
  const std::string first = name.substr(0, name.rfind('_')) + "_0";
  lock = base::Fd(::openat(root, first.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock.valid()) return errno == ENOENT;  // EACCES, ELOOP, EMFILE...: unknown
  return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

void remove_abandoned_trees(UploadDirectory& directory) {
  const int root = directory.fd();
  std::vector<std::string> found;
  // If the directory can't be read (EIO, EMFILE), they stay for another time.
  (void)for_each_entry(root, [&](const char* entry) {
    const std::string_view name(entry);
    const bool temporary =
        name.starts_with(temporary_file_prefix) && !name.starts_with(pending_upload_prefix);
    if (!temporary) return true;
    if (const auto state = look_at(root, entry); state && state->is_folder) {
      found.emplace_back(name);
    }
    return true;
  });
  for (const std::string& name : found) {
    base::Fd lock;
    Remover remover;
    if (is_abandoned(root, name, lock)) remover.remove(root, name, name);
  }
}

// --- moves ------------------------------------------------------------------------------------

namespace {

// The old tree gets a spare name before it is removed, so that nothing is stored in it meanwhile.
// If it can't, it is removed where the source was.
void remove_replaced(UploadDirectory& directory, const Place& old, SparePlaces& spares,
                     const std::string& path) {
  const Result<Place, int> spare = spares.next();
  const bool aside = spare && put_in_place(old, *spare, true, false);
  // Failures are not the client's: the source is at the target.
  (void)remove_place(directory, aside ? *spare : old, path);
}

// RFC 4918, 9.9.4: EEXIST: something has come to be there since it was looked at.
int status_of_placing(int error) { return error == EEXIST ? 412 : status_of_error(error); }

// Replaces a tree, or something by a tree. Returns what failed.
TreeFailures exchange_trees(UploadDirectory& directory, const Place& source, const Place& target,
                            const std::string& from, const std::string& to,
                            const file::StopFlag* stop) {
  TreeSum old = sum_tree(target, to, stop);
  if (!old.obstacles.empty()) return std::move(old.obstacles);
  SparePlaces spares(directory.fd());
  const Result<Place, int> spare = spares.next();
  if (!spare) return {{to, false, status_of_error(spare.error())}};
  const Result<void, int> done = exchange_places(source, target, *spare);
  if (!done) return {{to, false, status_of_error(done.error())}};
  remove_replaced(directory, source, spares, from);
  return {};
}

}  // namespace

TreeOutcome move_tree(UploadDirectory& directory, const std::string& from, const std::string& to,
                      bool replace, const UploadOptions& options, const file::StopFlag* stop) {
  const auto fail = [&to](int status) { return TreeOutcome{.failures = {{to, false, status}}}; };
  Result<Place, int> source = open_place(directory.fd(), from);
  if (!source) return fail(status_of_error(source.error()));
  Result<Place, int> target = open_place(directory.fd(), to);
  if (!target) return fail(status_without_folder(target.error()));
  const Result<FileState, int> moved = look_at(source->folder.get(), source->name);
  if (!moved) return fail(status_of_error(moved.error()));
  const Result<FileState, int> before = look_at(target->folder.get(), target->name);
  if (before && !replace) return fail(412);
  const bool goes_deeper = moved->is_folder && depth_of(to) > depth_of(from);
  if (goes_deeper && !has_height_at_most(*source, TreeLimits::depth_max - depth_of(to), stop)) {
    return fail(file::is_set(stop) ? 503 : 403);
  }
  TreeOutcome outcome;
  if (before && (before->is_folder || moved->is_folder)) {
    outcome.replaced = TreeOutcome::Replaced::tree;
    outcome.failures = exchange_trees(directory, *source, *target, from, to, stop);
    if (!outcome.failures.empty()) return outcome;
  } else {
    const Result<void, int> done = put_in_place(*source, *target, moved->is_folder, replace);
    if (!done) return fail(status_of_placing(done.error()));
    if (before) outcome.replaced = TreeOutcome::Replaced::file;
    if (before) directory.space().keep(0, before->version.size);
  }
  sync_names(target->folder.get(), options);
  sync_names(source->folder.get(), options);
  return outcome;
}

// --- new entries ------------------------------------------------------------------------------

Result<void, int> make_folder(UploadDirectory& directory, const std::string& path,
                              const UploadOptions& options) {
  const Result<Place, int> place = open_place(directory.fd(), path);
  if (!place) return std::unexpected(status_without_folder(place.error()));
  if (::mkdirat(place->folder.get(), place->name.c_str(), 0755) != 0) {
    return std::unexpected(errno == EEXIST ? 405 : status_of_error(errno));  // RFC 4918, 9.3.1
  }
  sync_names(place->folder.get(), options);
  return {};
}

Result<void, int> make_file(UploadDirectory& directory, const std::string& path) {
  const Result<Place, int> place = open_place(directory.fd(), path);
  if (!place) return std::unexpected(status_without_folder(place.error()));
  const base::Fd file(::openat(place->folder.get(), place->name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return std::unexpected(errno == EEXIST ? 409 : status_of_error(errno));
  return {};
}

}  // namespace h2server::content
