// Reads the body of a request and hands it to a receiver that stores it, without making other
// connections wait for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/area/upload_directory.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/uploads.h"

namespace h2server::content {

// Where uploads go: an open directory, or the path of one to look up.
struct UploadPlace {
  std::shared_ptr<UploadDirectory> directory;
  std::string path;  // used if `directory` is null

  // Looks the path up if there is no directory. May block on the disk. The error is the response to
  // send.
  Result<void, Response> open();
};

// The stored files, or the response to send; nothing of the upload is left then.
using Stored = Result<std::vector<StoredFile>, Response>;

// Stores a body. One call at a time; what is passed must stay valid until its end.
class BodyReceiver {
 public:
  BodyReceiver() = default;
  BodyReceiver(const BodyReceiver&) = delete;
  BodyReceiver& operator=(const BodyReceiver&) = delete;
  virtual ~BodyReceiver() = default;

  // Returns true if the first bytes of the body say more than the request's head, such as a file's
  // name. They are then handed over at once.
  [[nodiscard]] virtual bool names_in_body() const noexcept = 0;
  // Stores the next bytes of the body. The first call, which may have none, also checks that the
  // body can be stored. On an error nothing is left of the upload, here and below.
  virtual Task<Result<void, Response>> take(std::string_view bytes) = 0;
  // Stores the last bytes of a complete body.
  virtual Task<Stored> finish(std::string_view bytes) = 0;
  // Removes everything that has been written.
  virtual Task<void> discard() = 0;
};

// Stores a body on a disk: as a BodyReceiver, but every function may block. One thread at a time
// calls them.
class DiskReceiver {
 public:
  DiskReceiver() = default;
  DiskReceiver(const DiskReceiver&) = delete;
  DiskReceiver& operator=(const DiskReceiver&) = delete;
  virtual ~DiskReceiver() = default;

  [[nodiscard]] virtual bool names_in_body() const noexcept = 0;
  virtual Result<void, Response> take(std::string_view bytes) = 0;
  // Call when the body is complete.
  virtual Stored commit() = 0;
  virtual void discard() noexcept = 0;
};

struct ReceiveLimits {
  // A body of this size, or of an unknown one, is refused before it is received if it can't be
  // stored. A smaller one is received anyway, which saves a hand-over.
  static constexpr std::uint64_t checked_bytes_min = 64 * 1024;
};

// Received bytes are gathered and handed over in batches. While a large one is written, the next
// one is received; then the client is not read from, so a slow disk causes backpressure (over
// HTTP/2 the stream's window closes). Removes an incomplete upload before it returns, also when the
// server stops.
Task<Stored> receive_body(Request& request, BodyReceiver& receiver);
// The same, with the calls of the receiver made on threads that may wait for the disk.
Task<Stored> receive_body(Request& request, DiskReceiver& receiver);

}  // namespace h2server::content
