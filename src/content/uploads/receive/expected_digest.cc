#include "content/uploads/receive/expected_digest.h"

#include <algorithm>

namespace h2server::content {

void ExpectedDigest::update(std::string_view bytes) {
  std::visit([bytes](auto& digest) { digest.update(bytes); }, digest_);
}

bool ExpectedDigest::matches() {
  return std::visit([this](auto& digest) { return std::ranges::equal(digest.finish(), value_); },
                    digest_);
}

}  // namespace h2server::content
