// The path of a unix socket, as people write it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::base {

// sun_path of sockaddr_un without its zero. gRPC fails on longer ones without telling why.
constexpr std::size_t kLongestSocketPath = 107;

// The path in "unix:///abs/path", "unix:/abs/path" or "/abs/path". InvalidArgument for other schemes,
// relative paths, folders, and paths that are too long: "must be …", for a sentence whose subject the caller
// knows.
Result<std::string> ParseUnixSocket(std::string_view text);

}  // namespace prefetch::base
