#include "hpack_rules.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <memory>

#include "http/fields/syntax.h"
#include "http/h2/hpack/token.h"
#include "pieces.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::h2::hpack::Decoder;
using http::h2::hpack::Encoder;
using http::h2::hpack::FieldLine;

constexpr std::uint32_t initial_table_bytes = 4096;  // RFC 9113, 6.5.2

// Field lines as text, to compare both decoders and the encoder's input.
struct Transcript {
  bool marks = false;  // note never-indexed lines; off for the encoder, which chooses them itself
  std::string text;

  void add(std::string_view name, std::string_view value, bool never_indexed) {
    if (marks && never_indexed) text += "never indexed: ";
    text.append(name).append("=").append(value).append("\n");
  }
};

// Returns false if libnghttp2 finds the block malformed. The transcript then has the lines before.
bool inflate(nghttp2_hd_inflater* inflater, std::string_view block, Transcript& transcript) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
  const std::uint8_t* const end = at + block.size();
  for (;;) {
    nghttp2_nv line{};
    int flags = 0;
    const auto left = static_cast<std::size_t>(end - at);
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater, &line, &flags, at, left, 1);
    if (used < 0) return false;
    at += used;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      transcript.add({reinterpret_cast<const char*>(line.name), line.namelen},
                     {reinterpret_cast<const char*>(line.value), line.valuelen},
                     (line.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0);
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater);
  return true;
}

// RFC 9113, 8.2.1. Includes the flags that the decoder sets without checking the line.
void require_true_flags(const FieldLine& line) {
  const std::string_view plain = line.name.substr(line.name.starts_with(':') ? 1 : 0);
  const auto is_lower = [](char c) { return c < 'A' || c > 'Z'; };
  const bool name_is_valid = http::is_token(plain) && std::ranges::all_of(plain, is_lower);
  require(line.name_is_valid == name_is_valid, "a valid name is known for one");
  const bool value_is_valid = std::ranges::all_of(line.value, http::is_field_value_character) &&
                              http::trim(line.value) == line.value;
  require(line.value_is_valid == value_is_valid, "a valid value is known for one");
  require(line.token == http::h2::hpack::token_of(line.name), "a line has its name's token");
  require(!line.is_static || line.name_is_static, "a static line has a static name");
}

Decoder::Verdict decode_all(Decoder& decoder, std::string_view block, Transcript& transcript,
                            std::vector<DecodedLine>* lines) {
  const ExactCopy copy(block);
  decoder.begin(copy.view());
  FieldLine line;
  Decoder::Verdict verdict;
  while ((verdict = decoder.next(line)) == Decoder::Verdict::line) {
    require_true_flags(line);
    transcript.add(line.name, line.value, line.never_indexed);
    if (lines != nullptr) {
      lines->push_back({std::string(line.name), std::string(line.value), line});
    }
  }
  require(decoder.next(line) == verdict, "the verdict about a block stays");
  return verdict;
}

// Upper bound of a table's memory: its bytes and a ring with at most twice as many records as
// entries, but at least records_min.
std::size_t memory_bytes_max(std::uint32_t table_bytes) {
  constexpr std::size_t entry_bytes = 32;  // RFC 7541, 4.1
  constexpr std::size_t record_bytes = 8;
  constexpr std::size_t records_min = 8;
  const std::size_t records = std::max(2 * (table_bytes / entry_bytes), records_min);
  return table_bytes + records * record_bytes;
}

}  // namespace

FieldLine DecodedLine::view() const {
  FieldLine made = line;
  made.name = name;
  made.value = value;
  return made;
}

void HpackRules::DeleteInflater::operator()(nghttp2_hd_inflater* inflater) const noexcept {
  nghttp2_hd_inflate_del(inflater);
}

HpackRules::Inflater HpackRules::make_inflater() {
  nghttp2_hd_inflater* made = nullptr;
  require(nghttp2_hd_inflate_new(&made) == 0, "libnghttp2 has an inflater");
  return Inflater(made);
}

// libnghttp2 requires a peer to announce a table smaller than the initial one. A peer need not do
// so before it has seen our SETTINGS, so small tables are not compared.
HpackRules::HpackRules(std::uint32_t decoder_table_bytes)
    : table_bytes_(decoder_table_bytes),
      decoder_(decoder_table_bytes),
      peer_inflater_(make_inflater()) {
  if (decoder_table_bytes < initial_table_bytes) return;
  inflater_ = make_inflater();
  const int changed = nghttp2_hd_inflate_change_table_size(inflater_.get(), decoder_table_bytes);
  require(changed == 0, "libnghttp2 takes the size of the table");
}

HpackRules::~HpackRules() = default;

bool HpackRules::decode(std::string_view block, std::vector<DecodedLine>& lines) {
  Transcript ours{.marks = true, .text = {}};
  const bool good = decode_all(decoder_, block, ours, &lines) == Decoder::Verdict::end;
  require(decoder_.memory_bytes() <= memory_bytes_max(table_bytes_), "the table is bounded");
  if (inflater_ == nullptr) return good;
  Transcript theirs{.marks = true, .text = {}};
  require(inflate(inflater_.get(), block, theirs) == good, "libnghttp2 refuses the same blocks");
  require_same(ours.text, theirs.text, "libnghttp2 decodes the same lines");
  return good;
}

void HpackRules::set_encoder_table_bytes(std::uint32_t bytes) {
  encoder_.set_table_bytes_max(bytes);
  const int changed = nghttp2_hd_inflate_change_table_size(peer_inflater_.get(), bytes);
  require(changed == 0, "libnghttp2 takes the size of the table");
}

// Gives each write a buffer of exactly the size that bound() promises.
std::string HpackRules::encode_once(const std::vector<DecodedLine>& lines) {
  std::string block;
  const auto append_written = [&block](std::size_t bound, auto write) {
    const auto room = std::make_unique_for_overwrite<char[]>(bound);
    const auto size = static_cast<std::size_t>(write(room.get()) - room.get());
    require(size <= bound, "the encoder writes as much as it says at most");
    block.append(room.get(), size);
  };
  append_written(Encoder::block_head_bytes_max,
                 [&](char* out) { return encoder_.begin_block(out); });
  for (const DecodedLine& line : lines) {
    append_written(Encoder::bound({line.name, line.value}),
                   [&](char* out) { return encoder_.encode(out, line.name, line.value); });
  }
  return block;
}

// Checks both decoders of the encoder's output.
void HpackRules::require_decodes(std::string_view block, const std::vector<DecodedLine>& lines) {
  Transcript expected;
  for (const DecodedLine& line : lines) expected.add(line.name, line.value, false);
  Transcript ours;
  require(decode_all(peer_, block, ours, nullptr) == Decoder::Verdict::end,
          "what is encoded can be decoded");
  require_same(ours.text, expected.text, "and is the same");
  Transcript theirs;
  require(inflate(peer_inflater_.get(), block, theirs), "libnghttp2 decodes what is encoded");
  require_same(theirs.text, expected.text, "to the same");
}

void HpackRules::encode(const std::vector<DecodedLine>& lines) {
  const std::uint64_t before = encoder_.version();
  const std::string block = encode_once(lines);
  require(encoder_.memory_bytes() <= memory_bytes_max(initial_table_bytes), "its table is bounded");
  require_decodes(block, lines);
  // An unchanged version() promises that the block can be decoded again.
  if (encoder_.version() == before) require_decodes(block, lines);
}

}  // namespace h2server::fuzz
