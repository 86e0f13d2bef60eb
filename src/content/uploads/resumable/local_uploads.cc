#include "content/uploads/resumable/local_uploads.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "file/calls.h"
#include "h2server/own_stop.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

constexpr std::uint64_t short_bytes = 16 * 1024 * 1024;  // a digest of more takes long

// Runs work that blocks and returns its Result<…, Response>; 503 if it is given up before it
// begins.
template <class Work>
Task<std::invoke_result_t<Work&>> run_upload_work(Work work, file::WaitingOptions options = {}) {
  auto done = co_await file::run_waiting(io::Engine::current(), std::move(work), options);
  if (!done) co_return std::unexpected(Response(503, "the request was given up\n"));
  co_return *std::move(done);
}

// The last hand-over of a body.
Result<BodyEnd, Response> finish(PendingUpload& upload, std::string_view bytes, bool whole,
                                 ExpectedDigest* expected) {
  if (expected != nullptr) expected->update(bytes);
  Result<void, Response> done = upload.append(bytes);
  const bool verified = done && whole && (expected == nullptr || expected->matches());
  if (expected != nullptr) {
    Result<void, Response> ended = upload.end_checked(verified);
    if (done && !ended) done = std::move(ended);
  }
  if (done) done = upload.sync();
  if (!done) return std::unexpected(std::move(done.error()));
  if (!whole) return BodyEnd::cut;
  return verified ? BodyEnd::whole : BodyEnd::mismatched;
}

class LocalUpload final : public ResumableUpload {
 public:
  explicit LocalUpload(std::unique_ptr<PendingUpload> upload) : upload_(std::move(upload)) {}

  [[nodiscard]] const std::string& id() const noexcept override { return upload_->id(); }
  [[nodiscard]] const PendingDescription& description() const noexcept override {
    return upload_->description();
  }
  [[nodiscard]] std::uint64_t offset() const noexcept override { return upload_->offset(); }
  [[nodiscard]] bool exceeded() const noexcept override { return upload_->exceeded(); }

  Task<Result<void, Response>> announce(std::optional<std::uint64_t> length,
                                        std::optional<Sha256::Value> sha256) override {
    if (!length && !sha256) co_return Result<void, Response>();
    const auto work = [this, &length, &sha256] {
      Result<void, Response> done;
      if (length) done = upload_->announce_length(*length);
      if (done && sha256) done = upload_->declare_digest(*sha256);
      return done;
    };
    Result<void, Response> done = co_await run_upload_work(work);
    co_return done;
  }

  Task<Result<void, Response>> begin_body(std::uint64_t bytes, bool checked) override {
    const auto work = [this, bytes, checked] {
      Result<void, Response> fits = upload_->expect(bytes);
      if (!fits || !checked) return fits;
      return upload_->begin_checked();
    };
    Result<void, Response> begun = co_await run_upload_work(work);
    co_return begun;
  }

  Task<Result<void, Response>> append(std::string_view bytes, ExpectedDigest* expected) override {
    const auto work = [this, bytes, expected] {
      if (expected != nullptr) expected->update(bytes);
      return upload_->append(bytes);
    };
    Result<void, Response> written = co_await run_upload_work(work);
    co_return written;
  }

  Task<Result<BodyEnd, Response>> end_body(std::string_view bytes, bool whole,
                                           ExpectedDigest* expected) override {
    const auto work = [&] { return finish(*upload_, bytes, whole, expected); };
    std::optional<Result<BodyEnd, Response>> ended =
        co_await file::run_waiting(io::Engine::current(), work);
    if (!ended) ended = work();  // the server stops; what has arrived is kept nevertheless
    co_return *std::move(ended);
  }

  Task<Result<StoredFile, Response>> store(std::optional<std::string> name,
                                           bool overwrite) override {
    const file::WaitingOptions options{.takes_long = upload_->bytes_to_digest() > short_bytes};
    coro::StopState* const state = co_await coro::OwnStop();
    // Otherwise it is not worth watching whether the client leaves.
    const file::StopFlag stop(options.takes_long ? state : nullptr);
    const auto work = [this, &name, overwrite, &stop] {
      return upload_->store(std::move(name), overwrite, &stop);
    };
    Result<StoredFile, Response> stored = co_await run_upload_work(work, options);
    co_return stored;
  }

