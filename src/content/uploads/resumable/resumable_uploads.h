// ResumableUploads: the resumable uploads of a site, until they are whole and have their name. They
// are kept in a directory (local_uploads.h) or in an object store (resumable_in_store.h). Both
// protocols, tus and the IETF's draft, keep theirs here.
//
// Called by all workers concurrently; an open upload belongs to the request that opened it. Errors
// are the responses to send. What is awaited must outlive its task: arguments by reference do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/storage/file_digest.h"
#include "content/storage/pending_description.h"
#include "content/uploads/area/pending_limits.h"
#include "content/uploads/receive/expected_digest.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct NewUpload {
  std::optional<std::uint64_t> length = {};
  std::string name = {};  // the final one, safe; empty: the id, or for a partial upload none
  std::string metadata = {};
  Concatenation concatenation = Concatenation::none;
  std::string parts = {};
  std::optional<Sha256::Value> sha256 = {};
  std::string client = {};  // the network of who begins it
};

// What an upload is, without its lock.
struct PendingStatus {
  PendingDescription description;
  std::uint64_t offset = 0;    // bytes
  std::int64_t changed_s = 0;  // the last progress
  std::int64_t expires_s = 0;
  bool stored = false;
};

struct ConcatenatedUpload {
  std::string id;  // remembers the file
  StoredFile file;
};

enum class BodyEnd : std::uint8_t {
  whole,       // it was received to its end
  cut,         // the client left, or the server stops
  mismatched,  // it has another digest than expected; none of it was kept
};

// One upload that is open and locked, so that no other request changes it.
class ResumableUpload {
 public:
  ResumableUpload() = default;
  ResumableUpload(const ResumableUpload&) = delete;
  ResumableUpload& operator=(const ResumableUpload&) = delete;
  virtual ~ResumableUpload() = default;

  [[nodiscard]] virtual const std::string& id() const noexcept = 0;
  [[nodiscard]] virtual const PendingDescription& description() const noexcept = 0;
  // Bytes that it has. Outside of a body, a killed server loses none of them.
  [[nodiscard]] virtual std::uint64_t offset() const noexcept = 0;
  // Returns true if bytes were refused because of the length that was announced.
  [[nodiscard]] virtual bool exceeded() const noexcept = 0;
  [[nodiscard]] bool whole() const noexcept { return description().length == offset(); }
  [[nodiscard]] bool is_partial() const noexcept {
    return description().concatenation == Concatenation::partial;
  }

  // What a request says about the whole upload. 400 if another length was announced before, or
  // there are more bytes already; 413 if it is too large.
  virtual Task<Result<void, Response>> announce(std::optional<std::uint64_t> length,
                                                std::optional<Sha256::Value> sha256) = 0;

  // A body: begin_body(), append() any number of times, then end_body() whatever has happened.
  // `bytes` is how many it will have as far as that is known. 413, 503 or 507 if there is no room.
  // If it is `checked`, its bytes count only if end_body() finds that they are as expected.
  virtual Task<Result<void, Response>> begin_body(std::uint64_t bytes, bool checked) = 0;
  // Adds bytes, also to `expected` if that is not null. On an error the upload has fewer of them,
  // or none, more. 413 for more bytes than the length that was announced.
  virtual Task<Result<void, Response>> append(std::string_view bytes, ExpectedDigest* expected) = 0;
  // Adds the last bytes. `whole`: the body was received to its end.
  virtual Task<Result<BodyEnd, Response>> end_body(std::string_view bytes, bool whole,
                                                   ExpectedDigest* expected) = 0;

  // Stores the upload, which ends with its last byte, under its name, or under `name`. 409 if the
  // name is taken, unless `overwrite`, 423 if it is locked; the upload then stays pending. 400 if
  // it is not what its digest declares; it is removed then.
  virtual Task<Result<StoredFile, Response>> store(std::optional<std::string> name,
                                                   bool overwrite) = 0;
  // Returns true if store() failed and the file may be there nevertheless.
  [[nodiscard]] virtual bool may_be_stored() const noexcept { return false; }
  virtual Task<Result<void, Response>> remove() = 0;

  // Unlocks the upload. Call last, and before other requests are to find it unlocked.
  virtual Task<void> close() = 0;
};

// What an id is: an upload that is open now, or one that was stored.
struct FoundUpload {
  std::unique_ptr<ResumableUpload> open = {};
  std::optional<PendingStatus> stored = {};
};

class ResumableUploads {
 public:
  ResumableUploads() = default;
  ResumableUploads(const ResumableUploads&) = delete;
  ResumableUploads& operator=(const ResumableUploads&) = delete;
  virtual ~ResumableUploads() = default;

  [[nodiscard]] virtual const UploadOptions& options() const noexcept = 0;
  [[nodiscard]] virtual const PendingLimits& limits() const noexcept = 0;
  // Returns true if it has concatenate().
  [[nodiscard]] virtual bool concatenates() const noexcept = 0;

  // 409 if the name is taken, 413, 503 or 507 if there is no room.
  virtual Task<Result<std::unique_ptr<ResumableUpload>, Response>> create(NewUpload upload,
                                                                          bool overwrite) = 0;
  // 404 if there is no such upload, 410 if it has expired, 423 if another request has it open.
  virtual Task<Result<FoundUpload, Response>> find(std::string id) = 0;
  // 404 or 410 as above.
  virtual Task<Result<PendingStatus, Response>> status(std::string id) = 0;
  // Makes one file of partial uploads, stores it, and removes them. 400 if one is not whole.
  virtual Task<Result<ConcatenatedUpload, Response>> concatenate(NewUpload upload,
                                                                 std::vector<std::string> ids,
                                                                 bool overwrite) = 0;
  // Forgets a stored upload. The file stays.
  virtual Task<Result<void, Response>> forget(std::string id) = 0;

  // Removes what has expired, for keep_up().
  virtual Task<void> upkeep() = 0;
  [[nodiscard]] std::chrono::milliseconds sweep_pause() const noexcept {
    return std::chrono::milliseconds(limits().sweep_ms_min);
  }
};

}  // namespace h2server::content
