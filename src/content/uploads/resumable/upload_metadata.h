// What clients say about an upload in fields: Upload-Metadata of tus 1.0.0, and the file name in
// Content-Disposition.
//
// Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::content {

struct UploadMetadata {
  std::string key;
  std::string value;  // decoded; may hold any byte
};

// Reads a list of keys, each followed by a space and its value in Base64, or alone (tus 1.0.0,
// Upload-Metadata). Returns nullopt if a key is empty, not ASCII or repeated, or a value is not
// Base64.
std::optional<std::vector<UploadMetadata>> parse_upload_metadata(std::string_view field);

// Returns what clients call the file: "filename", or "name". Empty if neither is there.
std::string file_name_of(const std::vector<UploadMetadata>& metadata);

// Returns the file name of a Content-Disposition, filename* before filename (RFC 6266, 4.3). Empty
// if there is none or the field is malformed.
std::string file_name_of_disposition(std::string_view field);

}  // namespace h2server::content
