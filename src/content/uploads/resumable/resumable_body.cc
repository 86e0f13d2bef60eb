#include "content/uploads/resumable/resumable_body.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "content/storage/gather_buffer.h"
#include "content/storage/upload_refusals.h"
#include "h2server/stop.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

struct Body {
  ResumableUpload& upload;
  ExpectedDigest* expected;
  GatherBuffer gathered;
  bool whole = false;
  std::optional<Response> refusal = {};  // of a body that was cut off
};

Response refuse_cut_body(const Request& request, const Error& error) {
  // By ActiveUploads. The client is right, and learns by HEAD what has become of the upload.
  if (request.stop_token().reason() == StopReason::aborted) {
    return refuse_upload(409, "another request goes on with the upload, or has removed it");
  }
  return refuse_body(error);
}

// Stores what arrives, but for the last bytes, which are left in the buffer.
Task<Result<void, Response>> receive_pieces(Request& request, Body& body) {
  io::Engine* const engine = io::Engine::current();
  const std::optional<std::uint64_t> announced = request.head().content_length;
  for (;;) {
    const Result<std::string_view> read = co_await request.read();
    if (!read) body.refusal = refuse_cut_body(request, read.error());
    if (!read) break;
    body.whole = read->empty();
    if (body.whole) break;
    std::string_view piece = *read;
    while (!piece.empty()) {
      body.gathered.take(piece);
      const bool due = engine == nullptr || body.gathered.due(io::now_ms(engine));
      if (!due || body.gathered.total() == announced) continue;
      Result<void, Response> written =
          co_await body.upload.append(body.gathered.bytes(), body.expected);
      body.gathered.clear(io::now_ms(engine));
      if (!written) co_return written;
    }
  }
  co_return Result<void, Response>();
}

}  // namespace

Task<Result<bool, Response>> receive_upload_body(Request& request, ResumableUpload& upload,
                                                 std::optional<ExpectedDigest>& expected) {
  const std::optional<std::uint64_t> announced = request.head().content_length;
  Result<void, Response> begun =
      co_await upload.begin_body(announced.value_or(0), expected.has_value());
  if (!begun) co_return std::unexpected(std::move(begun.error()));
  Body body{.upload = upload,
            .expected = expected ? &*expected : nullptr,
            .gathered = GatherBuffer(announced, false, io::now_ms(io::Engine::current()))};
  Result<void, Response> stored = co_await receive_pieces(request, body);
  const std::string_view rest = stored ? body.gathered.bytes() : std::string_view();
  const bool whole = stored && body.whole;
  Result<BodyEnd, Response> ended = co_await upload.end_body(rest, whole, body.expected);
  if (!stored) co_return std::unexpected(std::move(stored.error()));
  if (!ended) co_return std::unexpected(std::move(ended.error()));
  if (body.refusal) co_return std::unexpected(*std::move(body.refusal));
  co_return *ended != BodyEnd::mismatched;
}

}  // namespace h2server::content
