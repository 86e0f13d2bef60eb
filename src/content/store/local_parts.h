// LocalParts: the parts of objects to be of a LocalObjects, in a folder of their own for each id.
//
// Any thread. Everything here blocks on the disk, and is there when a call returns.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "content/store/local_objects.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content {

class LocalParts {
 public:
  // `objects` must outlive it. The error is an errno value.
  static Result<std::unique_ptr<LocalParts>, int> open(const LocalObjects& objects);
  // `directory` has the folders. For open().
  LocalParts(const LocalObjects& objects, base::Fd directory) noexcept
      : objects_(objects), directory_(std::move(directory)) {}

  [[nodiscard]] StoreResult<PartsId> begin(const std::string& key) const;
  [[nodiscard]] StoreResult<StoredPart> put(const PartsId& parts, unsigned number,
                                            std::string_view bytes) const;
  [[nodiscard]] StoreResult<std::vector<StoredPart>> list(const PartsId& parts) const;
  [[nodiscard]] StoreResult<ObjectInfo> complete(const PartsId& parts,
                                                 const std::vector<StoredPart>& all,
                                                 const PutOptions& options) const;
  [[nodiscard]] StoreResult<void> abandon(const PartsId& parts) const;

 private:
  struct Opened {
    base::Fd folder;
    base::Fd key_file;
  };
  [[nodiscard]] StoreResult<Opened> find(const PartsId& parts) const;
  bool end(const PartsId& parts) const;
  void sweep() const;

  const LocalObjects& objects_;
  const base::Fd directory_;
};

}  // namespace h2server::content
