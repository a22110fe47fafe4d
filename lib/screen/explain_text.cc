#include "screen/explain_text.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "screen/document_words.h"
#include "screen/explain_sections.h"
#include "screen/labelled_page.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

constexpr std::size_t kShortDigest = 8 + 7;

std::string ShortId(const std::string& id) {
  return id.size() <= kShortDigest + 3 ? id : id.substr(0, kShortDigest) + "…";
}

std::string PulledWords(const status::StatusImage& image, const std::optional<base::WallTime>& now) {
  if (image.pulled_with.empty() || image.pulled_with == "Unknown") {
    return "this agent has not pulled it since it started";
  }
  std::string words = "pulled by this agent";
  if (image.pull.finished_at && now) {
    words +=
        " " +
        base::HumanTime(std::chrono::duration_cast<std::chrono::seconds>(*now - *image.pull.finished_at)) +
        " ago";
  }
  if (image.pulled_with == "Anonymous") return words + " without a credential";
  if (image.pulled_with == "Provider") return words + " with credential provider " + image.credential;
  if (image.pulled_with == "DockerConfig") return words + " with a login from " + image.credential;
  if (image.pulled_with == "PullSecret") return words + " with the mounted pull secret " + image.credential;
  return words + " with " + image.credential;
}

void AddListed(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusImage& image = document.image;
  if (!document.listed) {
    page.Section("listed", "no: the agent does not keep it on this node");
    return;
  }
  std::string words = "yes";
  if (!image.from.empty()) words += ", in " + base::Join(image.from, ", ");
  if (!image.required) words += "; optional: readiness does not count it";
  page.Section("listed", words);
}

// Adds the pods for which the list has the image, since kubelet distinguishes pods by spelling and
// credentials.
void AddSpellings(const status::ImageDocument& document, LabelledPage& page) {
  if (document.image.spellings.empty()) return;
  const bool differ = DifferInReadyAs(document.image);
  page.Section(differ ? "listed for" : "spelled");
  for (const status::StatusSpelling& spelling : document.image.spellings) {
    const bool known = !spelling.verdicts.never.result.empty();
    std::string words = spelling.image + (differ ? " " + image::WithWords(spelling.ready_as) : "");
    page.AddMarked("-", words + (known ? ": Never " + spelling.verdicts.never.result + ", IfNotPresent " +
                                             spelling.verdicts.if_not_present.result
                                       : ""));
  }
  page.Add(std::string("kubelet judges pods by the name that they write") +
           (differ ? ", and by their credentials" : "") + "; the worst answer counts.");
}

void AddPresent(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusImage& image = document.image;
  if (!image.present) {
    std::string progress = PullWords(image.pull, document.time);
    // The last pull has a section of its own.
    bool said_below = image.message == image.pull.last_error;
    std::string why = !progress.empty() ? "being pulled, " + progress : said_below ? "" : image.message;
    // "no" would be a guess while the runtime is away.
    std::string answer = image.reason == "FactsUnknown" ? "not known" : "no";
    page.Section("present", answer + (why.empty() ? "" : ": " + why));
    return;
  }
  page.Section("present", "yes, " + ShortId(image.image_id) + ", " + base::HumanBytes(image.size_bytes));
  page.Add(PulledWords(image, document.time));
  if (!image.pin_problem.empty()) page.Add("not pinned: " + image.pin_problem);
  if (image.pinned) page.Add("the runtime has pinned it: kubelet's image garbage collection leaves it alone");
  if (image.exposed)
    page.Add("every pod of the node can use it, though it came with a credential that is not the node's own");
}

void AddRuntime(const status::ImageDocument& document, LabelledPage& page) {
  // The image's own message may quote it.
  bool said = base::ContainsIgnoreCase(document.image.message, document.runtime.error);
  if (document.runtime.error.empty() || said) return;
  page.Section("runtime", "away: " + document.runtime.error);
  if (document.image.present) page.Add("The lines about the image are from before the outage.");
}

void AddAliases(const status::ImageDocument& document, LabelledPage& page) {
  std::vector<std::string> names = status::OtherNames(document.image.image, document.image.aliases);
  if (names.empty()) return;
  page.Section("also known as");
  const auto& listed = document.listed_aliases;
  for (const std::string& name : names) {
    bool is_listed = std::find(listed.begin(), listed.end(), name) != listed.end();
    page.Add(name + (is_listed ? " (listed)" : " (not listed)"));
  }
  page.Add("The same content: kubelet judges both names by one record.");
}

std::string TouchWords(const status::StatusTouch& touch) {
  if (touch.state == "Due") return "due: waits for its turn";
  if (touch.state == "Running") return "under way: kubelet is asked to record it for every pod of the node";
  if (touch.state == "Waiting") return "had no effect, and is repeated: " + touch.why;
  if (touch.state == "Ineffective") return "does not help (" + touch.obstacle + "): " + touch.why;
  return "done: every pod of the node may use it, and pods with their own secrets are not asked for them";
}

void AddTouch(const status::StatusImage& image, LabelledPage& page) {
  if (image.touch.state.empty() || image.touch.state == "None") return;
  page.Section("touch", TouchWords(image.touch));
}

// Returns true if the entry's message stands elsewhere on the page: the verdict's sentence above, or the
// reason of an absent image.
bool SaidElsewhere(const status::ImageDocument& document) {
  const std::string& message = document.image.message;
  if (message.empty() || !document.image.present) return true;
  if (!document.reasoning) return false;
  // A message may go on behind the verdict with the touch, which has a label of its own.
  return message.starts_with(document.reasoning->never.message) ||
         message.starts_with(document.reasoning->if_not_present.message);
}

void AddReady(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusImage& image = document.image;
  if (!document.listed || !image.applies) return;
  std::string words = image.ready ? "yes" : "no";
  if (!image.ready_for.empty()) words += ", for pods of imagePullPolicy " + image.ready_for;
  if (!image.ready_as.empty()) words += " " + image::WithWords(image.ready_as) + " (readyAs)";
  if (!image.ready && !image.reason.empty()) words += ": " + image.reason;
  if (!image.ready && !SaidElsewhere(document)) words += ", " + image.message;
  page.Section("ready", words);
}

void AddLastPull(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusPull& pull = document.image.pull;
  if (pull.last_error.empty()) return;
  page.Section("last pull", pull.last_error);
  page.Add(RetryWords(pull, document.time));
}

}  // namespace

std::string ExplainText(const status::ImageDocument& document, std::size_t width) {
  LabelledPage page(width);
  page.Title(document.image.image + " on node " + document.node);
  // kubelet's own order: presence, settings and record, verdicts; then what the agent does about it, and
  // advice.
  AddListed(document, page);
  AddSpellings(document, page);
  AddPresent(document, page);
  AddRuntime(document, page);
  AddAliases(document, page);
  AddKubelet(document, page);
  AddVerdicts(document, page);
  AddTouch(document.image, page);
  AddReady(document, page);
  AddRegistry(document, page);
  AddCredentials(document, page);
  AddLastPull(document, page);
  if (!document.what_helps.empty()) page.Section("what helps");
  for (const std::string& advice : document.what_helps) page.AddMarked("-", advice);
  return page.Take();
}

}  // namespace prefetch::screen
