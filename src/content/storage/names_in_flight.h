// The names that uploads in flight will give to their files, so that of two uploads of one name at
// the same time the second is refused before its body is sent. Copies, moves and removals by WebDAV
// hold the names that they change, and resumable uploads theirs while they are stored.
//
// Exact paths only: what happens to a folder above does not wait, and an upload is stored where its
// path leads at the end.
//
// Any thread. Processes that were forked after the creation exclude each other; what a killed
// process reserved is free again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"

namespace h2server::content {

class NamesInFlight;

// Holds one name until it is destroyed.
class NameReservation {
 public:
  NameReservation(NameReservation&&) noexcept = default;
  NameReservation& operator=(NameReservation&& other) noexcept;
  ~NameReservation();

 private:
  friend class NamesInFlight;
  struct Shared;
  NameReservation(std::shared_ptr<Shared> shared, std::string path) noexcept
      : shared_(std::move(shared)), path_(std::move(path)) {}

  std::shared_ptr<Shared> shared_;  // null: moved from
  std::string path_;
};

class NamesInFlight {
 public:
  NamesInFlight();

  // Reserves a path relative to the upload directory. Returns nullopt if it is reserved already.
  // The reservation may outlive this.
  std::optional<NameReservation> reserve(std::string path);

 private:
  std::shared_ptr<NameReservation::Shared> shared_;
};

}  // namespace h2server::content
