#include "content/webdav/webdav_places.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "content/storage/commit_file.h"
#include "content/storage/directory_entries.h"

namespace h2server::content {

Result<Place, int> open_place(int root, const std::string& path) {
  PathParts parts = split_path(path);
  Result<base::Fd, int> folder = open_below(root, parts.folder, O_PATH | O_DIRECTORY);
  if (!folder) return std::unexpected(folder.error());
  return Place{*std::move(folder), std::move(parts.name)};
}

base::Fd open_subfolder(int parent, const std::string& name) {
  return base::Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + '/' + name;
}

void add_failure(TreeFailures& failures, const std::string& path, bool is_folder, int status) {
  if (failures.size() < TreeLimits::failures_max) failures.push_back({path, is_folder, status});
}

int status_without_folder(int error) noexcept {
  return error == ENOENT || error == ENOTDIR ? 409 : status_of_error(error);
}

void sync_names(int folder, const UploadOptions& options) {
  if (options.durability == Durability::file_and_directory) (void)sync_directory(folder);
}

// --- spare places -----------------------------------------------------------------------------

SparePlaces::~SparePlaces() {
  if (!lock_.name.empty()) ::unlinkat(names_.directory(), lock_.name.c_str(), 0);
}

Result<void, int> SparePlaces::lock() {
  if (!lock_.name.empty()) return {};
  Result<TemporaryNames::Created, int> first = names_.create();
  if (!first) return std::unexpected(first.error());
  lock_ = *std::move(first);
  return {};
}

Result<TemporaryNames::Created, int> SparePlaces::create_file() {
  const Result<void, int> locked = lock();
  if (!locked) return std::unexpected(locked.error());
  return names_.create();
}

Result<Place, int> SparePlaces::next() {
  const Result<void, int> locked = lock();
  if (!locked) return std::unexpected(locked.error());
  return open_place(names_.directory(), names_.next());
}

// --- sums -------------------------------------------------------------------------------------

namespace {

class Summer {
 public:
  explicit Summer(const file::StopFlag* stop) noexcept : stop_(stop) {}
  void add(int parent, const std::string& name, const std::string& path, unsigned depth = 0);
  TreeSum sum;

 private:
  void add_folder(int parent, const std::string& name, const std::string& path, unsigned depth);

  const file::StopFlag* const stop_;
};

void Summer::add(int parent, const std::string& name, const std::string& path, unsigned depth) {
  const Result<FileState, int> state = look_at(parent, name);
  if (!state) return;  // it is gone
  if (!state->is_folder) {
    sum.bytes += state->version.size;
    return;
  }
  if (depth == TreeLimits::depth_max) return add_failure(sum.obstacles, path, true, 403);
  add_folder(parent, name, path, depth);
}

void Summer::add_folder(int parent, const std::string& name, const std::string& path,
                        unsigned depth) {
  const base::Fd folder = open_subfolder(parent, name);
  if (!folder.valid()) return add_failure(sum.obstacles, path, true, status_of_error(errno));
  bool empty = true;
  bool hides = false;  // something that is not shown
  const Result<void, int> done = for_each_entry(folder.get(), [&](const char* entry) {
    if (file::is_set(stop_)) return false;
    if (std::strcmp(entry, ".") == 0 || std::strcmp(entry, "..") == 0) return true;
    empty = false;
    const Result<FileState, int> state = look_at(folder.get(), entry);
    const bool gone = !state && ::faccessat(folder.get(), entry, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    if (gone) return true;
    if (!state || !is_visible_name(entry)) {
      hides = true;
    } else {
      add(folder.get(), entry, join_path(path, entry), depth + 1);
    }
    return true;
  });
  if (!done) return add_failure(sum.obstacles, path, true, status_of_error(done.error()));
  if (hides) return add_failure(sum.obstacles, path, true, 409);
  if (!empty && ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    add_failure(sum.obstacles, path, true, 403);
  }
}

}  // namespace

TreeSum sum_tree(const Place& place, const std::string& path, const file::StopFlag* stop) {
  Summer summer(stop);
  summer.add(place.folder.get(), place.name, path);
  if (file::is_set(stop)) summer.sum.obstacles = {{path, true, 503}};
  return std::move(summer.sum);
}

bool has_height_at_most(const Place& folder, unsigned height, const file::StopFlag* stop) {
  if (height == 0 || file::is_set(stop)) return false;
  Place inner{open_subfolder(folder.folder.get(), folder.name), {}};
  if (!inner.folder.valid()) return true;  // it is gone, or nobody sees what is in it
  bool fits = true;
  const Result<void, int> walked = for_each_folder(inner.folder.get(), [&](const char* name) {
    inner.name = name;
    fits = has_height_at_most(inner, height - 1, stop);
    return fits;
  });
  return walked.has_value() && fits;
}

// --- changes of places ------------------------------------------------------------------------

namespace {

Result<void, int> rename_place(const Place& source, const Place& target, unsigned flags) {
  if (::renameat2(source.folder.get(), source.name.c_str(), target.folder.get(),
                  target.name.c_str(), flags) == 0) {
    return {};
  }
  return std::unexpected(errno);
}

// Some file systems lack the flags of renameat2().
bool lacks_flags(const Result<void, int>& done) {
  return !done && (done.error() == EINVAL || done.error() == ENOSYS);
}

}  // namespace

Result<void, int> put_in_place(const Place& source, const Place& target, bool is_folder,
                               bool replace) {
  if (!is_folder) {
    return rename_file(source.folder.get(), source.name, target.folder.get(), target.name,
                       replace ? Existing::replace : Existing::refuse);
  }
  const Result<void, int> done = rename_place(source, target, RENAME_NOREPLACE);
  if (!lacks_flags(done)) return done;
  // Without the flag an empty folder may be replaced.
  if (look_at(target.folder.get(), target.name)) return std::unexpected(EEXIST);
  return rename_place(source, target, 0);
}

Result<void, int> exchange_places(const Place& source, const Place& target, const Place& spare) {
  const Result<void, int> done = rename_place(source, target, RENAME_EXCHANGE);
  return lacks_flags(done) ? exchange_in_steps(source, target, spare) : done;
}

Result<void, int> exchange_in_steps(const Place& source, const Place& target, const Place& spare) {
  const Result<void, int> aside = rename_place(target, spare, 0);
  if (!aside) return aside;
  const Result<void, int> placed = rename_place(source, target, 0);
  if (!placed) {
    (void)rename_place(spare, target, 0);
    return placed;
  }
  const Result<void, int> last = rename_place(spare, source, 0);
  if (last) return last;
  (void)rename_place(target, source, 0);
  (void)rename_place(spare, target, 0);
  return last;
}

}  // namespace h2server::content
