#include "h2server/request.h"

#include <cerrno>
#include <stdexcept>

#include "http/file_response.h"
#include "http/message.h"

namespace h2server {

Task<Result<std::string_view>> Request::read() {
  if (body_ == nullptr) co_return std::string_view();
  Result<std::string_view> piece = co_await body_->read();
  co_return piece;
}

Task<Result<std::string>> Request::read_all(std::size_t bytes_max) {
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = co_await read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) co_return std::move(all);
    if (piece->size() > bytes_max - all.size()) {
      co_return std::unexpected(Error{EMSGSIZE, "request body"});
    }
    all.append(*piece);
  }
}

Response Request::reply_ok_with_file(FileRef file) const {
  if (file == nullptr) throw std::invalid_argument("a response without its file");
  return http::file_response(head_, std::move(file));
}

Response Request::reply_404() const { return http::error_response(404); }

}  // namespace h2server
