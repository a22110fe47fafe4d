#include "screen/node_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

// LabelledPage: labels at the left, paragraphs at the right, as `prefetchctl explain` prints.

constexpr std::size_t kPageIndent = 2;

class LabelledPage {
 public:
  explicit LabelledPage(std::size_t width) : width_(std::max(width, kLeastWidth)) {}

  // One more paragraph under the label of the last Section().
  void Add(std::string_view text) { AddBehind("", text); }
  // The same, with a mark that the further lines are aligned behind.
  void AddMarked(const std::string& mark, std::string_view text) { AddBehind(mark + " ", text); }
  void Section(const std::string& label, std::string_view text = "", std::size_t indent = kPageIndent) {
    label_ = std::string(indent, ' ') + label;
    Add(text);
  }
  // A line that leads to the next sections.
  void Lead(std::string_view text) { text_ += std::string(kPageIndent, ' ') + std::string(text) + "\n"; }
  void Title(std::string_view text) { text_ += base::ReplaceAll(text, "\n", " ") + "\n\n"; }

  std::string Take() { return std::move(text_); }

 private:
  void AddBehind(const std::string& mark, std::string_view text) {
    const std::string blanks(kTextColumn + DisplayWidth(mark), ' ');
    const std::string lines = WrapIndented(text, PadRight(label_, kTextColumn) + mark, blanks, width_);
    if (!lines.empty()) label_.clear();
    text_ += lines;
  }

  static constexpr std::size_t kTextColumn = 18;  // behind the longest label, "    IfNotPresent"
  std::size_t width_;
  std::string label_;
  std::string text_;
};

// Returns whether the sources of an image list it for different pods.
bool DifferInReadyAs(const status::StatusImage& image) {
  return std::ranges::any_of(image.spellings, [&](const status::StatusSpelling& one) {
    return one.ready_as != image.spellings.front().ready_as;
  });
}

constexpr std::size_t kShortId = 8 + 7;

std::string ShortId(const std::string& id) {
  return id.size() <= kShortId + 3 ? id : id.substr(0, kShortId) + "…";
}

std::string PulledText(const status::StatusImage& image, const std::optional<base::WallTime>& now) {
  if (image.pulled_with.empty() || image.pulled_with == plan::PulledWith::kUnknown) {
    return "this agent has not pulled it since it started";
  }
  std::string words = "pulled by this agent";
  const std::string ago = ElapsedText(image.origin.pulled_at, now);
  if (!ago.empty()) words += " " + ago + " ago";
  if (image.pulled_with == plan::PulledWith::kAnonymous) return words + " without a credential";
  if (image.pulled_with == plan::PulledWith::kProvider)
    return words + " with credential provider " + image.origin.credential;
  if (image.pulled_with == plan::PulledWith::kDockerConfig)
    return words + " with a login from " + image.origin.credential;
  if (image.pulled_with == plan::PulledWith::kPullSecret)
    return words + " with the mounted pull secret " + image.origin.credential;
  return words + " with " + image.origin.credential;
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
    std::string words = spelling.image + (differ ? " " + image::DescribeCredentials(spelling.ready_as) : "");
    page.AddMarked("-",
                   words + (known ? ": Never " + spelling.verdicts.never.result.text() + ", IfNotPresent " +
                                        spelling.verdicts.if_not_present.result.text()
                                  : ""));
  }
  page.Add(std::string("kubelet judges pods by the name that they write") +
           (differ ? ", and by their credentials" : "") + "; the worst answer counts.");
}

void AddPresent(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusImage& image = document.image;
  if (!image.present) {
    std::string progress = PullProgressText(image.pull, document.time);
    // The last pull has a section of its own.
    bool shown_below = image.message == image.pull.last_error;
    std::string why = !progress.empty() ? "being pulled, " + progress : shown_below ? "" : image.message;
    // "no" would be a guess while the runtime is away.
    std::string answer = image.reason == plan::Reason::kFactsUnknown ? "not known" : "no";
    page.Section("present", answer + (why.empty() ? "" : ": " + why));
    return;
  }
  page.Section("present", "yes, " + ShortId(image.image_id) + ", " + base::HumanBytes(image.size_bytes));
  page.Add(PulledText(image, document.time));
  if (!image.pin_problem.empty()) page.Add("not pinned: " + image.pin_problem);
  if (image.pinned) page.Add("the runtime has pinned it: kubelet's image garbage collection leaves it alone");
  if (image.origin.exposed)
    page.Add("every pod of the node can use it, though it came with a credential that is not the node's own");
}

