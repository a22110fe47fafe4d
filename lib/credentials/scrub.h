// ScrubPluginErrors: makes another program's error text fit for a log (A11).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::credentials {

// One line of at most 1024 bytes: the given secrets (also in base64), what follows words such as "password",
// long runs that look like tokens, query strings and user information of URLs, and control characters are
// gone. Pure.
std::string ScrubPluginErrors(std::string_view text, const std::vector<std::string>& secrets);

// Every string value in `text`, a plugin's stdout, that may be a password: what ScrubPluginErrors shall look
// for. Empty if the text is no JSON.
std::vector<std::string> SecretsIn(std::string_view text);

}  // namespace prefetch::credentials
