// StoreUpload: one resumable upload in a store that is open and locked. Objects and their meaning:
// see store_upload_state.h.
//
// Its calls are not stopped by the token of the request: what has arrived is kept after the client
// has left. Each ends in time, as the lease does. Dropping the object without close() is what a
// killed server does: nothing is lost, and the lock ends by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "content/store/store_lease.h"
#include "content/uploads/area/pending_places.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "content/uploads/stored/part_budget.h"
#include "content/uploads/stored/store_upload_state.h"
#include "h2server/store.h"
#include "h2server/task_group.h"
#include "http/fields/media_type.h"
#include "net/crypto/tls_sha256_state.h"

namespace h2server::content {

struct StoreUploadSizes {
  // Whole blocks of SHA-256; PartLimits::bytes_min. The same for all uploads and replicas: a part
  // of another size does not count.
  std::size_t part_bytes = 8 * 1024 * 1024;
  unsigned parts_max = PartLimits::number_max;  // of one upload
  // Parts of one upload that are sent at the same time, each from memory.
  unsigned parts_at_once = 4;
  // So much needs no share of the budget.
  std::size_t unbudgeted_bytes = 256 * 1024;
  // How long a request waits for a share. Less than what a lease has left beyond its reserve.
  std::chrono::milliseconds budget_wait{4'000};
  // A body with a checksum is kept in memory until it is verified.
  std::size_t checked_bytes_max = 16 * 1024 * 1024;
  // A request that sends nothing loses the upload after this time, so that others can go on.
  std::chrono::milliseconds lease_time{20'000};

  // Of one upload.
  [[nodiscard]] std::uint64_t file_bytes_max() const noexcept {
    return std::uint64_t{part_bytes} * parts_max;
  }
};

// What the uploads of a site share.
struct StorePlace {
  std::shared_ptr<Store> store;
  std::shared_ptr<PartBudget> budget;  // of the process
  std::shared_ptr<PendingPlaces> pending;
  http::MediaTypesRef types;  // objects get theirs
  UploadOptions options;      // file_bytes_max is at most that of `sizes`, never 0
  PendingLimits limits;
  StoreUploadSizes sizes;
};
using StorePlaceRef = std::shared_ptr<const StorePlace>;

// What was found in the store.
struct StoredProgress {
  UploadState state;
  std::string state_etag;
  std::map<unsigned, StoredPart> parts = {};  // up to the first that is missing
  std::string tail_etag = {};                 // empty: there is none
  std::optional<Tail> tail = {};
  BudgetShare tail_share = {};  // of part_bytes; null if the tail needs none
};

class StoreUpload final : public ResumableUpload {
 public:
  // The lease is held.
  StoreUpload(StorePlaceRef place, std::string id, std::unique_ptr<StoreLease> lease,
              StoredProgress progress);

  [[nodiscard]] const std::string& id() const noexcept override { return id_; }
  [[nodiscard]] const PendingDescription& description() const noexcept override {
    return state_.description;
  }
  [[nodiscard]] std::uint64_t offset() const noexcept override { return offset_; }
  [[nodiscard]] bool exceeded() const noexcept override { return exceeded_; }

  Task<Result<void, Response>> announce(std::optional<std::uint64_t> length,
                                        std::optional<Sha256::Value> sha256) override;
  Task<Result<void, Response>> begin_body(std::uint64_t bytes, bool checked) override;
  Task<Result<void, Response>> append(std::string_view bytes, ExpectedDigest* expected) override;
  Task<Result<BodyEnd, Response>> end_body(std::string_view bytes, bool whole,
                                           ExpectedDigest* expected) override;
  Task<Result<StoredFile, Response>> store(std::optional<std::string> name,
                                           bool overwrite) override;
  [[nodiscard]] bool may_be_stored() const noexcept override { return may_be_stored_; }
  Task<Result<void, Response>> remove() override;
  Task<void> close() override;

 private:
  Result<void, Response> check_size(std::uint64_t added);
  // Replaces the state's object.
  Task<Result<void, Response>> write_state();
  Task<Result<void, Response>> keep_lease();
  Response refuse(const StoreError& error);

  Task<Result<void, Response>> write_announced(UploadState before);
  Task<Result<void, Response>> add(std::string_view bytes, ExpectedDigest* expected);
  Task<Result<void, Response>> fill_parts(std::string_view bytes);
  Task<Result<void, Response>> begin_part();
  Task<Result<void, Response>> begin_parts();
  Task<void> wait_for_part();
  Task<Result<void, Response>> take_share(std::size_t wanted);
  [[nodiscard]] PutOptions written_as_file() const;
  Task<void> put_part(unsigned number, std::string bytes, std::optional<std::string> next_tail,
                      BudgetShare share);
  Task<StoreResult<void>> try_put_part(unsigned number, std::string bytes,
                                       std::optional<std::string> next_tail);
  Task<Result<BodyEnd, Response>> finish_body(std::string_view bytes, bool whole,
                                              ExpectedDigest* expected);
  Task<Result<void, Response>> put_tail();
  void settle();

  Task<Result<StoredFile, Response>> finish(std::optional<std::string> name, bool overwrite);
  Task<Result<void, Response>> check_digest();
  Task<StoreResult<ObjectInfo>> put_whole(std::string key, bool overwrite);
  Task<StoreResult<ObjectInfo>> put_parts(bool overwrite);
  Task<void> remember_stored();
  Task<Result<void, Response>> remove_all();

  const StorePlaceRef place_;
  const std::string id_;
  const std::string client_;  // who has begun it; empty if another process knows
  const std::unique_ptr<StoreLease> lease_;
  UploadState state_;
  std::string state_etag_;
  std::map<unsigned, StoredPart> parts_;        // that the store has
  std::map<unsigned, std::string> tail_etags_;  // of the tails that are known
  unsigned next_part_ = 1;                      // the number of what is in buffer_
  std::string buffer_;                          // the bytes behind the parts
  std::uint64_t offset_ = 0;
  std::uint64_t durable_ = 0;               // the offset that a killed server leaves
  std::optional<net::Sha256State> digest_;  // of the bytes before buffer_
  std::optional<std::string> checked_;      // a body that is not verified yet
  // A request that has a share waits for no other, but for its own parts, so no two wait for each
  // other.
  BudgetShare buffer_share_;           // of part_bytes
  BudgetShare checked_share_;          // of checked_, and of the buffer that it moves to
  std::optional<StoreError> failure_;  // of a part
  bool exceeded_ = false;
  bool removed_ = false;
  bool may_be_stored_ = false;
  unsigned in_flight_ = 0;  // parts
  TaskGroup sending_;
  coro::StoppableWait* part_wait_ = nullptr;
  bool wants_share_ = false;  // that of the next part that ends
  coro::StopState unstopped_;
};

}  // namespace h2server::content
