// ExpectedDigest: a digest that the content of a request is to have.
//
// One thread at a time.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "content/storage/file_digest.h"

namespace h2server::content {

class ExpectedDigest {
 public:
  template <class Digest>
  static ExpectedDigest of(const typename Digest::Value& value) {
    ExpectedDigest expected;
    expected.digest_.template emplace<Digest>();
    expected.value_.assign(value.begin(), value.end());
    return expected;
  }

  void update(std::string_view bytes);
  // Call once, at the end of the body.
  [[nodiscard]] bool matches();

 private:
  ExpectedDigest() = default;

  std::variant<Sha1, Sha256, Sha512> digest_;
  std::vector<unsigned char> value_;
};

}  // namespace h2server::content
