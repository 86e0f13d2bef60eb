// The objects of resumable uploads in a store, below the prefix ".h2server/uploads/ID/":
//
//   state        what the upload is, written when that changes, not with each request
//   lock         who sends it now: a StoreLease
//   tail-NNNNN   the bytes behind part NNNNN - 1. They count only while there is no part NNNNN, so
//                no two writes need an order
//
// The parts are those of the file to be. The offset is the sum of the parts up to the first that is
// missing, and the tail that follows them. Parts behind a missing one count again once that is
// there: the client has sent their bytes, and sends the same again.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "content/storage/pending_description.h"
#include "h2server/store.h"
#include "net/crypto/tls_sha256_state.h"

namespace h2server::content {

inline constexpr std::string_view store_uploads_prefix = ".h2server/uploads/";

// Names below the prefix.
inline constexpr std::string_view state_name = "state";
inline constexpr std::string_view lock_name = "lock";
inline constexpr std::string_view tail_prefix = "tail-";

std::string store_upload_prefix(std::string_view id);  // ends in "/"
std::string state_key(std::string_view id);
std::string lock_key(std::string_view id);
std::string tail_name(unsigned number);
std::string tail_key(std::string_view id, unsigned number);

struct UploadState {
  PendingDescription description;
  PartsId parts = {};            // the id is empty until the first part
  std::int64_t finishing_s = 0;  // once the parts were to be made the file
  bool stored = false;

  bool operator==(const UploadState&) const;
};
std::string to_text(const UploadState& state);
// Reads what to_text() writes. Returns nullopt for anything else.
std::optional<UploadState> parse_upload_state(std::string_view text);

// A tail: the digest's state before its bytes, if that is known, and the bytes.
inline constexpr std::size_t tail_head_bytes = net::Sha256State::digits_size + 1;
std::string make_tail(const std::optional<net::Sha256State>& digest, std::string_view bytes);
struct Tail {
  std::optional<net::Sha256State> digest;
  std::string bytes;
};
// `before`: the bytes of the parts before it.
std::optional<Tail> parse_tail(std::string_view object, std::uint64_t before);

}  // namespace h2server::content
