#include "file/content_sample.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "base/keyed_hash.h"
#include "h2server/result.h"
#include "io/file_call.h"

namespace h2server::file {

namespace {

constexpr std::uint64_t end_bytes = 1024;  // of each end: more than a line of a log

// Returns the hash of what begins at `offset`. The error is an errno value; EAGAIN: it would have
// to be waited for; EIO also if the file is shorter.
Result<std::uint64_t, int> hash_at(int descriptor, std::uint64_t offset, std::uint64_t size,
                                   bool may_wait) {
  std::array<char, end_bytes> bytes;
  for (std::size_t done = 0; done < size;) {
    const std::span<char> room =
        std::span(bytes).subspan(done, static_cast<std::size_t>(size) - done);
    const int count = io::FileCall::read(descriptor, room, offset + done).make(may_wait);
    if (count == -EINTR) continue;
    if (count <= 0) return std::unexpected(count == 0 ? EIO : -count);
    done += static_cast<std::size_t>(count);
  }
  return base::keyed_hash({bytes.data(), static_cast<std::size_t>(size)});
}

}  // namespace

std::optional<ContentSample> ContentSample::take(int descriptor, std::uint64_t bytes,
                                                 bool may_wait) {
  const std::uint64_t size = std::min(bytes, end_bytes);
  const Result<std::uint64_t, int> first = hash_at(descriptor, 0, size, may_wait);
  const Result<std::uint64_t, int> last = hash_at(descriptor, bytes - size, size, may_wait);
  if (!first || !last) return std::nullopt;
  return ContentSample(bytes, *first, *last);
}

bool ContentSample::is_still_in(int descriptor, bool may_wait) const {
  const std::uint64_t size = std::min(bytes_, end_bytes);
  const auto stays = [&](std::uint64_t offset, std::uint64_t hash) {
    const Result<std::uint64_t, int> now = hash_at(descriptor, offset, size, may_wait);
    return now ? *now == hash : now.error() == EAGAIN;
  };
  return stays(0, first_) && stays(bytes_ - size, last_);
}

}  // namespace h2server::file
