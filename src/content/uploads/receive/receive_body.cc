#include "content/uploads/receive/receive_body.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "base/log.h"
#include "content/storage/gather_buffer.h"
#include "content/storage/upload_refusals.h"
#include "file/calls.h"
#include "h2server/own_stop.h"
#include "h2server/task_group.h"

namespace h2server::content {

namespace {

// Returns true if the upload should be checked before the client sends the body: it waits for 100
// (Continue) (RFC 9110, 10.1.1), or the body may be large.
bool asks_before(const Request& request) {
  const std::optional<std::uint64_t> body_bytes = request.head().content_length;
  return !body_bytes || *body_bytes > ReceiveLimits::checked_bytes_min || request.field("expect");
}

Response stopping() { return refuse_upload(503, "the server stops"); }

// Calls a receiver on threads that may block. What an engine that is stopping does not call any
// more is discarded on this one.
class WaitingReceiver final : public BodyReceiver {
 public:
  WaitingReceiver(io::Engine* engine, DiskReceiver& receiver)
      : engine_(engine), receiver_(receiver) {}

  [[nodiscard]] bool names_in_body() const noexcept override { return receiver_.names_in_body(); }

  Task<Result<void, Response>> take(std::string_view bytes) override {
    const auto work = [this, bytes] { return receiver_.take(bytes); };
    std::optional<Result<void, Response>> taken = co_await file::run_waiting(engine_, work);
    if (taken) co_return *std::move(taken);
    receiver_.discard();
    co_return std::unexpected(stopping());
  }

  // In one hand-over.
  Task<Stored> finish(std::string_view bytes) override {
    const auto work = [this, bytes]() -> Stored {
      Result<void, Response> taken = receiver_.take(bytes);
      if (!taken) return std::unexpected(std::move(taken.error()));
      return receiver_.commit();
    };
    std::optional<Stored> stored = co_await file::run_waiting(engine_, work);
    if (stored) co_return *std::move(stored);
    receiver_.discard();
    co_return std::unexpected(stopping());
  }

  Task<void> discard() override {
    const auto work = [this] {
      receiver_.discard();
      return true;
    };
    const std::optional<bool> done = co_await file::run_waiting(engine_, work);
    if (!done) receiver_.discard();
  }

 private:
  io::Engine* const engine_;
  DiskReceiver& receiver_;
};

// A batch that is written while the next one is received.
struct Writing {
  GatherBuffer::Batch batch = {};
  Result<void, Response> taken = {};
  std::exception_ptr failure = nullptr;
};

Task<void> write(BodyReceiver& receiver, Writing& writing) {
  try {
    Result<void, Response> taken = co_await receiver.take(writing.batch.bytes());
    writing.taken = std::move(taken);
  } catch (...) {
    writing.failure = std::current_exception();
  }
}

// Ends with the last batch written, whatever happens. The error is the response to send; the
// receiver may have been discarded then.
Task<Result<void, Response>> receive(io::Engine* engine, Request& request, BodyReceiver& receiver,
                                     GatherBuffer& gathered, TaskGroup& group, Writing& writing) {
  coro::StopState* const stop = co_await coro::OwnStop();
  const std::optional<std::uint64_t> body_bytes = request.head().content_length;
  for (;;) {
    const Result<std::string_view> read = co_await request.read();
    if (!read) co_return std::unexpected(refuse_body(read.error()));
    if (read->empty()) co_return {};
    std::string_view piece = *read;
    while (!piece.empty()) {
      gathered.take(piece);
      // The last bytes of a complete body are left to finish(). A program without an engine waits
      // for the disk anyway.
      const bool due = engine == nullptr || gathered.due(io::now_ms(engine));
      if (!due || gathered.total() == body_bytes) continue;
      co_await group.join();
      if (!writing.taken || writing.failure) co_return {};
      if (gathered.streams()) {
        writing.batch = gathered.detach(io::now_ms(engine));
        Task<void> task = write(receiver, writing);
        task.inherit_stop(stop);
        group.start(std::move(task));
        continue;
      }
      Result<void, Response> taken = co_await receiver.take(gathered.bytes());
      if (!taken) co_return std::unexpected(std::move(taken.error()));
      gathered.clear(io::now_ms(engine));
    }
  }
}

}  // namespace

Result<void, Response> UploadPlace::open() {
  if (directory != nullptr) return {};
  Result<std::shared_ptr<UploadDirectory>, int> found = UploadDirectory::find(path);
  if (found) {
    directory = *std::move(found);
    return {};
  }
  if (found.error() == EMFILE || found.error() == ENFILE) return refused_for(found.error(), path);
  base::log_error("can't open the upload directory {}: {}", path, std::strerror(found.error()));
  return std::unexpected(refuse_upload(500, "the upload can't be stored"));
}

Task<Stored> receive_body(Request& request, BodyReceiver& receiver) {
  io::Engine* const engine = io::Engine::current();
  GatherBuffer gathered(request.head().content_length, receiver.names_in_body(),
                        io::now_ms(engine));
  TaskGroup group;
  Writing writing;
  Result<void, Response> received = {};
  std::exception_ptr failure;
  try {
    Result<void, Response> begun = {};
    const bool asks = asks_before(request);
    if (asks) begun = co_await receiver.take(std::string_view());
    if (!begun) co_return std::unexpected(std::move(begun.error()));
    Result<void, Response> done =
        co_await receive(engine, request, receiver, gathered, group, writing);
    received = std::move(done);
  } catch (...) {  // by Request::read() or the receiver
    failure = std::current_exception();
  }
  co_await group.join();
  if (!failure) failure = writing.failure;
  if (!failure && !writing.taken) co_return std::unexpected(std::move(writing.taken.error()));
  if (failure || !received) {
    co_await receiver.discard();
    if (failure) std::rethrow_exception(failure);
    co_return std::unexpected(std::move(received.error()));
  }
  Stored stored = co_await receiver.finish(gathered.bytes());
  co_return stored;
}

Task<Stored> receive_body(Request& request, DiskReceiver& receiver) {
  WaitingReceiver waiting(io::Engine::current(), receiver);
  Stored stored = co_await receive_body(request, waiting);
  co_return stored;
}

}  // namespace h2server::content
