// RememberedDigests: digests that were seen lately, in memory of a fixed size.
//
// They lie in groups of eight, which a digest selects. A new one takes the place of the one of its
// group that would be forgotten first. Digests are outputs of a keyed function, so nobody can
// choose where they lie. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "net/crypto/tls_keyed_digest.h"

namespace h2server::server {

class RememberedDigests {
 public:
  using Digest = net::KeyedDigest::Value;

  // With a lifetime of 0, none is ever known.
  RememberedDigests(std::size_t digests_max, std::int64_t lifetime_ns);

  // `now_ns` is of a clock that never goes back.
  [[nodiscard]] bool knows(const Digest& digest, std::int64_t now_ns) noexcept;
  // The same; if it is known, its lifetime begins anew.
  [[nodiscard]] bool renew(const Digest& digest, std::int64_t now_ns) noexcept;
  void remember(const Digest& digest, std::int64_t now_ns) noexcept;

 private:
  struct Entry {
    Digest digest{};
    std::int64_t ends_at_ns = 0;
  };
  static constexpr std::size_t group_size = 8;
  using Group = std::array<Entry, group_size>;

  // Returns the entry with that digest if it has not ended, or null. The group's mutex is locked.
  static Entry* find(Group& group, const Digest& digest, std::int64_t now_ns) noexcept;
  [[nodiscard]] std::size_t index_of(const Digest& digest) const noexcept;
  [[nodiscard]] std::mutex& mutex_of(std::size_t index) noexcept {
    return mutexes_[index % mutexes_.size()];
  }

  struct Free {
    void operator()(Group* groups) const noexcept { std::free(groups); }
  };

  const std::int64_t lifetime_ns_;
  const std::size_t group_count_;
  // By calloc(): zeros that take no memory before they are used. A thousand sites may have users.
  const std::unique_ptr<Group[], Free> groups_;
  std::array<std::mutex, 16> mutexes_;  // of groups, by their index: workers seldom meet
};

}  // namespace h2server::server
