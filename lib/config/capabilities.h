// Capabilities: which machinery this build and this configuration have, as far as a list can ask for it.
#pragma once

namespace prefetch::config {

// A list that asks by name for what is not there is refused, never served less than it asks for.
struct Capabilities {
  bool refresh = true;  // asks registries whether a tag moved, and pulls again; with registry_checks
  bool touch = false;   // lets kubelet record images (--touch)
  bool registry_checks =
      true;  // knows whether the registry still agrees: maxAge, directives, readyFor: Always
};

}  // namespace prefetch::config