void AddRuntime(const status::ImageDocument& document, LabelledPage& page) {
  // The image's own message may quote it.
  bool quoted = base::ContainsIgnoreCase(document.image.message, document.runtime.error);
  if (document.runtime.error.empty() || quoted) return;
  page.Section("runtime", "away: " + document.runtime.error);
  if (document.image.present) page.Add("The lines about the image are from before the outage.");
}

void AddAliases(const status::ImageDocument& document, LabelledPage& page) {
  std::vector<std::string> names = status::OtherNames(document.image.image, document.image.aliases);
  if (names.empty()) return;
  page.Section("also known as");
  const auto& listed = document.listed_aliases;
  for (const std::string& name : names) {
    bool is_listed = std::ranges::find(listed, name) != listed.end();
    page.Add(name + (is_listed ? " (listed)" : " (not listed)"));
  }
  page.Add("The same content: kubelet judges both names by one record.");
}

std::string TouchText(const status::StatusTouch& touch) {
  if (touch.state == plan::TouchState::kDue) return "due: waits for its turn";
  if (touch.state == plan::TouchState::kRunning)
    return "under way: kubelet is asked to record it for every pod of the node";
  if (touch.state == plan::TouchState::kWaiting) return "had no effect, and is repeated: " + touch.why;
  if (touch.state == plan::TouchState::kIneffective)
    return "does not help (" + touch.obstacle.text() + "): " + touch.why;
  return "done: every pod of the node may use it, and pods with their own secrets are not asked for them";
}

void AddTouch(const status::StatusImage& image, LabelledPage& page) {
  if (image.touch.state.empty() || image.touch.state == plan::TouchState::kNone) return;
  page.Section("touch", TouchText(image.touch));
}

// Returns true if the entry's message stands elsewhere on the page: the verdict's sentence above, or the
// reason of an absent image.
bool IsShownElsewhere(const status::ImageDocument& document) {
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
  if (!image.ready_for.empty()) words += ", for pods of imagePullPolicy " + image.ready_for.text();
  if (!image.ready_as.empty()) words += " " + image::DescribeCredentials(image.ready_as) + " (readyAs)";
  if (!image.ready && !image.reason.empty()) words += ": " + image.reason.text();
  if (!image.ready && !IsShownElsewhere(document)) words += ", " + image.message;
  page.Section("ready", words);
}

void AddLastPull(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusPull& pull = document.image.pull;
  if (pull.last_error.empty()) return;
  page.Section("last pull", pull.last_error);
  page.Add(RetryText(pull, document.time));
}

constexpr std::size_t kResultColumns = 7;  // the width of "REFUSED"

std::string UsersText(const status::RecordedUse& use) {
  if (use.node) return "every pod of the node";
  std::vector<std::string> who;
  if (use.secrets > 0) who.push_back(base::Plural(use.secrets, "secret", "secrets"));
  if (use.service_accounts > 0)
    who.push_back(base::Plural(use.service_accounts, "service account", "service accounts"));
  const char* pods = use.secrets + use.service_accounts > 1 ? "pods with any of " : "pods with ";
  std::string words = who.empty() ? "nobody" : pods + base::Join(who, " and ");
  return use.identities.empty() ? words : words + " (" + base::Join(use.identities, ", ") + ")";
}

void AddUses(const status::ImageDocument& document, LabelledPage& page) {
  bool found = false;
  page.Section("record", "yes, kubelet has pulled this content. It may be used");
  for (const status::RecordedUse& use : document.record.uses) {
    found = found || use.repository == document.record_key;
    page.AddMarked("-", "as " + use.repository + " by " + UsersText(use));
  }
  if (document.record.uses.empty()) page.AddMarked("-", "for nobody: it names no repository");
  // kubelet refuses a pod whose repository has no entry in the record (K23), which is hard to see in the list
  // above.
  if (found || document.record_key.empty()) return;
  page.Add("There is no entry for " + document.record_key + ", the name that kubelet looks for.");
}

