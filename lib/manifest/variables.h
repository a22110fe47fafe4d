// Variables: what templates of OpenShift, Tekton and Argo write for a value, and the value that it has if
// nobody gives another.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace prefetch::manifest {

// A value. The forms are "$(params.image)", "$(params['image'])", "{{inputs.parameters.image}}", "${IMAGE}"
// and
// "${{IMAGE}}".
class Variables {
 public:
  // A later value of the same name replaces the earlier one.
  void Set(const std::string& name, std::string value) { values_[name] = std::move(value); }

  struct Resolved {
    std::string text;   // with the values of all variables that have one
    bool open = false;  // a variable without a value is left in it
  };
  Resolved Resolve(std::string_view text) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace prefetch::manifest
