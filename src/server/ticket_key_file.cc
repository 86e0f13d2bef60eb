#include "server/ticket_key_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "file/whole_file.h"

namespace h2server::server {

Result<std::string, std::string> read_ticket_key(const std::string& file) {
  constexpr std::size_t bytes_min = 32;  // as many as the strongest key that is derived from it
  constexpr std::size_t bytes_max = 4096;
  const Result<std::string, int> read = file::read_whole_file(file, bytes_max);
  if (read && read->size() >= bytes_min) return *read;
  const bool is_wrong = read || read.error() == EFBIG;
  if (is_wrong) {
    return std::unexpected(fmt::format("the ticket key {} needs {} to {} random bytes: "
                                       "openssl rand 80 > {}",
                                       file, bytes_min, bytes_max, file));
  }
  return std::unexpected(
      fmt::format("can't read the ticket key {}: {}", file,
                  read.error() == ENOTSUP ? "not a regular file" : std::strerror(read.error())));
}

}  // namespace h2server::server
