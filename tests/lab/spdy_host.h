// A session of SPDY/3.1 with its exchanges, driven by a test, and the client's frames as bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spdy/session.h"

namespace h2server::lab::spdy {

inline std::string u32(std::uint32_t value) {
  std::string bytes(4, '\0');
  write_u32(bytes.data(), value);
  return bytes;
}

inline std::string control(int type, int flags, std::string_view payload, int spoken = 3) {
  std::string bytes = u32(0x8000'0000U | static_cast<std::uint32_t>(spoken) << 16 |
                          static_cast<std::uint32_t>(type));
  bytes +=
      u32(static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(payload.size()));
  return bytes.append(payload);
}
inline std::string control(FrameType type, int flags, std::string_view payload) {
  return control(static_cast<int>(type), flags, payload);
}
inline std::string data(std::uint32_t stream, int flags, std::string_view bytes) {
  return u32(stream) +
         u32(static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(bytes.size())) +
         std::string(bytes);
}
inline std::string rst_stream(std::uint32_t stream, std::uint32_t status) {
  return control(FrameType::rst_stream, 0, u32(stream) + u32(status));
}
inline std::string window_update(std::uint32_t stream, std::uint32_t delta) {
  return control(FrameType::window_update, 0, u32(stream) + u32(delta));
}
inline std::string goaway(std::uint32_t last, std::uint32_t status) {
  return control(FrameType::goaway, 0, u32(last) + u32(status));
}
inline std::string settings(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& entries) {
  std::string payload = u32(static_cast<std::uint32_t>(entries.size()));
  for (const auto& [id, value] : entries) payload += u32(id) + u32(value);
  return control(FrameType::settings, 0, payload);
}

// A block of exactly these pairs, legal or not.
inline std::string raw_block(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string block = u32(static_cast<std::uint32_t>(pairs.size()));
  for (const auto& [name, value] : pairs) {
    block += u32(static_cast<std::uint32_t>(name.size())) + name;
    block += u32(static_cast<std::uint32_t>(value.size())) + value;
  }
  return block;
}

// Joins frames that were made from left to right, which operator+ does not promise.
inline std::string all_of(std::initializer_list<std::string> frames) {
  std::string bytes;
  for (const std::string& frame : frames) bytes += frame;
  return bytes;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline const Pairs get = {{":method", "GET"},
                          {":path", "/"},
                          {":version", "HTTP/1.1"},
                          {":host", "h"},
                          {":scheme", "http"}};

inline Pairs with(Pairs pairs, const std::string& name, const std::string& value) {
  pairs.emplace_back(name, value);
  return pairs;
}
inline Pairs without(Pairs pairs, std::string_view name) {
  std::erase_if(pairs, [name](const auto& pair) { return pair.first == name; });
  return pairs;
}

class SpdyHost {
 public:
  explicit SpdyHost(const Limits& given = {})
      : limits(given), widened_(given.connection_window_bytes <= 65'536) {
    session = make_spdy_session(limits, exchanges_, nullptr);
  }
  SpdyHost(const SpdyHost&) = delete;
  SpdyHost& operator=(const SpdyHost&) = delete;
  ~SpdyHost() {
    session.reset();
    for (H2Exchange* const exchange : alive) release(exchange);
  }

  // Bytes of the client whose blocks pass through its compressor, in the order of the calls.
  std::string syn_stream(std::uint32_t id, const Pairs& pairs = get, int flags = flag::fin,
                         std::uint32_t associated = 0) {
    return control(FrameType::syn_stream, flags,
                   u32(id) + u32(associated) + std::string("\x60\0", 2) + compress(pairs));
  }
  std::string headers(std::uint32_t id, const Pairs& pairs, int flags) {
    return control(FrameType::headers, flags, u32(id) + compress(pairs));
  }
  std::string compress(const Pairs& pairs) {
    return std::string(compressor_.compress(raw_block(pairs)));
  }

  // Passes the bytes in steps and logs the events. Returns false if the session has failed.
  bool receive(std::string_view bytes, std::size_t step = SIZE_MAX) {
    while (!bytes.empty() && !session->failed()) {
      const std::string piece(
          bytes.substr(0, step));  // a buffer of its own shows overreads to valgrind
      session->receive(piece, now_ms);
      note_events();
      bytes.remove_prefix(piece.size());
    }
    return !session->failed();
  }

  // Returns what the session sends as text, a line for each frame, without its SETTINGS and the
  // WINDOW_UPDATE after them.
  std::string take(std::size_t bytes_max = SIZE_MAX) {
    session->produce(bytes_max);
    note_events();
    std::string bytes;
    base::BufferChain& out = session->output();
    for (; !out.empty(); out.consume(out.front().size())) bytes += out.front();
    return describe(bytes);
  }

  H2Exchange& exchange(std::uint32_t id) {
    for (H2Exchange* const one : alive) {
      if (one->id == id) return *one;
    }
    throw std::out_of_range("no such stream");
  }
  void respond(std::uint32_t id, Response response) {
    H2Exchange& one = exchange(id);
    one.response = std::move(response);
    one.outgoing.open(one.response, {.inline_bytes_max = 8192});
    session->respond(one, {.fields = fields_}, true);
  }
  void respond(std::uint32_t id) { session->respond(exchange(id), {.fields = fields_}, false); }

  Limits limits;
  std::unique_ptr<h2::Session> session;
  std::int64_t now_ms = 1;
  std::set<H2Exchange*> alive;
  std::string log;  // one line per event
  bool consumes = true;

 private:
  void release(H2Exchange* exchange) {
    base::Pool<H2Exchange>::Pointer(exchange, {&exchanges_}).reset();
  }
  void note_events() {
    for (h2::SessionEvent event; session->next(event);) note(event);
  }
  void note(const h2::SessionEvent& event) {
    using Kind = h2::SessionEvent::Kind;
    H2Exchange* const one = event.exchange;
    log += std::to_string(one->id);
    switch (event.kind) {
      case Kind::request:
        alive.insert(one);
        log +=
            " " + std::string(one->head.method_name) + " " + std::string(one->head.target) + "\n";
        return;
      case Kind::data:
        log += " data " + std::string(event.bytes) + "\n";
        if (consumes) session->consume(*one, event.bytes.size(), h2::Consumed::dropped);
        return;
      case Kind::ended:
        log += " ended\n";
        return;
      case Kind::closed:
        log += " closed\n";
        one->handling.closed = true;
        alive.erase(one);
        release(one);
        return;
      case Kind::body_wanted:
        log += " taken\n";
        return;
    }
  }

  std::string describe_block(std::string_view compressed) {
    std::string block;
    EXPECT_EQ(decompressor_.decompress(compressed, 1 << 20, block), Decompressor::Verdict::good);
    std::vector<Field> pairs;
    EXPECT_TRUE(read_block(block, pairs));
    std::string text;
    for (const Field& pair : pairs) {
      text += " " + std::string(pair.name) + "=" + std::string(pair.value);
    }
    return text;
  }
  std::string describe(std::string_view bytes) {
    std::string text;
    FrameReader reader(1 << 24);
    reader.add(bytes);
    for (;;) {
      const FrameReader::Step step = reader.next();
      const FrameHead& head = reader.head();
      const std::string fin = head.has(flag::fin) ? " fin" : "";
      if (step == FrameReader::Step::none) return text;
      if (step == FrameReader::Step::data) continue;
      if (step == FrameReader::Step::data_end) {
        text +=
            "data " + std::to_string(head.stream) + " " + std::to_string(head.size) + fin + "\n";
        continue;
      }
      text += describe_control(head, reader.bytes(), fin);
    }
  }
  std::string describe_control(const FrameHead& head, std::string_view payload,
                               const std::string& fin) {
    const auto number = [payload](std::size_t at) {
      return " " + std::to_string(read_u32(payload.data() + at));
    };
    switch (head.type) {
      case FrameType::syn_reply:
        return "reply" + number(0) + fin + describe_block(payload.substr(4)) + "\n";
      case FrameType::headers:
        return "headers" + number(0) + fin + describe_block(payload.substr(4)) + "\n";
      case FrameType::rst_stream:
        return "reset" + number(0) + number(4) + "\n";
      case FrameType::settings:
        return std::exchange(opened_, true) ? "settings\n" : "";
      case FrameType::ping:
        return "ping" + number(0) + "\n";
      case FrameType::goaway:
        return "goaway" + number(0) + number(4) + "\n";
      case FrameType::window_update:
        if (!std::exchange(widened_, true)) return "";
        return "window" + number(0) + number(4) + "\n";
      case FrameType::syn_stream:
        break;
    }
    return "unexpected\n";
  }

  const std::vector<Field> fields_ = {{":status", "200"}, {"x", "y"}};
  base::Pool<H2Exchange> exchanges_;
  Compressor compressor_;      // the client's
  Decompressor decompressor_;  // the client's
  bool opened_ = false;
  bool widened_;  // the first WINDOW_UPDATE was taken, or none is sent
};

}  // namespace h2server::lab::spdy
