// Checksums that a store keeps with an object: read, written and verified. Pure, for one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "content/s3/answers.h"
#include "content/storage/file_digest.h"

namespace h2server::content::s3 {

// As fields and documents have it: the base64 of four bytes, the most significant one first.
std::string crc32c_text(std::uint32_t sum);
std::string crc32c_text_of(std::string_view bytes);

// That of a whole object, which the store has stated, and which is computed while the body comes.
class StatedChecksum {
 public:
  // Of a response with a whole object. Returns nullopt if it states none that can be verified:
  // those of composite type are of the checksums of parts.
  static std::optional<StatedChecksum> of(const AnswerHead& head);

  void update(std::string_view piece);
  // Returns true if it is that of all pieces. The last call.
  [[nodiscard]] bool matches();
  // Returns true for one that takes its time: a digest, not a sum.
  [[nodiscard]] bool slow() const noexcept { return std::holds_alternative<Sha256>(state_); }

 private:
  using State = std::variant<std::uint32_t, Sha256>;  // CRC-32C
  StatedChecksum(std::string_view stated, State state)
      : stated_(stated), state_(std::move(state)) {}

  std::string stated_;
  State state_;
};

}  // namespace h2server::content::s3
