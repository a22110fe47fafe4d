#include "pulling/change_pins.h"

#include <utility>

#include "image/pull_error.h"

namespace prefetch::pulling {
namespace {

// Returns true for errors of the runtime as a whole: the next name would fail in the same way.
bool IsOfRuntime(image::ErrorClass error_class) {
  return error_class == image::ErrorClass::kRuntimeDown || error_class == image::ErrorClass::kTimeout ||
         error_class == image::ErrorClass::kCancelled ||
         error_class == image::ErrorClass::kRuntimeUnsupported;
}

}  // namespace

// Runs on a worker. The list of pins is read in a job of its own, because each decision needs the pins that
// containerd really has.
PinsChanged ChangePins(const base::Call& call, cri::ContentService& content, const std::string& owner,
                       const PinChanges& work) {
  PinsChanged done;
  // Returns whether the runtime itself has failed: the calls that are left then wait with it.
  auto failed = [&](const std::string& name, const cri::CallError& error) {
    const bool all = IsOfRuntime(error.error_class);
    (all ? done.runtime_error : done.errors[name]) = error.message;
    return all;
  };
  if (work.list) {
    if (auto names = content.ListPins(call, owner)) {
      done.found = *std::move(names);
    } else {
      done.unsupported = names.error().error_class == image::ErrorClass::kRuntimeUnsupported;
      done.runtime_error = names.error().message;
      return done;
    }
  }
  for (const std::string& name : work.pin) {
    auto pinned = content.Pin(call, name, owner);
    if (!pinned) {
      if (failed(name, pinned.error())) return done;
    } else if (*pinned == cri::PinResult::kPinned) {
      done.pinned.push_back(name);
    } else {
      done.errors[name] = *pinned == cri::PinResult::kAbsent
                              ? "containerd has no image of this name"
                              : "another client of containerd has pinned this name";
    }
  }
  for (const std::string& name : work.unpin) {
    auto unpinned = content.Unpin(call, name, owner);
    if (unpinned) {
      (*unpinned ? done.unpinned : done.had_none).push_back(name);
    } else if (failed(name, unpinned.error())) {
      return done;
    }
  }
  return done;
}

PinsChanged UnpinAll(const base::Call& call, cri::ContentService& content) {
  const std::string of_all;
  PinsChanged listed = ChangePins(call, content, of_all, {.list = true});
  if (!listed.found) return listed;
  return ChangePins(call, content, of_all, {.unpin = {listed.found->begin(), listed.found->end()}});
}

}  // namespace prefetch::pulling
