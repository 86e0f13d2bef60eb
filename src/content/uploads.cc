#include "h2server/uploads.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "content/multipart.h"
#include "content/upload_receiver.h"
#include "file/calls.h"
#include "h2server/json.h"
#include "http/cross_site.h"

namespace h2server {

namespace content {

namespace {

// Received bytes that are not written yet. Slow clients use little memory, fast ones need few
// hand-overs.
class Gathered {
 public:
  explicit Gathered(const io::Engine* engine) noexcept : engine_(engine) {}

  void add(std::string_view piece) {
    bytes_.append(piece);
    total_ += piece.size();
  }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }  // received so far
  // Returns true if the bytes should be written now.
  [[nodiscard]] bool due() const noexcept {
    if (engine_ == nullptr || !begun_ || bytes_.size() >= UploadLimits::gathered_bytes_max) {
      return true;
    }
    return bytes_.size() >= UploadLimits::gathered_bytes_min &&
           engine_->now_ms() - written_ms_ >= UploadLimits::gathered_ms_max;
  }
  // Call when the bytes have been written.
  void clear() noexcept {
    bytes_.clear();
    begun_ = true;
    if (engine_ != nullptr) written_ms_ = engine_->now_ms();
  }

 private:
  const io::Engine* const engine_;
  std::string bytes_;
  std::uint64_t total_ = 0;
  std::int64_t written_ms_ = 0;
  bool begun_ = false;  // the first bytes are written at once, which checks names early
};

// Returns true if room should be checked before the client sends the body: it waits for 100
// (Continue) (RFC 9110, 10.1.1), or the body is larger than one batch.
bool asks_before(const Request& request, std::optional<std::uint64_t> body_bytes) {
  return body_bytes && (request.field("expect") || *body_bytes > UploadLimits::gathered_bytes_max);
}

Response stopping() { return refuse_upload(503, "the server stops"); }

// Discards on a thread that may block, or on this one if the engine is stopping.
Task<void> discard(io::Engine* engine, UploadReceiver& receiver) {
  const auto work = [&receiver] {
    receiver.discard();
    return true;
  };
  const std::optional<bool> done = co_await file::run_waiting(engine, work);
  if (!done) receiver.discard();
}

// The error is the response to send; nothing of the upload is left then.
Task<Result<void, Response>> take(io::Engine* engine, UploadReceiver& receiver,
                                  std::string_view bytes) {
  const auto work = [&receiver, bytes] { return receiver.take(bytes); };
  std::optional<Result<void, Response>> taken = co_await file::run_waiting(engine, work);
  if (taken) co_return *std::move(taken);
  receiver.discard();
  co_return std::unexpected(stopping());
}

// Stores the last bytes and commits, in one hand-over.
Task<Stored> finish(io::Engine* engine, UploadReceiver& receiver, std::string_view bytes) {
  const auto work = [&receiver, bytes]() -> Stored {
    Result<void, Response> taken = receiver.take(bytes);
    if (!taken) return std::unexpected(std::move(taken.error()));
    return receiver.commit();
  };
  std::optional<Stored> stored = co_await file::run_waiting(engine, work);
  if (stored) co_return *std::move(stored);
  receiver.discard();
  co_return std::unexpected(stopping());
}

}  // namespace

Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options) {
  const auto type = request.field("content-type");
  std::optional<std::string> boundary = multipart_boundary(type.value_or(""));
  if (!boundary) {
    co_return std::unexpected(
        refuse_upload(415, "send the files as multipart/form-data with a boundary"));
  }
  io::Engine* const engine = io::Engine::current();
  const std::optional<std::uint64_t> body_bytes = request.head().content_length;
  UploadReceiver receiver(*std::move(boundary), std::move(place), options, body_bytes);
  Gathered gathered(engine);
  if (asks_before(request, body_bytes)) {
    Result<void, Response> begun = co_await take(engine, receiver, std::string_view());
    if (!begun) co_return std::unexpected(std::move(begun.error()));
  }
  for (;;) {
    const Result<std::string_view> piece = co_await request.read();
    if (!piece) {
      co_await discard(engine, receiver);
      co_return std::unexpected(refuse_upload(400, piece.error().message()));
    }
    if (piece->empty()) break;
    gathered.add(*piece);
    // The last bytes of a complete body are left to finish().
    if (!gathered.due() || gathered.total() == body_bytes) continue;
    Result<void, Response> taken = co_await take(engine, receiver, gathered.bytes());
    if (!taken) co_return std::unexpected(std::move(taken.error()));
    gathered.clear();
  }
  Stored stored = co_await finish(engine, receiver, gathered.bytes());
  co_return stored;
}

}  // namespace content

Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options) {
  content::UploadPlace place{.directory = nullptr, .path = std::move(directory)};
  content::Stored stored = co_await content::store_uploads(request, std::move(place), options);
  co_return stored;
}

bool is_cross_site(const Request& request) { return http::is_cross_site(request.head()); }

Response created_response(const std::vector<StoredFile>& files) {
  std::string json = "[";
  for (const StoredFile& file : files) {
    if (json.size() > 1) json += ',';
    json += fmt::format("{{\"name\":{},\"size\":{}}}", json_string(file.name), file.size);
  }
  json += "]\n";
  Response response = Response::json(std::move(json), 201);
  response.add("X-Content-Type-Options", "nosniff");  // the names are the client's choice
  return response;
}

}  // namespace h2server
