// A file that is being received: under a temporary name, which is gone unless it was committed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::content {

class UploadFile {
 public:
  // A new temporary file in `directory`, which outlives this. The error is an errno value, here and
  // below.
  static Result<UploadFile, int> open(int directory, std::string name);
  UploadFile(UploadFile&& other) noexcept;
  UploadFile& operator=(UploadFile&&) = delete;
  ~UploadFile();

  [[nodiscard]] Result<void, int> write(std::string_view bytes);
  // All of it has been written; some file systems find out only now that they can't keep it.
  [[nodiscard]] Result<void, int> close() noexcept;
  // Gives it its name. EEXIST when that is taken, unless `overwrite`.
  [[nodiscard]] Result<void, int> commit(bool overwrite);
  // Undoes commit(): what was replaced gets its name back, if it could be kept.
  void revoke() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  Result<std::string, int> keep_replaced() const;
  UploadFile(int directory, std::string name, std::string temporary_name, base::Fd file);

  int directory_;
  std::string name_;
  std::string
      temporary_name_;  // before commit() this file's, then that of what it replaced, if any
  base::Fd file_;
  std::uint64_t size_ = 0;
  bool final_ = false;  // commit() replaced a file that could not be kept
};

}  // namespace h2server::content
