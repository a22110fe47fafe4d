#include "fakes/sent_requests.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "doc/write.h"

namespace prefetch::tests {
namespace {

constexpr int kMostOfAKind = 200;

std::string FolderFromEnvironment() {
  const char* folder = std::getenv("PREFETCH_TEST_SENT");
  return folder == nullptr ? "" : folder;
}

// The file for the next request of this kind; empty: there were enough. Servers of one process share the
// count.
std::string NextFile(const std::string& folder, const std::string& kind) {
  static base::Mutex mutex;
  static std::map<std::string, int> of_kind;
  static int all = 0;
  base::Lock lock(mutex);
  if (of_kind[kind]++ >= kMostOfAKind) return "";
  return folder + "/" + std::to_string(getpid()) + "-" + std::to_string(all++) + ".json";
}

}  // namespace

SentRequests::SentRequests() : folder_(FolderFromEnvironment()) {}

void SentRequests::Note(const SentRequest& request) {
  if (folder_.empty()) return;
  std::string file = NextFile(
      folder_, request.verb + " " + request.resource + "/" + request.subresource + request.content_type);
  if (file.empty()) return;
  doc::Node note = doc::Node::Mapping();
  const std::pair<const char*, const std::string&> texts[] = {{"user", request.user},
                                                              {"verb", request.verb},
                                                              {"resource", request.resource},
                                                              {"subresource", request.subresource},
                                                              {"namespace", request.name_space},
                                                              {"contentType", request.content_type},
                                                              {"body", request.body},
                                                              {"answer", request.answer}};
  for (const auto& [key, text] : texts) note.Set(key, doc::Node::String(text));
  if (request.before) note.Set("before", *request.before);
  std::ofstream(file) << doc::WriteJson(note);
}

}  // namespace prefetch::tests
