// Turns the files of one body into objects of a store. They are made one after the other when the
// body is complete. If one can't be, those before it are removed again, unless they have replaced
// others.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/uploads/receive/body_files.h"
#include "content/uploads/receive/receive_body.h"
#include "content/uploads/receive/upload_intent.h"
#include "content/uploads/stored/object_writer.h"
#include "content/uploads/stored/store_uploads.h"
#include "h2server/store.h"

namespace h2server::content {

class StoreReceiver final : public BodyReceiver {
 public:
  // `uploads` must outlive it.
  StoreReceiver(UploadIntent intent, StoreUploads& uploads);

  [[nodiscard]] bool names_in_body() const noexcept override { return intent_.is_form(); }
  Task<Result<void, Response>> take(std::string_view bytes) override;
  // Whatever is thrown, nothing is left.
  Task<Stored> finish(std::string_view bytes) override;
  Task<void> discard() override;
  // Returns true if it failed and something may be stored nevertheless.
  [[nodiscard]] bool may_have_stored() const;

 private:
  struct File {
    File(const WriterParts& parts, ObjectPlan plan) : writer(parts, std::move(plan)) {}
    ObjectWriter writer;
    std::optional<Sha256> sha256 = {};
    bool replaces = false;
    PutOptions condition = {};  // of the object
  };

  Task<Result<void, Response>> store(std::string_view bytes);
  [[nodiscard]] Response refusal();
  Task<Result<void, Response>> begin_file();
  Task<Result<void, Response>> flush_last();
  [[nodiscard]] bool needs_look() const noexcept;
  Task<Result<void, Response>> look(File& file);
  Result<void, Response> decide(File& file, const UploadTarget& target) const;
  Task<Result<void, Response>> write(std::string_view bytes);
  Result<void, Response> check_complete();
  Task<Stored> commit();
  Task<Stored> make_all();
  Task<void> take_back(const std::vector<StoredFile>& made);
  [[nodiscard]] Response refuse(const File& file, const StoreError& error) const;

  StoreUploads& uploads_;
  const UploadIntent intent_;
  BodyFiles body_{intent_};
  DigestCheck digests_;
  std::vector<std::unique_ptr<File>> files_;
  std::size_t kept_ = 0;  // bytes of small files that wait in memory
};

}  // namespace h2server::content
