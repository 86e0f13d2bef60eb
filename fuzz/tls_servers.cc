#include "tls_servers.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "require.h"
#include "tls_reference.h"

namespace h2server::fuzz {

namespace {

using Ending = net::TlsRecords::Ending;
using End = TlsExpectation::End;
using Reason = TlsExpectation::Reason;

constexpr int close_notify = 0;

std::string taken_from(base::BufferChain& chain) {
  std::vector<iovec> pieces(chain.pieces());
  pieces.resize(chain.gather(pieces));
  std::string text;
  for (const iovec& piece : pieces) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  chain.clear();
  return text;
}

End end_of(Ending ending) {
  if (ending == Ending::none) return End::none;
  return ending == Ending::closed ? End::closed : End::broken;
}

}  // namespace

TlsServers::TlsServers(TlsConnection& connection, TlsExpectation& expected,
                       const TlsConnectionOptions& options, bool has_twin)
    : connection_(connection),
      expected_(expected),
      server_(options.suite, connection.secrets().server),
      has_twin_(has_twin) {
  decode(connection.tickets());
}

void TlsServers::decode(std::string_view sent) {
  while (!sent.empty()) {
    require(alert_sent_ < 0, "nothing follows an alert");
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(sent[at]); };
    require(sent.size() >= tls_header_bytes, "the server sends whole records");
    const std::size_t size = tls_header_bytes + byte(3) * 256U + byte(4);
    require(sent.size() >= size, "the server sends whole records");
    const std::optional<TlsInner> inner = server_.open(sent.substr(0, size));
    require(inner.has_value(), "the server's records are authentic");
    sent.remove_prefix(size);
    require(inner->zeros == 0, "the server pads no record");
    if (inner->type == tls_alert) {
      require(inner->content.size() == 2, "an alert has two bytes");
      alert_sent_ = static_cast<unsigned char>(inner->content[1]);
      require(inner->content[0] == (alert_sent_ == close_notify ? 1 : 2), "an alert has its level");
    } else if (inner->type == tls_handshake && inner->content.starts_with('\x18')) {
      require(inner->content.size() == 5, "a KeyUpdate has its own record");
      server_.update();
      ++key_updates_;
    } else if (inner->type == tls_handshake) {
      require(inner->content.starts_with('\x04'), "OpenSSL has sent tickets only");
    } else {
      require(inner->type == tls_application_data && !inner->content.empty(),
              "a record has content");
    }
  }
}

void TlsServers::open(std::string_view piece, std::size_t room_bytes) {
  const ExactCopy copy(piece);
  std::string_view input = copy.view();
  net::TlsRecords& records = connection_.records();
  const auto room = std::make_unique<char[]>(room_bytes);
  while (!input.empty() && records.ending() == Ending::none) {
    const std::size_t left = input.size();
    const std::size_t size = records.open(input, {room.get(), room_bytes}, out_);
    require(size <= room_bytes, "content fits in its room");
    require(input.size() < left || records.ending() != Ending::none, "a call makes progress");
    content_.append(room.get(), size);
  }
}

void TlsServers::arrived(std::string_view bytes, Cuts cuts, std::size_t room_bytes) {
  expected_.arrived(bytes);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, cuts.next(bytes.size()));
    bytes.remove_prefix(piece.size());
    open(piece, room_bytes);
    if (has_twin_) connection_.twin().arrived(piece);
  }
  answer();
}

void TlsServers::write(const std::string& content, std::size_t record_bytes) {
  base::BufferChain chain;
  const std::size_t third = content.size() / 3;
  chain.append(std::string_view(content).substr(0, third));
  chain.append_shared(std::string_view(content).substr(third), nullptr);
  net::TlsRecords& records = connection_.records();
  while (!chain.empty()) {
    const std::size_t left = chain.size();
    const bool done = records.seal(chain, record_bytes, out_);
    require(done == (expected_.end() != End::broken), "the server writes until it is broken");
    const std::size_t size = left - chain.size();
    require(done ? size > 0 && size <= record_bytes : size == 0, "a record takes its content");
    const std::string_view record = std::string_view(content).substr(content.size() - left, size);
    if (has_twin_) {
      const bool twin_done = connection_.twin().write(done ? record : "x");
      require(twin_done == done, "OpenSSL writes until it is broken");
    }
    if (!done) break;
    written_ += record;
  }
  answer();
}

void TlsServers::close() {
  connection_.records().close(out_);
  if (has_twin_ && expected_.end() != End::broken) SSL_shutdown(connection_.twin().ssl());
  const bool broken = expected_.end() == End::broken;
  answer();
  require(broken || alert_sent_ == close_notify, "a server that is not broken says that it closes");
}

void TlsServers::answer() {
  sent_ = taken_from(out_);
  decode(sent_);
  compare_with_expected();
  compare_with_twin();
  compare_with_client();
}

void TlsServers::compare_with_expected() {
  require_same(content_, expected_.content(), "the server reads what the client wrote");
  require(end_of(connection_.records().ending()) == expected_.end(),
          "the server's input ends as RFC 8446 says");
  if (expected_.end() == End::broken) {
    require(alert_sent_ == expected_.alert(), "the server sends the alert of RFC 8446");
  } else {
    require(alert_sent_ <= close_notify, "the server sends an alert only if it is broken");
    if (has_twin_) require(key_updates_ == expected_.answers(), "each request has its answer");
  }
}

// OpenSSL 3.0, where RFC 8446 leaves a choice or is not followed:
// - it looks at legacy_record_version, which "MUST be ignored";
// - it has other alerts for lengths of records and handshake messages that make no sense;
// - it waits for the whole header of a handshake message before it refuses its type;
// - of two violations in a record, it may report the other one;
// - it counts empty records, but not KeyUpdates, and takes fewer user_canceled.
bool TlsServers::twin_may_differ() const {
  switch (expected_.reason()) {
    case Reason::no_room_for_type:
    case Reason::version:
    case Reason::inner_too_long:
    case Reason::idle:
    case Reason::handshake_type:
    case Reason::handshake_length:
    case Reason::two_violations:
      return true;
    case Reason::none:
    case Reason::header:
    case Reason::not_authentic:
    case Reason::alert_received:
    case Reason::other:
      return expected_.waits_for_other_version() || expected_.cancellations() > 3;
  }
  return false;
}

void TlsServers::compare_with_twin() {
  if (!has_twin_) return;
  TlsEnd& twin = connection_.twin();
  const std::string twins = twin.sent();
  if (twin_may_differ()) {
    has_twin_ = false;
    return;
  }
  require_same(content_, twin.content(), "OpenSSL reads the same content");
  const End ends = twin.state() == TlsEnd::State::open     ? End::none
                   : twin.state() == TlsEnd::State::closed ? End::closed
                                                           : End::broken;
  require(ends == end_of(connection_.records().ending()), "OpenSSL's input ends in the same way");
  require_same(sent_, twins, "OpenSSL sends the same bytes");
}

void TlsServers::compare_with_client() {
  TlsEnd& client = connection_.client();
  client.arrived(sent_);
  sent_.clear();
  require_same(client.content(), written_, "the client reads what the server wrote");
  if (alert_sent_ < 0) {
    require(client.state() == TlsEnd::State::open, "the client's input has no end");
  } else if (alert_sent_ == close_notify) {
    require(client.state() == TlsEnd::State::closed, "the client sees that the server closed");
  } else {
    require(client.state() == TlsEnd::State::broken && client.alert_received() == alert_sent_,
            "the client gets the alert");
  }
}

}  // namespace h2server::fuzz
