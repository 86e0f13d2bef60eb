// What the options mean together: defaults that depend on others, and combinations that are
// refused.
#pragma once

#include <functional>
#include <string>

#include "app/options.h"
#include "h2server/result.h"

namespace h2server::app {

inline constexpr const char* all_option = "--yes";
inline constexpr const char* threads_option = "--threads";
inline constexpr const char* scheme_option = "--scheme";
inline constexpr const char* engine_option = "--io";
inline constexpr const char* queue_option = "--queue-size";
inline constexpr const char* when_full_option = "--when-full";
inline constexpr const char* certificate_option = "--cert";
inline constexpr const char* key_option = "--key";
inline constexpr const char* self_signed_option = "--self-signed";
inline constexpr const char* auth_option = "--auth";
inline constexpr const char* local_authority_option = "--local-ca";
inline constexpr const char* hsts_option = "--hsts";
inline constexpr const char* sendfile_option = "--sendfile";
inline constexpr const char* overwrite_option = "--upload-overwrite";
inline constexpr const char* file_size_option = "--upload-max";
inline constexpr const char* total_size_option = "--upload-total";
inline constexpr const char* reserve_option = "--upload-reserve";

// Returns true if the command line or the configuration file has that option.
using IsGiven = std::function<bool(const char* option)>;

// An error of use, with exit status 2.
Stop wrong(std::string text);

// Fills in the defaults that depend on other options.
void settle(Options& options, const IsGiven& given);
// Checks what is given, and that the root and the credentials do not endanger each other.
Result<void, Stop> check(const Options& options, const IsGiven& given, Places places);

}  // namespace h2server::app
