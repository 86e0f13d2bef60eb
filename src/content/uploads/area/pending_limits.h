// PendingLimits: bounds of the resumable uploads of a place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::content {

struct PendingLimits {
  // Without progress for this long, an upload is removed, and the memory of a stored one.
  std::int64_t expire_s = 24 * 60 * 60;
  // A request that has stored nothing for this long may have lost its client, so that another
  // request for the upload ends it.
  std::int64_t stalled_s = 10;
  // Between sweeps by keep_up(). A sweep looks at every file of the directory. Where nobody does
  // that, requests sweep after twice as long.
  std::int64_t sweep_ms_min = 60 * 1000;
  // Uploads that are not stored. Each takes two files.
  std::size_t uploads_max = 10'000;
  std::size_t client_uploads_max = 2'500;  // begun by one client, in this process
  // Stored uploads that are remembered, so that a client that missed the response can ask.
  std::size_t stored_max = 10'000;
  // Upload-Metadata: it is kept and sent back. A file name of 255 characters takes 1.4 KB.
  std::size_t metadata_bytes_max = 4096;
  std::size_t parts_max = 1000;  // of a concatenation
  // Digests kept in memory, of half a kilobyte each.
  std::size_t digests_max = 1000;
};

}  // namespace h2server::content
