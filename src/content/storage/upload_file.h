// A file that is being received, under a temporary name. It is removed on destruction unless it was
// committed. Everything here may block on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "content/storage/commit_file.h"
#include "content/storage/file_digest.h"
#include "content/storage/upload_path.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

// The temporary names of one request: h2_tmp_<process>_<request>_<number>. A lock (flock) is held
// on the file with number 0. The system releases it however the process dies; see
// remove_abandoned().
class TemporaryNames {
 public:
  // Who holds the lock: the object, by a descriptor of its own, or the first file, which its owner
  // keeps open or passes to close().
  enum class Lock : bool { apart, in_first_file };

  struct Created {
    base::Fd file;
    std::string name;
  };

  // `directory` must outlive this. The files are made with `mode`.
  explicit TemporaryNames(int directory, unsigned mode = 0644, Lock lock = Lock::apart) noexcept
      : directory_(directory), mode_(mode), place_(lock) {}

  [[nodiscard]] int directory() const noexcept { return directory_; }
  // Creates a file and opens it for writing. The error is an errno value.
  Result<Created, int> create();
  // Closes what create() returned; if it has the lock, the object holds that from now on. Some file
  // systems report only now that they can't store what was written.
  Result<void, int> close(base::Fd file, const std::string& name);
  // Returns the next name, which may be in use.
  std::string next();

 private:
  Result<Created, int> create_first();

  int directory_;
  unsigned mode_;
  Lock place_;
  std::string request_;  // empty: nothing was created
  unsigned count_ = 0;
  base::Fd lock_;
};

// Removes the temporary files in `directory` whose lock is not held: those of a server that was
// killed. The error is an errno value.
Result<void, int> remove_abandoned(int directory);

struct UploadFilePlan {
  bool sha256 = false;  // to be computed
  Durability durability = Durability::none;
  std::optional<std::uint64_t> size = {};  // bytes, if it is known before
};

class UploadFile {
 public:
  // Bytes that are allocated in advance. A client that announces much and sends little must not
  // occupy the whole disk.
  static constexpr std::uint64_t allocated_bytes_max = 64 * 1024 * 1024;
  // Bytes after which the system is asked to begin writing to the disk, if the file will be written
  // there in the end anyway.
  static constexpr std::uint64_t written_behind_bytes = 8 * 1024 * 1024;

  // Creates a temporary file. `path` is a safe path, see safe_upload_path(). `names` must outlive
  // the file. The error is an errno value, here and below.
  static Result<UploadFile, int> open(TemporaryNames& names, std::string path,
                                      const UploadFilePlan& plan = {});
  UploadFile(UploadFile&& other) noexcept;
  UploadFile& operator=(UploadFile&&) = delete;
  ~UploadFile();

  // If the size is known, makes the file system allocate space for what comes next, at most
  // `bytes_max`, once the last such space is used up. Returns the bytes. Fails only for want of
  // space.
  [[nodiscard]] Result<std::uint64_t, int> allocate(std::uint64_t bytes_max);
  [[nodiscard]] Result<void, int> write(std::string_view bytes);
  // Call when everything is written. Some file systems report only now that they can't store it.
  [[nodiscard]] Result<void, int> close();
  // Gives the file its final name and makes the folders of its path. Fails with EEXIST if the name
  // is taken, unless `existing` is `replace`. A request's first file must be committed last, since
  // its temporary name carries the lock. Call sync_folders() afterwards.
  [[nodiscard]] Result<void, int> commit(Existing existing);
  // Undoes commit(). A replaced file gets its name back; if it could not be kept, the new file
  // stays.
  void revoke() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Of the closed file: 64 digits, or empty if it was not to be computed.
  [[nodiscard]] const std::string& sha256() const noexcept { return sha256_; }
  // Bytes of the file that commit() replaced, or 0.
  [[nodiscard]] std::uint64_t replaced_size() const noexcept { return replaced_size_; }
  // Paths of the folders that commit() made.
  [[nodiscard]] const std::vector<std::string>& made() const noexcept { return made_; }
  // The committed file.
  [[nodiscard]] StoredFile stored() const;

 private:
  Result<void, int> commit_in(const UploadParent& parent, Existing existing);
  Result<std::string, int> keep_replaced(const UploadParent& parent);
  UploadFile(TemporaryNames& names, std::string name, const UploadFilePlan& plan,
             TemporaryNames::Created created);

  TemporaryNames& names_;
  std::string name_;            // relative to the directory of `names_`
  std::string temporary_name_;  // this file's; after commit() the replaced file's, or empty
  base::Fd file_;
  UploadFilePlan plan_;
  std::optional<Sha256> digest_;
  std::string sha256_;
  std::string etag_;
  std::vector<std::string> made_;
  std::uint64_t size_ = 0;
  std::uint64_t allocated_ = 0;  // up to here
  std::uint64_t behind_ = 0;     // up to here, writing to the disk was begun
  std::uint64_t replaced_size_ = 0;
  bool replaced_ = false;  // commit() replaced a file
  bool final_ = false;     // it could not be kept
};

// Writes the folders of committed files to the disk itself, with the names in them. `directory` is
// the one of their temporary names.
Result<void, int> sync_folders(int directory, std::span<const UploadFile> files);

}  // namespace h2server::content
