#include "h2_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

namespace h2server::fuzz {

using http::h2::FrameHead;
using http::h2::FrameType;
namespace flag = http::h2::flag;

void Client::FreeInflater::operator()(nghttp2_hd_inflater* inflater) const noexcept {
  nghttp2_hd_inflate_del(inflater);
}

Client::Client() {
  nghttp2_hd_inflater* fresh = nullptr;
  if (nghttp2_hd_inflate_new(&fresh) == 0) inflater_.reset(fresh);
}
Client::~Client() = default;

void Client::expect_settings(std::string_view sent) {
  using namespace http::h2;
  if (!sent.starts_with(preface)) return;
  sent.remove_prefix(preface.size());
  while (sent.size() >= frame_head_bytes) {
    const FrameHead head = read_frame_head(sent.data());
    sent.remove_prefix(frame_head_bytes);
    std::string_view payload = sent.substr(0, head.size);
    sent.remove_prefix(payload.size());
    if (head.type != FrameType::settings || head.has(flag::ack)) continue;
    std::vector<std::uint32_t>& sizes = table_sizes_.emplace_back();
    for (; payload.size() >= 6; payload.remove_prefix(6)) {
      const auto setting = static_cast<Setting>(read_u16(payload.data()));
      if (setting == Setting::header_table_size) sizes.push_back(read_u32(payload.data() + 2));
      small_window |= setting == Setting::initial_window_size;
    }
  }
}

void Client::acknowledge_settings() {
  if (table_sizes_.empty()) {
    complain("an acknowledgement of nothing");
    return;
  }
  for (const std::uint32_t size : table_sizes_.front()) {
    nghttp2_hd_inflate_change_table_size(inflater_.get(), size);
  }
  table_sizes_.pop_front();
}

void Client::receive(std::string_view bytes) {
  using namespace http::h2;
  input_ += bytes;
  std::string_view rest = input_;
  while (rest.size() >= frame_head_bytes) {
    const FrameHead head = read_frame_head(rest.data());
    if (rest.size() - frame_head_bytes < head.size) break;
    if (head.size > default_frame_bytes) complain("a frame that is too large");
    const bool continues = head.type == FrameType::continuation && head.stream == block_stream_;
    if (block_stream_ != 0 && !continues) complain("a field block is interrupted");
    take_frame(head, rest.substr(frame_head_bytes, head.size));
    rest.remove_prefix(frame_head_bytes + head.size);
  }
  input_.erase(0, input_.size() - rest.size());
}

void Client::take_frame(const FrameHead& head, std::string_view payload) {
  switch (head.type) {
    case FrameType::data: {
      Answer& answer = answers[head.stream];
      if (answer.fields.empty() || answer.ended || answer.reset) complain("DATA out of place");
      answer.body += payload;
      content_bytes += payload.size();
      answer.ended |= head.has(flag::end_stream);
      return;
    }
    case FrameType::headers:
      block_ends_ = head.has(flag::end_stream);
      block_stream_ = head.stream;
      block_ = payload;
      if (head.has(flag::end_headers)) take_block();
      return;
    case FrameType::continuation:
      block_ += payload;
      if (head.has(flag::end_headers)) take_block();
      return;
    case FrameType::rst_stream:
      answers[head.stream].reset = true;
      answers[head.stream].reset_code = http::h2::read_u32(payload.data());
      return;
    case FrameType::settings:
      if (head.has(flag::ack)) acknowledge_settings();
      return;
    case FrameType::goaway:
      goaway_code = http::h2::read_u32(payload.data() + 4);
      sent_away |= goaway_code != 0;
      return;
    case FrameType::window_update:
      if (http::h2::read_u32(payload.data()) - 1 >= http::h2::largest_window_bytes) {
        complain("a wrong increment");
      }
      return;
    case FrameType::ping:
      return;
    case FrameType::priority:
    case FrameType::push_promise:
    case FrameType::priority_update:
      complain("a frame that no server of ours sends");
  }
}

void Client::take_block() {
  Answer& answer = answers[block_stream_];
  block_stream_ = 0;
  std::string fields;
  const auto* in = reinterpret_cast<const std::uint8_t*>(block_.data());
  std::size_t left = block_.size();
  for (;;) {
    nghttp2_nv line{};
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater_.get(), &line, &flags, in, left, 1);
    if (used < 0) {
      complain("a field block that can't be decoded");
      return;
    }
    in += used;
    left -= static_cast<std::size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      fields.append(reinterpret_cast<const char*>(line.name), line.namelen).append("=");
      fields.append(reinterpret_cast<const char*>(line.value), line.valuelen).append("\n");
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  if (answer.ended || answer.reset) complain("HEADERS out of place");
  answer.ended |= block_ends_;
  if (fields == ":status=100\n") {
    answer.continued = true;
  } else {
    (answer.fields.empty() ? answer.fields : answer.trailers) += fields;
  }
}

}  // namespace h2server::fuzz