void AddRecord(const status::ImageDocument& document, LabelledPage& page) {
  using kubelet::Reading;
  const status::ReadingText& state = document.record.state;
  if (state == Reading::kFound) AddUses(document, page);
  if (state == Reading::kAbsent) page.Section("record", "none: kubelet itself has not pulled this content");
  if (state == Reading::kUndecodable) page.Section("record", "there is one that kubelet cannot decode");
  if (state == Reading::kUnreadable) page.Section("record", "not known: it could not be read");
  if (!document.kubelet.records_note.empty()) {
    // The note stands under the record's label, unless the record has no line of its own.
    page.Section(state == Reading::kNotAsked ? "record" : "", document.kubelet.records_note);
  }
  const status::ReadingText& intent = document.intent;
  if (intent == Reading::kFound) {
    page.Section("intent", "kubelet began to pull it under this name, and has not recorded an end");
  }
  if (intent == Reading::kUndecodable) page.Section("intent", "there is one that kubelet cannot decode");
  if (intent == Reading::kUnreadable) page.Section("intent", "not known: it could not be read");
}

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string Consequence(const std::string& policy, const status::VerdictResultText& result, bool present) {
  if (result == kubelet::VerdictResult::kStarts)
    return "with the image that is here; the registry is not asked";
  if (result == kubelet::VerdictResult::kRefused) {
    std::string words = "\"is not present with pull policy of Never\" (ErrImageNeverPull)";
    // kubelet's text does not tell the two cases apart (K5).
    return present ? words + ", the same words as for an absent image" : words;
  }
  if (result == kubelet::VerdictResult::kPulls && policy == "Always")
    return "asks the registry at every start";
  if (result == kubelet::VerdictResult::kPulls)
    return "asks the registry, with the pod's own credentials and the node's";
  return "undecided, for the reason below";
}

void AddPolicy(const std::string& policy, const status::StatusVerdict& verdict, bool present,
               LabelledPage& page) {
  const status::VerdictResultText result =
      verdict.result.empty() ? status::VerdictResultText(kubelet::VerdictResult::kUnknown) : verdict.result;
  page.Section(policy, "", 2 * kPageIndent);
  page.AddMarked(PadRight(Upper(result.text()), kResultColumns), Consequence(policy, result, present));
}

std::string ReasoningText(const status::Reasoning& reasoning) {
  std::size_t colon = reasoning.rule.find(": ");
  if (colon == std::string::npos) return reasoning.message;
  return "rule " + reasoning.rule.substr(0, colon) + " (" + reasoning.rule.substr(colon + 2) +
         "): " + reasoning.message;
}

// kubelet itself, its record of the image, and its intent to pull it.
void AddKubelet(const status::ImageDocument& document, LabelledPage& page) {
  if (document.kubelet.None()) {
    page.Section("kubelet", "none here (declared by --kubelet=none): pods may use every image on the node");
    return;
  }
  std::string words = KubeletDetail(document.kubelet);
  if (document.reasoning && document.reasoning->never.reason == kubelet::VerdictReason::kGateOff) {
    words += "; it does not verify who may use an image";
  }
  page.Section("kubelet", words);
  AddRecord(document, page);
}

// kubelet's verdict for each pull policy, and the cause.
void AddVerdicts(const status::ImageDocument& document, LabelledPage& page) {
  const status::StatusImage& image = document.image;
  // An image for other platforms has no verdict here.
  if (!image.applies) return;
  if (!image.ready_as.empty()) {
    page.Section("judged for", "pods " + image::DescribeCredentials(image.ready_as) + " (readyAs)");
  }
  page.Lead(DifferInReadyAs(image)   ? "so the worst-off pod, if it has imagePullPolicy"
            : image.ready_as.empty() ? "so a pod without pull secrets that has imagePullPolicy"
                                     : "so such a pod that has imagePullPolicy");
  AddPolicy("Never", image.verdicts.never, image.present, page);
  AddPolicy("IfNotPresent", image.verdicts.if_not_present, image.present, page);
  AddPolicy("Always", image.verdicts.always, image.present, page);
  if (document.reasoning) {
    const status::ImageReasoning& reasoning = *document.reasoning;
    page.Section("because", ReasoningText(reasoning.never));
    // Mostly the same step decides for both policies.
    if (reasoning.never.rule != reasoning.if_not_present.rule)
      page.Add(ReasoningText(reasoning.if_not_present));
  } else if (!document.kubelet.None()) {
    page.Section("because", "kubelet's verdict is not known yet");
  }
}

