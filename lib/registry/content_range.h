// The Content-Range header of a partial answer (RFC 9110, 14.4). Pure; the text is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prefetch::registry {

// "bytes=0-99" for the bytes from 0 up to 100.
std::string RangeHeader(std::uint64_t begin, std::uint64_t end);

// Returns whether the header states the requested range of a blob with `size` bytes; "*" stands for any size.
bool IsContentRange(std::string_view text, std::uint64_t begin, std::uint64_t end, std::uint64_t size);

}  // namespace prefetch::registry
