// A file that is being received, under a temporary name. It is removed on destruction unless it was
// committed. Everything here may block on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::content {

// The temporary names of one request: h2_tmp_<process>_<request>_<number>. The object holds a lock
// (flock) on the file with number 0. The system releases it however the process dies; see
// remove_abandoned().
class TemporaryNames {
 public:
  struct Created {
    base::Fd file;
    std::string name;
  };

  // `directory` must outlive this.
  explicit TemporaryNames(int directory) noexcept : directory_(directory) {}

  [[nodiscard]] int directory() const noexcept { return directory_; }
  // Creates a file and opens it for writing. The error is an errno value.
  Result<Created, int> create();
  // Returns the next name, which may be in use.
  std::string next();

 private:
  Result<Created, int> create_first();

  int directory_;
  std::string request_;
  unsigned count_ = 0;
  base::Fd lock_;
};

// Removes the temporary files in `directory` whose lock is not held: those of a server that was
// killed. The error is an errno value.
Result<void, int> remove_abandoned(int directory);

class UploadFile {
 public:
  // Creates a temporary file. `names` must outlive it. The error is an errno value, here and below.
  static Result<UploadFile, int> open(TemporaryNames& names, std::string name);
  UploadFile(UploadFile&& other) noexcept;
  UploadFile& operator=(UploadFile&&) = delete;
  ~UploadFile();

  [[nodiscard]] Result<void, int> write(std::string_view bytes);
  // Call when everything is written. Some file systems report only now that they can't store it.
  [[nodiscard]] Result<void, int> close() noexcept;
  // Gives the file its final name. Fails with EEXIST if that is taken, unless `overwrite`. A
  // request's first file must be committed last, since its temporary name carries the lock.
  [[nodiscard]] Result<void, int> commit(bool overwrite);
  // Undoes commit(). A replaced file gets its name back; if it could not be kept, the new file
  // stays.
  void revoke() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Bytes of the file that commit() replaced, or 0.
  [[nodiscard]] std::uint64_t replaced_size() const noexcept { return replaced_size_; }

 private:
  Result<std::string, int> keep_replaced();
  UploadFile(TemporaryNames& names, std::string name, TemporaryNames::Created created);

  TemporaryNames& names_;
  std::string name_;
  std::string temporary_name_;  // this file's; after commit() the replaced file's, or empty
  base::Fd file_;
  std::uint64_t size_ = 0;
  std::uint64_t replaced_size_ = 0;
  bool final_ = false;  // commit() replaced a file that could not be kept
};

}  // namespace h2server::content
