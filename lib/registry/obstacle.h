// Obstacles to following the runtime's configuration, as sentences for the status.
#pragma once

#include <string>

namespace prefetch::registry {

inline constexpr const char* kChecksByPullNote = ". Until then the agent checks by pulling";

// `remedy` in the imperative.
inline std::string NotVisible(const std::string& path, const std::string& remedy) {
  return path + " is not visible to the agent: " + remedy + kChecksByPullNote;
}

inline std::string Unusable(const std::string& path, const std::string& why) {
  return path + " cannot be used: " + why + ". Until you correct it, the agent checks by pulling";
}

inline std::string Unreadable(const std::string& path, const std::string& why) {
  return path + " cannot be read: " + why + kChecksByPullNote;
}

}  // namespace prefetch::registry
