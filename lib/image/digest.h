// Digest: the text form of a content hash, "sha256:" and lower-case hex (registry rule R3).
#pragma once

#include <string_view>

namespace prefetch::image {

// sha256, sha384 or sha512 with exactly its number of lower-case hex digits: what registries and runtimes
// accept. Pure; any thread.
bool IsDigest(std::string_view text);

// Why `text` is no digest, as the end of a sentence ("has the wrong length"); empty if it is one.
std::string_view DigestError(std::string_view text);

}  // namespace prefetch::image
