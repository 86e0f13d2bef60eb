// LocalObjects: the files of a directory as the objects of a Store.
//
// Any thread. Everything here blocks on the disk. What is written is on the disk itself when a call
// returns. A lock on a file (flock) makes conditions hold also if several processes write. The
// folder `own_folder` in the directory has what is not yet an object; no key leads there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "content/storage/upload_path.h"
#include "file/content.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content {

class LocalObjects {
 public:
  static constexpr std::string_view own_folder = ".h2server_store";

  struct Opened {
    base::Fd file;
    ObjectInfo info = {};
  };

  // Makes `own_folder` if it is missing, and removes what killed processes left in it. The error is
  // an errno value.
  static Result<std::unique_ptr<LocalObjects>, int> open(const std::string& directory);
  // `own` is the folder `own_folder`, `received` is one in it. For open().
  LocalObjects(base::Fd directory, base::Fd own, base::Fd received) noexcept
      : directory_(std::move(directory)), own_(std::move(own)), received_(std::move(received)) {}

  [[nodiscard]] StoreResult<Opened> open_object(const std::string& key,
                                                const StoreConditions& conditions) const;
  [[nodiscard]] StoreResult<ListPage> list(const ListOptions& options) const;
  // `write` writes the bytes into a file.
  using Write = std::function<StoreResult<void>(int file)>;
  StoreResult<ObjectInfo> put(const std::string& key, const PutOptions& options,
                              const Write& write) const;
  [[nodiscard]] StoreResult<void> remove(const std::string& key) const;

  [[nodiscard]] int own_directory() const noexcept { return own_.get(); }

 private:
  [[nodiscard]] Result<base::Fd, int> lock() const;
  [[nodiscard]] StoreResult<ObjectInfo> commit(int file, const std::string& temporary,
                                               const std::string& key,
                                               const PutOptions& options) const;
  [[nodiscard]] StoreResult<void> rename_checked(const std::string& temporary,
                                                 const std::string& key, const UploadParent& parent,
                                                 const PutOptions& options) const;
  void remove_empty_folders(std::string path) const;

  const base::Fd directory_;
  const base::Fd own_;
  const base::Fd received_;  // has files that are being written
};

// Returns false for a key that no object can have here, though it may have one in another store.
bool is_local_key(std::string_view key) noexcept;
// The tag is that which downloads have.
ObjectInfo object_info(const file::FileVersion& version);
// `code` is an errno value of a call that reads, or of one that writes.
StoreError read_failure(int code);
StoreError write_failure(int code);

}  // namespace h2server::content