std::string SourceText(const image::CredentialWords& credential) {
  if (credential.source == "provider") return "credential provider " + credential.name;
  if (credential.source == "docker-config") return "login from " + credential.name;
  if (credential.source == "pull-secret") return "mounted pull secret " + credential.name;
  return credential.source + " " + credential.name;
}

// Returns where the runtime looks for mirrors, and how the agent knows it.
std::string ConfigPathText(const status::RegistryHostsView& view) {
  if (view.config_path_source == "registries.conf")
    return "CRI-O's configuration of them is " + view.config_path;
  std::string path = view.config_path.empty() ? "containerd has no config_path, and so no mirrors"
                                              : "containerd's config_path is " + view.config_path;
  if (view.config_path_source == "declared") return path + " (declared)";
  if (view.config_path_source == "runtime") return path + " (reported by containerd)";
  if (view.config_path_source == "file") return path + " (from its configuration file)";
  if (view.config_path_source == "default") return path + " (the default of its release, unless declared)";
  return path;
}

// The registry's answers, and the servers that the agent asks.
void AddRegistry(const status::ImageDocument& document, LabelledPage& page) {
  if (const auto& registry = document.image.registry) {
    std::string words = registry->answer.empty() ? "not asked since this agent started" : registry->message;
    const std::string ago = ElapsedText(registry->checked_at, document.time);
    if (!ago.empty()) words += " (" + registry->answer.text() + ", " + ago + " ago)";
    page.Section("registry", words);
  }
  if (!document.registry_hosts) return;
  const status::RegistryHostsView& view = *document.registry_hosts;
  // The runtime alone can follow this registry's configuration (R36), so there are no hosts to show.
  if (view.by_pull) {
    page.Section("asked", "by pulling it again: one request to the registry if nothing changed");
    for (const std::string& note : view.notes) page.Add(note);
    return;
  }
  page.Section("asked at");
  int number = 0;
  // Numbered, because the order decides who answers.
  for (const status::RegistryHostView& host : view.hosts) {
    std::string words = host.server + (host.mirror ? " (a mirror)" : "");
    if (!host.problem.empty()) words += ": cannot be asked: " + host.problem;
    page.AddMarked(std::to_string(++number) + ".", words);
  }
  if (number == 0) page.Add("no server may answer for its tag");
  if (!view.source.empty()) page.Add("as " + view.source + " says");
  if (!view.config_path_source.empty()) page.Add(ConfigPathText(view));
  for (const std::string& note : view.notes) page.Add(note);
}

// The credentials that a pull would try, in their order.
void AddCredentials(const status::ImageDocument& document, LabelledPage& page) {
  // The agent does not show credentials to this client, which must not read as "none".
  if (!document.credentials) return;
  page.Section("credentials");
  int number = 0;
  for (const image::CredentialWords& credential : *document.credentials) {
    std::string user = credential.username.empty() ? "" : " as " + credential.username;
    page.AddMarked(std::to_string(++number) + ".",
                   SourceText(credential) + user + ", for " + credential.match);
  }
  if (number == 0) page.Add("none of this node matches: it would be pulled anonymously");
  for (const image::ProviderWords& provider : document.providers) {
    if (!provider.error.empty()) {
      const std::string what = provider.outcome == "skipped" ? " was skipped: " : " failed: ";
      page.Add("Provider " + provider.name + what + provider.error);
      // Providers for other registries are of no interest here.
    } else if (provider.matched && provider.outcome == "empty") {
      page.Add("Provider " + provider.name + " matches, and has no credential for it.");
    }
  }
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
  if (!document.remediation.empty()) page.Section("what helps");
  for (const std::string& advice : document.remediation) page.AddMarked("-", advice);
  return page.Take();
}

}  // namespace prefetch::screen
