// Turns the parts of one form into files in a directory: all of them or none.
//
// Does not read the request; the caller passes the bytes. Everything but the constructor may block
// on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/storage/names_in_flight.h"
#include "content/storage/upload_file.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/receive/multipart.h"
#include "content/uploads/receive/receive_body.h"
#include "content/uploads/receive/stated_digests.h"
#include "content/uploads/stored/store_uploads.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct UploadLimits {
  // Files per request; their names are kept until its end.
  static constexpr std::size_t files_max = 1000;
  // What a form may have beside its files, in bytes, if file_bytes_max is less.
  static constexpr std::uint64_t form_rest_min = 1 << 20;
};

// What the head of a request says about a form.
struct FormHead {
  std::string boundary;
  std::optional<std::uint64_t> body_bytes = {};
  StatedDigests digests = {};
};

// Refuses a form with so many bytes beside the content of its files: heads of parts, and what is
// thrown away, a preamble, other fields, what follows its end (RFC 2046, 5.1.1). They may be as
// many as those of a file.
Result<void, Response> check_form_rest(std::uint64_t bytes, const UploadOptions& options);

class UploadReceiver final : public DiskReceiver {
 public:
  UploadReceiver(FormHead head, UploadPlace place, const UploadOptions& options);

  [[nodiscard]] bool names_in_body() const noexcept override { return true; }
  Result<void, Response> take(std::string_view bytes) override;
  // Gives the files their names.
  Stored commit() override;
  void discard() noexcept override;

 private:
  Result<void, Response> begin();
  Result<void, Response> store(std::string_view bytes);
  Result<void, Response> begin_part();
  Result<void, Response> write(std::string_view bytes);
  Result<void, Response> reserve(const std::string& path);
  Result<void, Response> check_complete();
  Stored rename_all();

  const FormHead head_;
  MultipartParser parser_;
  UploadPlace place_;
  const UploadOptions options_;
  DigestCheck digests_;
  std::optional<UploadClaim> claim_;     // once begun
  std::optional<TemporaryNames> names_;  // once begun
  std::vector<NameReservation> reservations_;
  std::vector<UploadFile> files_;
  std::uint64_t rest_ = 0;  // bytes that were of no file
  bool in_file_ = false;    // the current part is the last of files_
};

// Same as the public function of that name.
Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options);
// The same for a store, whose files are not all stored at one moment.
Task<Stored> store_uploads(Request& request, StoreUploadsRef uploads, UploadOptions options);

}  // namespace h2server::content
