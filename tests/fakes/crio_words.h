// The words of CRI-O 1.36.3 (runtime rule C30), as containers/image and CRI-O put them together. The contract
// suite holds them to a real one.
#pragma once

#include <optional>
#include <string>

#include "fakes/persona.h"
#include "image/pull_error.h"

namespace prefetch::tests {

// A pull of `name`, which is asked for as `asked`, has failed so; nullopt: CRI-O has no words of its own.
std::optional<RuntimeWords> CrioWords(image::ErrorClass error_class, const std::string& name,
                                      const std::string& asked);
// The registry has answered the request for the manifest so: "503 Service Unavailable", and a body.
RuntimeWords CrioWordsOfAnswer(const std::string& status, const std::string& body, const std::string& name,
                               const std::string& asked);
// The connection of a blob was reset: again, with too little progress since the last time; or nobody listens
// any more.
RuntimeWords CrioWordsOfReset(bool nobody_listens);
// Why CRI-O takes `name` neither for an id nor for a name; nullopt: it does.
std::optional<RuntimeWords> CrioWordsOfName(const std::string& name);

}  // namespace prefetch::tests
