// Both directions of a connection's HPACK: blocks of a peer are decoded and compared with what
// libnghttp2 makes of them; the lines in them are encoded, and decoded by both again.
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
  http::h2::hpack::FieldLine line;  // its views are into the connection's block, or static

  // With views into this.
  [[nodiscard]] http::h2::hpack::FieldLine view() const;
};

class HpackRules {
 public:
  explicit HpackRules(std::uint32_t decoder_table_bytes);
  ~HpackRules();

  // Returns false if the block is malformed, as all that follow it would be.
  bool decode(std::string_view block, std::vector<DecodedLine>& lines);

  // The peer's SETTINGS_HEADER_TABLE_SIZE.
  void set_encoder_table_bytes(std::uint32_t bytes);
  // A block of these lines, in the state that the blocks before it have left.
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
  Inflater inflater_;  // libnghttp2's decoder_
  http::h2::hpack::Encoder encoder_;
  http::h2::hpack::Decoder peer_;  // of what encoder_ writes
  Inflater peer_inflater_;
};

}  // namespace h2server::fuzz
