#include "base/random.h"

#include <unistd.h>

#include "base/assert.h"

namespace h2server::base {

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  const int result = ::getentropy(&number, sizeof number);
  ASSERT(result == 0);  // Linux has getrandom() since 3.17
  return number;
}

}  // namespace h2server::base
