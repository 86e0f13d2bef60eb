// PendingUpload: one resumable upload that is open and locked, so that no other request changes it.
//
// Made by PendingUploads, which must outlive it. One thread at a time. Everything but the getters
// may block on the disk. Errors are the responses to send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "content/storage/file_digest.h"
#include "content/storage/pending_files.h"
#include "content/storage/upload_space.h"
#include "file/stop_flag.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

class PendingUploads;

// The digest of the first bytes of an upload.
struct PendingDigest {
  Sha256 digest;
  std::uint64_t bytes = 0;
};

class PendingUpload {
 public:
  // `bytes` is locked.
  PendingUpload(PendingUploads& store, std::string id, base::Fd bytes,
                PendingDescription description, std::uint64_t offset);
  PendingUpload(const PendingUpload&) = delete;
  PendingUpload& operator=(const PendingUpload&) = delete;
  // Unlocks the upload, which stays pending unless it was stored or removed.
  ~PendingUpload();

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const PendingDescription& description() const noexcept { return description_; }
  // Bytes that it has. A killed server loses none of them.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] bool whole() const noexcept { return description_.length == offset_; }
  // Returns true if bytes were refused because of the length that was announced.
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
  [[nodiscard]] bool is_partial() const noexcept {
    return description_.concatenation == Concatenation::partial;
  }

  // Checks that there is room for a body of `bytes`.
  Result<void, Response> expect(std::uint64_t bytes);
  // Adds bytes. On an error the upload has fewer of them, or none, more. 413 for more bytes than
  // the length that was announced.
  Result<void, Response> append(std::string_view bytes);
  // Writes to the disk itself what was appended, if the policy asks for that.
  Result<void, Response> sync();

  // 400 if another length was announced before, or there are more bytes already; 413 if it is too
  // large.
  Result<void, Response> announce_length(std::uint64_t length);
  Result<void, Response> declare_digest(const Sha256::Value& sha256);

  // What is appended between these two counts only if `verified`. A killed server forgets it.
  Result<void, Response> begin_checked();
  Result<void, Response> end_checked(bool verified);

  // Stores the upload, which ends with its last byte, under its name, or under `name`. 409 if the
  // name is taken, unless `overwrite`, or if another upload or a change by WebDAV is taking it now;
  // the upload then stays pending. 400 if it is not what its digest declares; it is removed then.
  // 503 once `stop` is set, as long as bytes_to_digest() are read.
  Result<StoredFile, Response> store(std::optional<std::string> name, bool overwrite,
                                     const file::StopFlag* stop = nullptr);
  // How many bytes store() has to read for the digest: none, unless it was lost.
  [[nodiscard]] std::uint64_t bytes_to_digest() const noexcept;
  void remove() noexcept;

  // Adds the bytes of another upload, without its description. 503 once `stop` is set.
  Result<void, Response> append_file(int file, std::uint64_t bytes, const file::StopFlag* stop);

 private:
  enum class State : std::uint8_t { pending, stored, removed };

  Result<void, Response> check_size(std::uint64_t added);
  Result<void, Response> write_description();
  Result<void, Response> digest_all(const file::StopFlag* stop);
  Result<void, Response> check_digest(const file::StopFlag* stop);
  Result<StoredFile, Response> take_name(bool overwrite);
  UploadClaim& claim();
  void keep_claim(std::uint64_t dropped) noexcept;

  PendingUploads& store_;
  const std::string id_;
  const base::Fd bytes_;
  PendingDescription description_;
  std::uint64_t offset_;
  std::optional<PendingDigest> digest_;  // of the first bytes
  std::optional<UploadClaim> claim_;     // once something is to be written
  State state_ = State::pending;
  bool exceeded_ = false;
};

}  // namespace h2server::content
