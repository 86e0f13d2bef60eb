// PendingUploads: the resumable uploads of an upload directory. local_uploads.h makes
// ResumableUploads of it.
//
// All state lies in the directory (see pending_files.h), so that uploads outlive the server, and
// processes share them. Memory has only what makes it faster: the digests of what was received.
// What has made no progress for a while is removed: when this is made, and later at most once a
// minute.
//
// Any thread. Everything may block on the disk. Errors are the responses to send.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/storage/last_sweep.h"
#include "content/storage/names_in_flight.h"
#include "content/storage/pending_files.h"
#include "content/uploads/area/upload_directory.h"
#include "content/uploads/resumable/pending_upload.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "file/stop_flag.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

class PendingUploads {
 public:
  PendingUploads(std::shared_ptr<UploadDirectory> directory, UploadOptions options,
                 PendingLimits limits = {});
  PendingUploads(const PendingUploads&) = delete;
  PendingUploads& operator=(const PendingUploads&) = delete;

  [[nodiscard]] const UploadOptions& options() const noexcept { return options_; }
  [[nodiscard]] const PendingLimits& limits() const noexcept { return limits_; }

  // 409 if the name is taken, 413, 503 or 507 if there is no room.
  Result<std::unique_ptr<PendingUpload>, Response> create(NewUpload upload, bool overwrite);
  // 404 if there is no such upload, 410 if it has expired, 423 if another request has it open
  // or joins it. A stored upload is not opened: see status().
  Result<std::unique_ptr<PendingUpload>, Response> open(std::string_view id);
  // 404 or 410 as above.
  Result<PendingStatus, Response> status(std::string_view id);
  // Makes one file of partial uploads, stores it, and removes them. 400 if one is not whole, 423 if
  // another request has one. The returned id remembers it. Once `stop` is set, it fails with 503,
  // and the partial ones stay.
  Result<ConcatenatedUpload, Response> concatenate(NewUpload upload,
                                                   const std::vector<std::string>& ids,
                                                   bool overwrite,
                                                   const file::StopFlag* stop = nullptr);
  // Forgets a stored upload. The file stays.
  void forget(std::string_view id) noexcept;

  // Returns true if there is something that will expire, as far as this process knows.
  [[nodiscard]] bool may_expire() const noexcept { return pending_ != 0 || stored_ != 0; }
  // Removes what has expired. Leaves the rest once `stop` is set.
  void sweep(const file::StopFlag* stop = nullptr);

 private:
  friend class PendingUpload;

  // In schemes without event loops, which have no upkeep.
  void sweep_if_due();

  [[nodiscard]] int fd() const noexcept { return directory_->fd(); }
  Result<void, Response> check_new(const NewUpload& upload, bool overwrite);
  Result<void, Response> check_name(const std::string& name, bool overwrite) const;
  // 409 if another upload is taking the name now.
  Result<NameReservation, Response> reserve(const std::string& name);
  // 423 if the upload is being joined.
  Result<NameReservation, Response> reserve_upload(const std::string& id);
  // Opens also an upload that is being joined.
  Result<std::unique_ptr<PendingUpload>, Response> open_reserved(const std::string& id);
  Result<std::uint64_t, Response> check_parts(const std::vector<std::string>& ids);
  Result<StoredFile, Response> join(PendingUpload& target, const std::vector<std::string>& ids,
                                    bool overwrite, const file::StopFlag* stop);
  [[nodiscard]] bool expired(std::int64_t modified_s) const noexcept;
  bool remove_if_expired(const std::string& id);
  void remove_expired_info(const std::string& id);

  // The upload was stored or removed.
  void end(const std::string& id);

  std::optional<PendingDigest> take_digest(const std::string& id);
  void give_digest(const std::string& id, PendingDigest digest);

  const std::shared_ptr<UploadDirectory> directory_;
  const UploadOptions options_;
  const PendingLimits limits_;
  LastSweep last_sweep_;
  std::atomic<bool> swept_once_{false};
  std::atomic<std::size_t> pending_{0};  // as the last sweep counted, and made since
  std::atomic<std::size_t> stored_{0};   // likewise
  std::mutex mutex_;
  std::map<std::string, PendingDigest, std::less<>> digests_;  // guarded by mutex_
};

}  // namespace h2server::content
