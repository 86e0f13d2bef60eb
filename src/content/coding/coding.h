// Content codings (RFC 9110, 8.4): gzip, br (RFC 7932) and zstd (RFC 8878), and which media types
// are worth one.
//
// An Encoder belongs to one body and is used by one thread at a time. The functions may be called
// on any thread. A build without compression has no coding: has_codings() is false, and nothing
// else of this header but the names and the types may be used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace h2server::content {

// In the order in which the server prefers them to be made: zstd is three times as fast as the
// other two at about the same ratio, and br makes less than gzip in the same time (codecs.cc).
enum class Coding : std::uint8_t { zstd, br, gzip };
inline constexpr std::size_t coding_count = 3;
inline constexpr std::array<Coding, coding_count> codings = {Coding::zstd, Coding::br,
                                                             Coding::gzip};

// Returns false if the library was built without compression.
[[nodiscard]] bool has_codings() noexcept;

// Returns the name of the coding, as in Content-Encoding.
[[nodiscard]] std::string_view coding_name(Coding coding) noexcept;
// Returns what the name of a precompressed file ends with, such as ".gz".
[[nodiscard]] std::string_view coding_suffix(Coding coding) noexcept;

class Encoder {
 public:
  enum class Until : std::uint8_t {
    later,  // may keep what it has, for a better ratio
    flush,  // all bytes so far can be decoded from the output so far
    end,    // ends the body; the last call
  };

  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;
  // Appends output to `out`: at most about what it was given since the last flush.
  virtual void encode(std::string_view bytes, Until until, std::string& out) = 0;
};

// `size` is that of the whole body in bytes, if it is known. Uses at most 2 MiB, less for small
// bodies.
[[nodiscard]] std::unique_ptr<Encoder> make_encoder(Coding coding,
                                                    std::optional<std::uint64_t> size = {});
// Returns the whole content, encoded.
[[nodiscard]] std::string compress(std::string_view bytes, Coding coding);

// Returns true if content of that type, the value of Content-Type, usually gets much smaller: text,
// but not what has a compression of its own. False for text/event-stream, whose clients would each
// occupy an encoder for hours.
[[nodiscard]] bool is_compressible(std::string_view media_type) noexcept;

}  // namespace h2server::content
