#include "http/h2/nghttp2_client.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace h2server::http::h2 {

namespace {

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::vector<nghttp2_nv> lines_of(const Headers& headers) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  std::vector<nghttp2_nv> lines;
  for (const auto& [name, value] : headers) {
    lines.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return lines;
}

}  // namespace

std::string Nghttp2Client::Answer::status() const {
  constexpr std::string_view name = ":status=";
  return fields.starts_with(name) ? fields.substr(name.size(), 3) : "";
}

struct Nghttp2Client::Callbacks {
  static Nghttp2Client& self(void* user) { return *static_cast<Nghttp2Client*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    Answer& answer = self(user).answers[frame->hd.stream_id];
    if (view(name, name_size) == ":status") {
      answer.has_interim = value[0] == '1';
      if (view(value, value_size) == "100") {
        answer.continued = true;
        return 0;
      }
    }
    std::string& text = answer.has_interim ? answer.interim
                        : answer.has_head  ? answer.trailers
                                           : answer.fields;
    text.append(view(name, name_size)).append("=").append(view(value, value_size)).append(";");
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                     std::size_t size, void* user) {
    self(user).answers[id].body += view(bytes, size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Nghttp2Client& me = self(user);
    const auto type = frame->hd.type;
    if (type == NGHTTP2_GOAWAY) {
      me.goaways.emplace_back(frame->goaway.last_stream_id, frame->goaway.error_code);
    } else if (type == NGHTTP2_RST_STREAM) {
      me.answers[frame->hd.stream_id].reset = frame->rst_stream.error_code;
    } else if (type == NGHTTP2_SETTINGS) {
      me.settings_acknowledged += (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? 1 : 0;
    } else if (type == NGHTTP2_DATA || type == NGHTTP2_HEADERS) {
      Answer& answer = me.answers[frame->hd.stream_id];
      answer.has_head |= !answer.fields.empty();
      answer.ended |= (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* room,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    Body& body = self(user).bodies_[id];
    if (body.left() == 0 && !body.ends) return NGHTTP2_ERR_DEFERRED;
    const std::size_t part = std::min(size, body.left());
    std::copy_n(body.bytes.data() + body.sent, part, room);
    body.sent += part;
    if (body.left() > 0 || !body.ends) return static_cast<ssize_t>(part);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!body.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const std::vector<nghttp2_nv> lines = lines_of(body.trailers);
      EXPECT_EQ(nghttp2_submit_trailer(session, id, lines.data(), lines.size()), 0);
    }
    return static_cast<ssize_t>(part);
  }
};

Nghttp2Client::Nghttp2Client() {
  nghttp2_session_callbacks* set = nullptr;
  nghttp2_session_callbacks_new(&set);
  nghttp2_session_callbacks_set_on_header_callback(set, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(set, Callbacks::on_frame);
  nghttp2_session_client_new(&session_, set, this);
  nghttp2_session_callbacks_del(set);
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
}

Nghttp2Client::~Nghttp2Client() { nghttp2_session_del(session_); }

std::int32_t Nghttp2Client::request(const std::string& method, const std::string& path,
                                    const Headers& more, std::optional<std::string> body, bool ends,
                                    const Headers& trailers) {
  Headers headers = {
      {":method", method}, {":scheme", "http"}, {":authority", "a"}, {":path", path}};
  headers.insert(headers.end(), more.begin(), more.end());
  const std::vector<nghttp2_nv> lines = lines_of(headers);
  const nghttp2_data_provider provider{.source = {}, .read_callback = Callbacks::read_body};
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(),
                                                 body ? &provider : nullptr, nullptr);
  if (body) bodies_[id] = {*std::move(body), ends, trailers};
  return id;
}

void Nghttp2Client::send(std::int32_t id, const std::string& bytes, bool ends) {
  bodies_[id] = {bytes, ends};
  nghttp2_session_resume_data(session_, id);
}

void Nghttp2Client::reset(std::int32_t id) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

std::string Nghttp2Client::bytes() {
  std::string all;
  const std::uint8_t* part = nullptr;
  for (ssize_t size; (size = nghttp2_session_mem_send(session_, &part)) > 0;) {
    all += view(part, static_cast<std::size_t>(size));
  }
  return all;
}

void Nghttp2Client::receive(std::string_view bytes) {
  EXPECT_EQ(nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                     bytes.size()),
            static_cast<ssize_t>(bytes.size()));
}

}  // namespace h2server::http::h2
