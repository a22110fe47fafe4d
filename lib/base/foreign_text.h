// The text of other programs, which may quote secrets and steer terminals. All pure but for the store of
// Redact.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace prefetch::base {

// Makes the text of another program fit for a log, a status or an error: without secrets (Redact), JSON Web
// Tokens, and the user information and query of URLs; UTF-8 in one line; at most `bytes` bytes and "…".
std::string ForeignText(std::string_view text, std::size_t bytes,
                        const std::vector<const Secret*>& also = {});

// ForeignText for programs whose secrets are not all known: what follows words such as "password" or "Basic",
// and long runs that look like tokens or keys, are redacted as well.
std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also = {});

// Does the name of a variable or field say that its value is a secret?
bool TellsOfASecret(std::string_view name);
// May the value of a variable that was declared for a plugin be a secret? Paths and short values only if the
// name tells.
bool MayBeSecret(std::string_view name, std::string_view value);
// Remembers the value (RememberSecret) if the name tells.
void RememberVariable(std::string_view name, std::string_view value);

}  // namespace prefetch::base
