// Fuzzer of the records of TLS 1.3 after the handshake. An input is a connection's options and what
// happens on it, by one letter each; other letters are skipped:
//   w SIZE             the client writes
//   k REQUEST          the client changes its keys, and asks for the server's if REQUEST is odd
//   h REQUEST AT       the same, in two records
//   c                  the client closes
//   a LEVEL NUMBER     the client sends an alert
//   r TYPE ZEROS COUNT BYTES…  the client sends a record of any type with padding
//   p TYPE ZEROS SIZE  the same, with many bytes
//   W SIZE RECORD      the server writes, in records of that size
//   b RECORD AT AT     changes a bit of a record on its way
//   x d s RECORD       drops a record, sends it twice, swaps it with the next one
//   t RECORD COUNT     cuts bytes off the end of a record
//   i COUNT BYTES…     bytes from somebody else
//   .                  the records arrive at the server; they do at the end, too
//   C                  the server closes, and nothing follows
// The first byte chooses the suite. Of the second, bit 0 takes a client of the fuzzer's own, which
// alone knows a, r and p, instead of OpenSSL's; bits 1 and 2 choose max_fragment_length; bit 3 keys
// that are changed after a few records; bits 4 and 5 the pieces in which records arrive; bits 6 and
// 7 the room for their content.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzzer.h"
#include "pieces.h"
#include "require.h"
#include "tls_connection.h"
#include "tls_expectation.h"
#include "tls_reference.h"
#include "tls_servers.h"

