// The scopes of a token request (R15). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::registry {

// The challenge's scopes and "repository:<path>:pull", each once, sorted, as the runtimes do it; of actions
// only "pull" is asked for, whatever the challenge suggests, and a scope that has no other is left out. What
// does not look like "type:name:actions" ("aws") stays. At most 16.
std::vector<std::string> PullScopes(std::string_view challenge_scope, std::string_view path);

}  // namespace prefetch::registry
