// Stores the body of one request as one file.
//
// Does not read the request; the caller passes the bytes. Everything but the constructor may block
// on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "content/storage/names_in_flight.h"
#include "content/storage/upload_file.h"
#include "content/uploads/receive/raw_head.h"
#include "content/uploads/receive/receive_body.h"
#include "content/uploads/receive/stated_digests.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

class RawReceiver final : public DiskReceiver {
 public:
  RawReceiver(RawHead head, UploadPlace place, const UploadOptions& options);

  [[nodiscard]] bool names_in_body() const noexcept override { return false; }
  Result<void, Response> take(std::string_view bytes) override;
  // Gives the file its name.
  Stored commit() override;
  void discard() noexcept override;

 private:
  Result<void, Response> begin();
  Result<void, Response> check_size(std::uint64_t bytes) const;
  Result<Existing, Response> check_target() const;
  Result<void, Response> write(std::string_view bytes);
  Stored rename();

  const RawHead head_;
  UploadPlace place_;
  const UploadOptions options_;
  DigestCheck digests_;
  std::optional<NameReservation> reservation_;
  std::optional<UploadClaim> claim_;
  std::optional<TemporaryNames> names_;
  std::optional<UploadFile> file_;  // once begun
};

}  // namespace h2server::content