namespace h2server::fuzz {

namespace {

constexpr std::size_t content_bytes_max = 1 << 14;
constexpr std::size_t inner_bytes_max = content_bytes_max + 256 - 16;  // that a record holds
constexpr std::size_t written_bytes_max = 200'000;                     // by an input
constexpr std::size_t arriving_bytes_max = 500'000;
constexpr unsigned steps_max = 300;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  unsigned byte() {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::string_view some() {
    const std::size_t count = byte();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  // Small sizes, some large ones, and those beside the limits.
  std::size_t size() {
    constexpr std::array<std::size_t, 8> limits = {511,
                                                   512,
                                                   513,
                                                   content_bytes_max - 1,
                                                   content_bytes_max,
                                                   content_bytes_max + 1,
                                                   inner_bytes_max - 1,
                                                   inner_bytes_max};
    const unsigned value = byte();
    if (value < 192) return value;
    if (value < 248) return (value - 191) * 290;
    return limits.at(value - 248);
  }

 private:
  std::string_view bytes_;
};

TlsConnectionOptions options_of(unsigned suite, unsigned flags) {
  return {.suite = static_cast<std::uint16_t>(0x1301 + suite % 3), .fragment_code = flags >> 1 & 3};
}

net::TlsRecordsLimits limits_of(unsigned flags) {
  net::TlsRecordsLimits limits;
  if ((flags & 8) != 0) limits.records_per_key_max = 6;
  return limits;
}

std::size_t read_max_of(const TlsConnectionOptions& options) {
  return options.fragment_code == 0 ? content_bytes_max : std::size_t{256} << options.fragment_code;
}

class Conversation {
 public:
  Conversation(std::string_view input, unsigned suite, unsigned flags)
      : input_(input),
        flags_(flags),
        options_(options_of(suite, flags)),
        connection_(options_, limits_of(flags)),
        expected_(read_max_of(options_)),
        client_(options_.suite, connection_.secrets().client),
        servers_(connection_, expected_, options_, (flags & 8) == 0) {}

  void run(Reader& reader) {
    for (unsigned steps = 0; !reader.empty() && steps < steps_max && !over_; ++steps) {
      const unsigned letter = reader.byte();
      if (!client_does(letter, reader)) happens(letter, reader);
    }
    if (!over_) arrive();
  }

 private:
  [[nodiscard]] bool forges() const noexcept { return (flags_ & 1) != 0; }

  std::string pattern(std::size_t size) {
    size = std::min(size, written_bytes_max - std::min(written_bytes_max, pattern_bytes_));
    std::string bytes(size, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(pattern_bytes_ * 31 + pattern_bytes_ / 251);
      ++pattern_bytes_;
    }
    return bytes;
  }

  // The fuzzer's client sends a record.
  void forge(TlsInner inner) {
    const std::size_t size = std::min(inner.content.size(), inner_bytes_max - 1);
    inner.content.resize(size);
    inner.zeros = std::min(inner.zeros, inner_bytes_max - 1 - size);
    if (inner.type == 0) inner = without_type(std::move(inner));
    const unsigned generation = client_.generation();
    const std::uint64_t number = client_.records();
    std::string record = client_.seal(inner);
    expected_.made(generation, number, record, std::move(inner));
    wire_.push_back(std::move(record));
  }

  // Without a type, the last byte that is not zero is one.
  static TlsInner without_type(TlsInner inner) {
    while (!inner.content.empty() && inner.content.back() == '\0') {
      inner.content.pop_back();
      ++inner.zeros;
    }
    if (!inner.content.empty()) {
      inner.type = static_cast<unsigned char>(inner.content.back());
      inner.content.pop_back();
    }
    return inner;
  }

  // Takes the records that OpenSSL's client has sent.
  void take_sent() {
    const std::string sent = connection_.client().sent();
    if (forges()) return;  // answers to KeyUpdates, of keys that the fuzzer's client has used
    for (std::string_view rest = sent; !rest.empty();) {
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
      const std::size_t size = tls_header_bytes + byte(3) * 256U + byte(4);
      const std::string_view record = rest.substr(0, size);
      const unsigned generation = client_.generation();
      const std::uint64_t number = client_.records();
      std::optional<TlsInner> inner = client_.open(record);
      require(inner.has_value(), "the client's records are authentic");
      if (inner->type == tls_handshake) client_.update();
      expected_.made(generation, number, std::string(record), *std::move(inner));
      wire_.emplace_back(record);
      rest.remove_prefix(size);
    }
  }

  void update_keys(bool request, std::size_t cut) {
    if (forges()) {
      std::string message("\x18\0\0\1", 4);
      message += static_cast<char>(request);
      if (cut > 0) forge({.type = tls_handshake, .content = message.substr(0, cut)});
      forge({.type = tls_handshake, .content = message.substr(cut)});
      client_.update();
    } else if (connection_.client().state() == TlsEnd::State::open && !closed_) {
      SSL* const ssl = connection_.client().ssl();
      SSL_key_update(ssl, request ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
      SSL_do_handshake(ssl);
    }
  }

  bool client_does(unsigned letter, Reader& reader) {
    switch (letter) {
      case 'w': {
        const std::string content = pattern(reader.size());
        if (forges()) {
          forge({.type = tls_application_data, .content = content});
        } else if (!closed_) {
          connection_.client().write(content);
        }
        break;
      }
      case 'k':
        update_keys(reader.byte() % 2 != 0, 0);
        break;
      case 'h': {
        const bool request = reader.byte() % 2 != 0;
        update_keys(request, reader.byte() % 5);
        break;
      }
      case 'c':
        if (forges()) {
          forge({.type = tls_alert, .content = std::string("\1\0", 2)});
        } else {
          SSL_shutdown(connection_.client().ssl());
          closed_ = true;
        }
        break;
      default:
        return forges() && forger_does(letter, reader);
    }
    take_sent();
    return true;
  }

  bool forger_does(unsigned letter, Reader& reader) {
    TlsInner inner;
    switch (letter) {
      case 'a':
        inner.type = tls_alert;
        inner.content += static_cast<char>(reader.byte());
        inner.content += static_cast<char>(reader.byte());
        break;
      case 'r':
        inner.type = static_cast<int>(reader.byte());
        inner.zeros = reader.size();
        inner.content = reader.some();
        break;
      case 'p':
        inner.type = static_cast<int>(reader.byte());
        inner.zeros = reader.size();
        inner.content = pattern(reader.size());
        break;
      default:
        return false;
    }
    forge(std::move(inner));
    return true;
  }

  void happens(unsigned letter, Reader& reader) {
    switch (letter) {
      case 'W': {
        const std::string content = pattern(reader.size());
        const std::size_t record = std::clamp<std::size_t>(reader.size(), 1, content_bytes_max);
        arrive();  // the servers' answers to it come first
        servers_.write(content, std::max(record, content.size() / 40 + 1));
        take_sent();
        break;
      }
      case 'C':
        arrive();
        servers_.close();
        over_ = true;
        break;
      case 'i':
        wire_.emplace_back(reader.some());
        break;
      case '.':
        arrive();
        break;
      default:
        tamper(letter, reader);
    }
  }

  void tamper(unsigned letter, Reader& reader) {
    if (wire_.empty() ||
        std::string_view("bxdst").find(static_cast<char>(letter)) == std::string_view::npos) {
      return;
    }
    const std::size_t index = reader.byte() % wire_.size();
    std::string& record = wire_[index];
    if (letter == 'b' && !record.empty()) {
      const unsigned high = reader.byte();
      const std::size_t at = (high * 256 + reader.byte()) % (8 * record.size());
      record[at / 8] = static_cast<char>(record[at / 8] ^ 1 << at % 8);
    } else if (letter == 'x') {
      wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (letter == 'd') {
      wire_.push_back(record);
    } else if (letter == 's' && index + 1 < wire_.size()) {
      record.swap(wire_[index + 1]);
    } else if (letter == 't') {
      record.resize(record.size() - std::min<std::size_t>(record.size(), reader.byte()));
    }
  }

  void arrive() {
    std::string bytes;
    for (const std::string& record : wire_) {
      if (bytes.size() + record.size() > arriving_bytes_max) break;
      bytes += record;
    }
    wire_.clear();
    const unsigned kind = flags_ >> 4 & 3;
    const Cuts cuts = kind == 0                          ? Cuts::whole()
                      : kind == 1 && bytes.size() < 3000 ? Cuts::single_bytes()
                                                         : Cuts::chosen_by(input_);
    servers_.arrived(bytes, cuts, net::tls_encrypted_bytes_max << (flags_ >> 6 & 3));
    take_sent();
  }

  std::string_view input_;
  unsigned flags_;
  TlsConnectionOptions options_;
  TlsConnection connection_;
  TlsExpectation expected_;
  TlsReference client_;  // seals the fuzzer's records; opens those of OpenSSL's client
  TlsServers servers_;
  std::vector<std::string> wire_;  // sent by the client, not yet arrived
  std::size_t pattern_bytes_ = 0;
  bool closed_ = false;  // OpenSSL's client has closed
  bool over_ = false;
};

}  // namespace

void check(std::string_view input) {
  Reader reader(input);
  const unsigned suite = reader.byte();
  const unsigned flags = reader.byte();
  Conversation conversation(input, suite, flags);
  conversation.run(reader);
}

}  // namespace h2server::fuzz
