// read_all(): the bodies of requests and the content of parts, as one string.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::http {

// Reads pieces by from.read() until one is empty. Fails as read() does, and with EMSGSIZE about
// `what` if there are more than `bytes_max` bytes. `from` must outlive the task.
template <class Readable>
Task<Result<std::string>> read_all(Readable& from, std::size_t bytes_max, std::string_view what) {
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = co_await from.read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) co_return std::move(all);
    if (piece->size() > bytes_max - all.size()) {
      co_return std::unexpected(Error{EMSGSIZE, what});
    }
    all.append(*piece);
  }
}

}  // namespace h2server::http
