// Stores the files of one body in a directory: all of them or none.
//
// Does not read the request; the caller passes the bytes. Everything but the constructor may block
// on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/storage/names_in_flight.h"
#include "content/storage/upload_file.h"
#include "content/uploads/receive/body_files.h"
#include "content/uploads/receive/receive_body.h"
#include "content/uploads/receive/upload_intent.h"
#include "h2server/response.h"
#include "h2server/result.h"

namespace h2server::content {

class DirectoryReceiver final : public DiskReceiver {
 public:
  DirectoryReceiver(UploadIntent intent, UploadPlace place);

  [[nodiscard]] bool names_in_body() const noexcept override { return intent_.is_form(); }
  Result<void, Response> take(std::string_view bytes) override;
  // Gives the files their names.
  Stored commit() override;
  void discard() noexcept override;

 private:
  Result<void, Response> begin();
  Result<void, Response> store(std::string_view bytes);
  Result<void, Response> begin_file();
  Result<void, Response> write(std::string_view bytes);
  Result<void, Response> close_file();
  Result<void, Response> check_complete();
  [[nodiscard]] Result<Existing, Response> check_target(const std::string& path) const;
  Result<void, Response> rename(UploadFile& file) const;
  Stored rename_all();

  const UploadIntent intent_;
  BodyFiles body_{intent_};
  UploadPlace place_;
  DigestCheck digests_;
  std::optional<UploadClaim> claim_;     // once begun
  std::optional<TemporaryNames> names_;  // once begun
  std::vector<NameReservation> reservations_;
  std::vector<UploadFile> files_;
  bool in_file_ = false;  // the last of files_ is not closed
};

}  // namespace h2server::content