  Task<Result<void, Response>> remove() override {
    const auto work = [this] {
      upload_->remove();
      return true;
    };
    const std::optional<bool> done = co_await file::run_waiting(io::Engine::current(), work);
    if (!done) upload_->remove();  // the server stops
    co_return Result<void, Response>();
  }

  // Closing a file on another machine or in another process waits until it is written.
  Task<void> close() override {
    const auto work = [this] {
      upload_.reset();
      return true;
    };
    const std::optional<bool> done = co_await file::run_waiting(io::Engine::current(), work);
    if (!done) upload_.reset();  // the server stops
  }

 private:
  std::unique_ptr<PendingUpload> upload_;
};

// Blocks.
Result<FoundUpload, Response> find_now(PendingUploads& uploads, const std::string& id) {
  FoundUpload found;
  Result<std::unique_ptr<PendingUpload>, Response> opened = uploads.open(id);
  if (opened) {
    found.open = std::make_unique<LocalUpload>(*std::move(opened));
    return found;
  }
  if (opened.error().status() != 404) return std::unexpected(std::move(opened.error()));
  Result<PendingStatus, Response> status = uploads.status(id);
  if (!status) return std::unexpected(std::move(status.error()));
  if (!status->stored) return std::unexpected(std::move(opened.error()));
  found.stored = *std::move(status);
  return found;
}

class LocalUploads final : public ResumableUploads {
 public:
  explicit LocalUploads(std::shared_ptr<PendingUploads> uploads) : uploads_(std::move(uploads)) {}

  [[nodiscard]] const UploadOptions& options() const noexcept override {
    return uploads_->options();
  }
  [[nodiscard]] const PendingLimits& limits() const noexcept override { return uploads_->limits(); }
  [[nodiscard]] bool concatenates() const noexcept override { return true; }

  Task<Result<std::unique_ptr<ResumableUpload>, Response>> create(NewUpload upload,
                                                                  bool overwrite) override {
    const auto work = [this, &upload, overwrite] {
      return uploads_->create(std::move(upload), overwrite);
    };
    Result<std::unique_ptr<PendingUpload>, Response> made = co_await run_upload_work(work);
    if (!made) co_return std::unexpected(std::move(made.error()));
    co_return std::make_unique<LocalUpload>(*std::move(made));
  }

  Task<Result<FoundUpload, Response>> find(std::string id) override {
    const auto work = [this, &id] { return find_now(*uploads_, id); };
    Result<FoundUpload, Response> found = co_await run_upload_work(work);
    co_return found;
  }

  Task<Result<PendingStatus, Response>> status(std::string id) override {
    const auto work = [this, &id] { return uploads_->status(id); };
    Result<PendingStatus, Response> status = co_await run_upload_work(work);
    co_return status;
  }

  Task<Result<ConcatenatedUpload, Response>> concatenate(NewUpload upload,
                                                         std::vector<std::string> ids,
                                                         bool overwrite) override {
    coro::StopState* const state = co_await coro::OwnStop();
    const file::StopFlag stop(state);
    const auto work = [this, &upload, &ids, overwrite, &stop] {
      return uploads_->concatenate(std::move(upload), ids, overwrite, &stop);
    };
    const file::WaitingOptions options{.ends_with_task = true, .takes_long = true};
    Result<ConcatenatedUpload, Response> made = co_await run_upload_work(work, options);
    co_return made;
  }

  Task<Result<void, Response>> forget(std::string id) override {
    const auto work = [this, &id]() -> Result<void, Response> {
      uploads_->forget(id);
      return {};
    };
    Result<void, Response> done = co_await run_upload_work(work);
    co_return done;
  }

  Task<void> upkeep() override {
    if (!uploads_->may_expire()) co_return;
    coro::StopState* const state = co_await coro::OwnStop();
    const file::StopFlag stop(state);
    const auto work = [this, &stop]() -> Result<void, Response> {
      uploads_->sweep(&stop);
      return {};
    };
    const file::WaitingOptions options{.ends_with_task = true, .takes_long = true};
    co_await run_upload_work(work, options);
  }

 private:
  const std::shared_ptr<PendingUploads> uploads_;
};

}  // namespace

std::shared_ptr<ResumableUploads> local_uploads(std::shared_ptr<PendingUploads> uploads) {
  return std::make_shared<LocalUploads>(std::move(uploads));
}

}  // namespace h2server::content
