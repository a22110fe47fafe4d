// Variables of the templates of OpenShift, Tekton and Argo, with the values that apply if nobody gives
// others.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace prefetch::manifest {

// Replaces variables in a text. The forms are "$(params.image)", "$(params['image'])",
// "{{inputs.parameters.image}}", "${IMAGE}" and "${{IMAGE}}".
class Variables {
 public:
  // A later value of the same name replaces the earlier one.
  void Set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  void SetAll(const Variables& others) {
    for (const auto& [name, value] : others.values_) values_[name] = value;
  }
  void Unset(const std::string& name) { values_.erase(name); }

  struct Resolved {
    std::string text;         // with the values of all variables that have one
    bool unresolved = false;  // a variable without a value is left in it
  };
  Resolved Resolve(std::string_view text) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace prefetch::manifest
