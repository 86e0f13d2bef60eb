// What the parts of one upload request become: files in a directory, all of them or none.
//
// Not a reader of requests: it is given bytes. Everything but the constructor may wait for the
// disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/multipart.h"
#include "content/upload_directory.h"
#include "content/upload_file.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct UploadLimits {
  // Of a request: each is a name that is kept until its end.
  static constexpr std::size_t files_max = 1000;
  // What has arrived is written together, since having it written costs 20 us whatever its size: up
  // to so many bytes, which stay in the processor's cache...
  static constexpr std::size_t gathered_bytes_max = 256 * 1024;
  // ...and of a slow client, which should not hold that much memory, from so many on...
  static constexpr std::size_t gathered_bytes_min = 16 * 1024;
  // ...when nothing was written for so long.
  static constexpr std::int64_t gathered_ms_max = 100;
};

// Where uploads go: a directory that is open, or one that is to be looked up.
struct UploadPlace {
  std::shared_ptr<UploadDirectory> directory;
  std::string path;  // where `directory` is null
};

using Stored = Result<std::vector<StoredFile>, Response>;

class UploadReceiver {
 public:
  UploadReceiver(std::string boundary, UploadPlace place, const UploadOptions& options,
                 std::optional<std::uint64_t> body_bytes);
  UploadReceiver(const UploadReceiver&) = delete;
  UploadReceiver& operator=(const UploadReceiver&) = delete;

  // Finds out whether there is room for the body. Called by take() unless it was called before.
  // The error, here and below, is the answer that ends the request: nothing is left of it.
  Result<void, Response> begin();
  Result<void, Response> take(std::string_view bytes);
  // The request is complete: gives the files their names.
  Stored commit();
  // Removes what has been written.
  void discard() noexcept;

 private:
  Result<void, Response> open_directory();
  Result<void, Response> store(std::string_view bytes);
  Result<void, Response> begin_part();
  Result<void, Response> write(std::string_view bytes);
  Result<void, Response> check_name(const std::string& name) const;
  Stored rename_all();

  MultipartParser parser_;
  UploadPlace place_;
  const UploadOptions options_;
  const std::optional<std::uint64_t> body_bytes_;
  std::optional<UploadClaim> claim_;     // once begun
  std::optional<TemporaryNames> names_;  // once begun
  std::vector<UploadFile> files_;
  bool in_file_ = false;  // the part at hand is the last of files_
};

// The answer that says why.
Response refuse_upload(int status, std::string_view text);

}  // namespace h2server::content
