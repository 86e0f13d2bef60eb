// BodyFiles: the files in the body of a request: the body itself, or the parts of a form (RFC
// 7578). Pulled by whoever stores them; bytes in, events out.
//
// One thread at a time. Does no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/receive/multipart.h"
#include "content/uploads/receive/upload_intent.h"
#include "h2server/response.h"
#include "h2server/result.h"

namespace h2server::content {

struct UploadLimits {
  // Files per request; their names are kept until its end.
  static constexpr std::size_t files_max = 1000;
  // What a form may have beside its files, in bytes, if file_bytes_max is less.
  static constexpr std::uint64_t form_rest_min = 1 << 20;
};

class BodyFiles {
 public:
  enum class Event : std::uint8_t {
    need_more,  // all bytes fed are consumed
    begin,      // a file begins: path(), size()
    data,       // data() is the next piece of it, never empty
    end,        // of a file in a form
    refused,    // refusal() says why; call nothing more
  };

  // `intent` must outlive it.
  explicit BodyFiles(const UploadIntent& intent);
  BodyFiles(const BodyFiles&) = delete;
  BodyFiles& operator=(const BodyFiles&) = delete;

  // Call at first and after need_more. The bytes, perhaps none, must stay valid until the next
  // need_more.
  void feed(std::string_view bytes);
  Event next();

  // Of the last file that began: a safe path, and its bytes if they are known before they come.
  [[nodiscard]] const std::string& path() const noexcept { return paths_.back(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept;
  [[nodiscard]] std::string_view data() const noexcept { return data_; }
  // The response of the last `refused`: 400, 409 or 413.
  Response take_refusal() { return *std::move(refusal_); }

  // Call at the end of the body. The error is 400: it ends too early, or holds no file.
  [[nodiscard]] Result<void, Response> check_complete() const;

 private:
  Event next_of_file();
  Event next_of_form();
  std::optional<Event> begin_part();
  Event count_data(std::string_view data);
  Event refuse(int status, std::string_view text);
  Event refuse_size();

  const UploadIntent& intent_;
  std::optional<MultipartParser> form_;
  std::vector<std::string> paths_;  // of files that have begun
  std::string_view fed_;            // not of a form
  std::string_view data_;
  std::optional<Response> refusal_;
  std::uint64_t file_bytes_ = 0;  // of the current file
  std::uint64_t rest_ = 0;        // bytes of a form that were of no file
  bool in_file_ = false;          // the current part is a file
};

}  // namespace h2server::content
