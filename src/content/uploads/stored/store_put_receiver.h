// Stores the body of one request as one object: RawReceiver for a store.
#pragma once

#include <optional>
#include <string_view>

#include "content/uploads/receive/raw_head.h"
#include "content/uploads/stored/object_writer.h"
#include "content/uploads/stored/store_receiver.h"
#include "content/uploads/stored/store_uploads.h"
#include "h2server/uploads.h"

namespace h2server::content {

class StorePutReceiver final : public StoreReceiver {
 public:
  // `uploads` must outlive it.
  StorePutReceiver(RawHead head, StoreUploads& uploads, const UploadOptions& options);

  [[nodiscard]] bool names_in_body() const noexcept override { return false; }
  Task<Result<void, Response>> take(std::string_view bytes) override;
  Task<void> discard() override;
  [[nodiscard]] bool may_have_stored() const override { return writer_.may_be_made(); }

 private:
  Task<Result<void, Response>> begin();
  [[nodiscard]] Result<void, Response> check_size(std::uint64_t bytes) const;
  [[nodiscard]] bool needs_look() const noexcept;
  Task<Result<void, Response>> look();
  Result<void, Response> decide(const UploadTarget& target);
  Task<Result<void, Response>> write(std::string_view bytes);
  Task<Stored> commit() override;
  [[nodiscard]] Response refuse(const StoreError& error) const;

  const RawHead head_;
  StoreUploads& uploads_;
  const UploadOptions options_;
  DigestCheck digests_;
  std::optional<Sha256> sha256_;
  ObjectWriter writer_;
  bool begun_ = false;
  bool replaces_ = false;
  PutOptions condition_;  // once begun
};

}  // namespace h2server::content
