// MultipartReader: the parts of a form that was sent as multipart/form-data (RFC 7578), one after
// the other, without storing them.
//
//   h2server::MultipartReader reader(request);
//   for (;;) {
//     const auto part = co_await reader.next_part();
//     if (!part) ...                       // part.error()
//     if (!*part) break;                   // there are no more
//     const auto value = co_await reader.read_all(1000);
//   }
//
// store_uploads() is the shorter way to store files.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/request.h"
#include "h2server/result.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

// Content is not limited here, since it is not kept: a handler knows how much it wants.
struct MultipartLimits {
  // Only two fields are used. A file name of 255 characters of four bytes each takes 3 KiB when
  // percent-encoded.
  std::size_t head_bytes_max = 8 * 1024;
  std::size_t parts_max = 1000;  // forms have tens of fields; handlers often keep each one
};

// The head of a part. Other fields than Content-Disposition and Content-Type are ignored (RFC 7578,
// 4.8).
struct FormPart {
  std::string name;                      // of the form's field; names may repeat
  std::optional<std::string> file_name;  // as sent by the client: not a name for the file system
  std::string content_type;              // "text/plain" if the part has none (RFC 7578, 4.4)
};

// Pulls the request's body as far as it needs, so a slow handler slows the client. One call at a
// time. Nobody else may read the body meanwhile.
//
// Errors are permanent, except that of read_all(): EINVAL if Content-Type is not
// multipart/form-data with a valid boundary, EPROTO if the body is malformed or ends before its
// closing boundary, EMSGSIZE beyond a limit, and those of Request::read().
class MultipartReader {
 public:
  // The request must outlive the reader.
  explicit MultipartReader(Request& request, MultipartLimits limits = {});
  MultipartReader(const MultipartReader&) = delete;
  MultipartReader& operator=(const MultipartReader&) = delete;
  ~MultipartReader();

  // Skips what is unread of the current part. Returns the next one, or nullopt after the last one.
  // What follows the closing boundary is left unread.
  [[nodiscard]] Task<Result<std::optional<FormPart>>> next_part();
  // Returns the next piece of the current part's content, valid until the next call; empty at its
  // end and where there is no current part.
  [[nodiscard]] Task<Result<std::string_view>> read();
  // Returns the rest of the current part's content, or EMSGSIZE if that is longer than `bytes_max`;
  // next_part() may be called then.
  [[nodiscard]] Task<Result<std::string>> read_all(std::size_t bytes_max);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace h2server
#pragma GCC visibility pop
