// In place of codecs.cc in a build without H2SERVER_COMPRESSION.
#include "base/assert.h"
#include "content/coding/coding.h"

namespace h2server::content {

bool has_codings() noexcept { return false; }

std::unique_ptr<Encoder> make_encoder(Coding, std::optional<std::uint64_t>) {
  ASSERT(!"has_codings()");
  return nullptr;
}

}  // namespace h2server::content
