// Turns the parts of one form into objects: UploadReceiver for a store. They are made one after the
// other when the form is complete. If one can't be, those before it are removed again, unless they
// have replaced others.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/uploads/receive/multipart.h"
#include "content/uploads/receive/upload_receiver.h"
#include "content/uploads/stored/object_writer.h"
#include "content/uploads/stored/store_receiver.h"
#include "content/uploads/stored/store_uploads.h"
#include "h2server/uploads.h"

namespace h2server::content {

class StoreFormReceiver final : public StoreReceiver {
 public:
  // `uploads` must outlive it.
  StoreFormReceiver(FormHead head, StoreUploads& uploads, const UploadOptions& options);

  [[nodiscard]] bool names_in_body() const noexcept override { return true; }
  Task<Result<void, Response>> take(std::string_view bytes) override;
  Task<void> discard() override;
  [[nodiscard]] bool may_have_stored() const override;

 private:
  struct File {
    File(const WriterParts& parts, ObjectPlan plan) : writer(parts, std::move(plan)) {}
    ObjectWriter writer;
    std::optional<Sha256> sha256 = {};
    bool replaces = false;
  };

  Task<Result<void, Response>> store(std::string_view bytes);
  Task<Result<void, Response>> begin_part();
  Task<Result<void, Response>> add_file(std::string path);
  Task<Result<void, Response>> write(std::string_view bytes);
  Result<void, Response> check_complete();
  Task<Stored> commit() override;
  Task<Stored> make_all();
  Task<void> take_back(const std::vector<StoredFile>& made);

  const FormHead head_;
  MultipartParser parser_;
  StoreUploads& uploads_;
  const UploadOptions options_;
  DigestCheck digests_;
  std::vector<std::unique_ptr<File>> files_;
  std::size_t kept_ = 0;    // bytes of small files that wait in memory
  std::uint64_t rest_ = 0;  // bytes that were of no file
  bool in_file_ = false;    // the current part is the last of files_
};

}  // namespace h2server::content
