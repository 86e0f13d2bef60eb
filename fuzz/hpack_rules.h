// Checks both HPACK directions of a connection. Decodes a peer's blocks and compares the lines with
// libnghttp2's. Encodes the lines again and decodes the result with both decoders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2/hpack/decoder.h"
#include "http/h2/hpack/encoder.h"

struct nghttp2_hd_inflater;

namespace h2server::fuzz {

// A decoded line that outlives its block.
struct DecodedLine {
  std::string name;
  std::string value;
  http::h2::hpack::FieldLine line;  // its views point into the block or to static data

  // Returns the line with views into this object.
  [[nodiscard]] http::h2::hpack::FieldLine view() const;
};

class HpackRules {
 public:
  explicit HpackRules(std::uint32_t decoder_table_bytes);
  ~HpackRules();

  // Returns false if the block is malformed. All later blocks are then malformed, too.
  bool decode(std::string_view block, std::vector<DecodedLine>& lines);

  // The peer's SETTINGS_HEADER_TABLE_SIZE.
  void set_encoder_table_bytes(std::uint32_t bytes);
  // Encodes and checks a block of these lines. Keeps the encoder's state between calls.
  void encode(const std::vector<DecodedLine>& lines);

 private:
  struct DeleteInflater {
    void operator()(nghttp2_hd_inflater* inflater) const noexcept;
  };
  using Inflater = std::unique_ptr<nghttp2_hd_inflater, DeleteInflater>;
  static Inflater make_inflater();

  std::string encode_once(const std::vector<DecodedLine>& lines);
  void require_decodes(std::string_view block, const std::vector<DecodedLine>& lines);

  std::uint32_t table_bytes_;
  http::h2::hpack::Decoder decoder_;
  Inflater inflater_;  // libnghttp2's; null if not compared
  http::h2::hpack::Encoder encoder_;
  http::h2::hpack::Decoder peer_;  // decodes the encoder's output
  Inflater peer_inflater_;
};

}  // namespace h2server::fuzz
