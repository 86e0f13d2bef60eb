#include "content/s3/checksums.h"

#include <array>
#include <utility>

#include "base/crc32c.h"
#include "base/text/base64.h"
#include "base/text/text.h"

namespace h2server::content::s3 {

std::string crc32c_text(std::uint32_t sum) {
  const std::array bytes = {static_cast<char>(sum >> 24), static_cast<char>(sum >> 16),
                            static_cast<char>(sum >> 8), static_cast<char>(sum)};
  return base::encode_base64({bytes.data(), bytes.size()});
}

std::string crc32c_text_of(std::string_view bytes) { return crc32c_text(base::crc32c(0, bytes)); }

std::optional<StatedChecksum> StatedChecksum::of(const AnswerHead& head) {
  if (base::equals_ignoring_case(head.find("x-amz-checksum-type"), "COMPOSITE")) {
    return std::nullopt;
  }
  // "…-3": of three parts. Such a text is not base64.
  const auto is_whole = [](std::string_view text, std::size_t bytes) {
    const std::optional<std::string> decoded = base::decode_base64(text);
    return decoded && decoded->size() == bytes;
  };
  const std::string_view sum = head.find("x-amz-checksum-crc32c");
  if (is_whole(sum, sizeof(std::uint32_t))) return StatedChecksum(sum, State(std::uint32_t{0}));
  const std::string_view digest = head.find("x-amz-checksum-sha256");
  if (is_whole(digest, sizeof(Sha256::Value))) return StatedChecksum(digest, State(Sha256()));
  return std::nullopt;
}

void StatedChecksum::update(std::string_view piece) {
  if (auto* const digest = std::get_if<Sha256>(&state_)) {
    digest->update(piece);
    return;
  }
  std::uint32_t& sum = std::get<std::uint32_t>(state_);
  sum = base::crc32c(sum, piece);
}

bool StatedChecksum::matches() {
  if (auto* const digest = std::get_if<Sha256>(&state_)) {
    const Sha256::Value value = digest->finish();
    const std::string bytes(value.begin(), value.end());
    return base::encode_base64(bytes) == stated_;
  }
  return crc32c_text(std::get<std::uint32_t>(state_)) == stated_;
}

}  // namespace h2server::content::s3
