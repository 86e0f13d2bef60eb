// Turns the parts of one upload request into files in a directory: all of them or none.
//
// Does not read the request; the caller passes the bytes. Everything but the constructor may block
// on the disk.
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
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct UploadLimits {
  // Files per request; their names are kept until its end.
  static constexpr std::size_t files_max = 1000;
  // Received bytes are written in batches, since a hand-over costs 20 us whatever its size. A batch
  // of this size, which stays in the processor's cache, is written at once.
  static constexpr std::size_t gathered_bytes_max = 256 * 1024;
  // A slow client should not occupy that much memory: from this size on, a batch is written if
  // nothing was written for gathered_ms_max.
  static constexpr std::size_t gathered_bytes_min = 16 * 1024;
  static constexpr std::int64_t gathered_ms_max = 100;
};

// Where uploads go: an open directory, or the path of one to look up.
struct UploadPlace {
  std::shared_ptr<UploadDirectory> directory;
  std::string path;  // used if `directory` is null
};

using Stored = Result<std::vector<StoredFile>, Response>;

class UploadReceiver {
 public:
  UploadReceiver(std::string boundary, UploadPlace place, const UploadOptions& options,
                 std::optional<std::uint64_t> body_bytes);
  UploadReceiver(const UploadReceiver&) = delete;
  UploadReceiver& operator=(const UploadReceiver&) = delete;

  // Checks that there is room for the body. Called by take() if it was not called before. The
  // error, here and below, is the response to send.
  Result<void, Response> begin();
  // Stores the next bytes of the body. On an error nothing is left of the upload, here and below.
  Result<void, Response> take(std::string_view bytes);
  // Call when the body is complete. Gives the files their names.
  Stored commit();
  // Removes everything that has been written.
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
  bool in_file_ = false;  // the current part is the last of files_
};

// Reads an upload request and writes its files without making other connections wait for the disk.
// Received bytes are gathered and handed over in batches. The client is not read from meanwhile, so
// a slow disk causes backpressure (over HTTP/2 the stream's window closes).
//
// Same as the public function of that name. Removes an incomplete upload before it returns, also
// when the server stops.
Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options);

// Returns a plain-text error response.
Response refuse_upload(int status, std::string_view text);

}  // namespace h2server::content
