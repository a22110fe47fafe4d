#include "status/check_document.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "doc/duration.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "manifest/image_use.h"
#include "status/rows.h"
#include "status/words.h"

namespace prefetch::status {
namespace {

using doc::ObjectReader;
using doc::Reader;
using image::Coordinates;

// The answer repeats the image's text, so its length is limited.
constexpr std::size_t kLongestImage = 4096;

std::optional<Coordinates> ReadAccount(const Reader& reader) {
  std::optional<std::string> text = reader.String();
  if (!text) return std::nullopt;
  std::optional<Coordinates> coordinates = ParseCoordinates(*text);
  if (!coordinates) reader.Fail("must be namespace/name/uid");
  return coordinates;
}

std::optional<Coordinates> ReadSecret(const Reader& reader, bool of_pod) {
  std::optional<std::string> text = reader.String();
  if (!text) return std::nullopt;
  // A pod knows the names of its secrets, and its namespace follows from the token.
  std::optional<Coordinates> coordinates = of_pod ? ParseOwnSecret(*text) : ParseSecret(*text);
  if (!coordinates) {
    reader.Fail(of_pod ? "must be name, name/uid or namespace/name/uid"
                       : "must be namespace/name/uid, or namespace/name");
  }
  return coordinates;
}

// Returns true for a UID as Kubernetes writes it (RFC 9562).
bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); i++) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

CheckIdentity ReadIdentity(ObjectReader object, bool of_pod) {
  CheckIdentity identity;
  const std::vector<Reader> secrets = object.Items("secrets");
  // Rejected before they are parsed: any pod may send a request.
  if (secrets.size() > kMostSecretsOfCheck) {
    object.Fail("secrets", "must be at most " + std::to_string(kMostSecretsOfCheck));
    return identity;
  }
  for (const Reader& item : secrets) {
    if (auto coordinates = ReadSecret(item, of_pod)) identity.secrets.push_back(*std::move(coordinates));
  }
  if (auto account = object.Find("serviceAccount")) identity.service_account = ReadAccount(*account);
  object.Finish();
  return identity;
}

CheckQuestion ReadQuestion(const Reader& item, bool of_pod) {
  ObjectReader object(item);
  CheckQuestion question;
  question.image = object.String("image", doc::Need::kRequired).value_or("");
  if (question.image.size() > kLongestImage) object.Fail("image", "is too long");
  auto reference = image::Reference::Parse(question.image);
  // The default follows the tag (K2), so the name is parsed here. An invalid name is no mistake of the
  // request: the verdict is then InvalidImageName (K3).
  question.policy = manifest::EffectivePolicy(
      std::nullopt, reference ? std::optional<image::Reference>(*reference) : std::nullopt, {});
  if (std::optional<std::string> policy = object.String("policy")) {
    auto known = base::EnumNamed<image::PullPolicy>(*policy);
    if (!known) object.Fail("policy", "must be Never, IfNotPresent or Always");
    if (known) question.policy = *known;
  }
  if (auto identity = object.Object("identity"))
    question.identity = ReadIdentity(*std::move(identity), of_pod);
  object.Finish();
  return question;
}

}  // namespace

CheckAnswer AnswerOf(const CheckQuestion& question, const plan::CheckDecision& decision) {
  CheckAnswer answer{.image = question.image,
                     .policy = question.policy,
                     .ok = decision.ok,
                     .listed = decision.listed,
                     .pending = decision.pending,
                     .result = decision.result,
                     .reason = std::string(plan::CheckReasonName(decision.reason)),
                     .rule = decision.rule,
                     .message = decision.message};
  // Only a pull under way has progress to add to its message.
  if (!decision.progress) return answer;
  const plan::PullStatus& pull = *decision.progress;
  answer.message += ": " + TransferWords(pull.bytes_done, pull.bytes_total,
                                         static_cast<std::uint64_t>(pull.bytes_per_second));
  return answer;
}

std::optional<Coordinates> ParseCoordinates(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, '/');
  if (parts.size() != 3 || parts[0].empty() || parts[1].empty() || parts[2].empty()) return std::nullopt;
  return Coordinates{
      .uid = std::string(parts[2]), .namespace_name = std::string(parts[0]), .name = std::string(parts[1])};
}

std::optional<Coordinates> ParseSecret(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, '/');
  if (parts.size() != 2) return ParseCoordinates(text);
  if (parts[0].empty() || parts[1].empty()) return std::nullopt;
  return Coordinates{.uid = "", .namespace_name = std::string(parts[0]), .name = std::string(parts[1])};
}

std::optional<Coordinates> ParseOwnSecret(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, '/');
  // "a/b" may be a name with a UID or a namespace with a name. Only the shape of the second part tells.
  const bool with_uid = parts.size() == 2 && IsUuid(parts[1]);
  if (parts.size() != 1 && !with_uid) return ParseSecret(text);
  if (parts[0].empty()) return std::nullopt;
  return Coordinates{
      .uid = with_uid ? std::string(parts[1]) : "", .namespace_name = "", .name = std::string(parts[0])};
}

base::Status BindToCaller(const plan::Caller& caller, CheckRequest& request) {
  const Coordinates account{
      .uid = caller.account_uid, .namespace_name = caller.name_space, .name = caller.service_account};
  for (CheckQuestion& question : request.questions) {
    if (question.identity.service_account && question.identity.service_account != account) {
      return base::PermissionDenied("a pod may ask for its own service account only, which is " +
                                    caller.name_space + "/" + caller.service_account);
    }
    // The token proves this account, so the request need not name it, and cannot name another.
    question.identity.service_account = account;
    for (Coordinates& secret : question.identity.secrets) {
      // Answers about secrets of other namespaces would tell a pod which exist there.
      if (secret.namespace_name.empty()) secret.namespace_name = caller.name_space;
      if (secret.namespace_name == caller.name_space) continue;
      return base::PermissionDenied("a pod may name secrets of its own namespace only, which is " +
                                    caller.name_space);
    }
  }
  return {};
}

std::string CoordinatesText(const Coordinates& of) {
  const std::string own = of.name + (of.uid.empty() ? "" : "/" + of.uid);
  return of.namespace_name.empty() ? own : of.namespace_name + "/" + own;
}

base::Result<CheckRequest> ParseCheckRequest(std::string_view json, bool of_pod) {
  doc::Problems problems("request");
  std::optional<doc::Node> root = doc::ParseJson(json, problems);
  if (!root) return problems.ToStatus().error();
  CheckRequest request;
  Reader reader(*root, problems);
  std::vector<Reader> items;
  // The short form: the list of checks alone.
  if (root->kind == doc::Node::Kind::kSequence) {
    items = reader.Items();
  } else {
    ObjectReader object(reader);
    items = object.Items("checks", doc::Need::kRequired);
    request.pull = object.Bool("pull").value_or(false);
    // A client may shorten these times, but not occupy a thread for longer.
    request.wait = std::min(object.Duration("wait").value_or(kMostPullWait), request.wait);
    request.within = std::min(object.Duration("within").value_or(kMostRegistryTime), request.within);
    object.Finish();
  }
  if (items.size() > kMostQuestions) {
    reader.Fail("must have at most " + std::to_string(kMostQuestions) + " checks");
  } else {
    for (const Reader& item : items) request.questions.push_back(ReadQuestion(item, of_pod));
  }
  // A gate that checks nothing must not pass.
  if (items.empty() && problems.empty()) reader.Fail("must have at least one check");
  if (!problems.empty()) return problems.ToStatus().error();
  return request;
}

doc::Node ToNode(const CheckRequest& request) {
  std::vector<doc::Node> items;
  for (const CheckQuestion& question : request.questions) {
    doc::Node item = doc::Node::Mapping();
    item.Set("image", doc::Node::String(question.image));
    item.Set("policy", doc::Node::String(std::string(base::EnumName(question.policy))));
    doc::Node identity = doc::Node::Mapping();
    std::vector<doc::Node> secrets;
    for (const Coordinates& secret : question.identity.secrets) {
      secrets.push_back(doc::Node::String(CoordinatesText(secret)));
    }
    if (!secrets.empty()) identity.Set("secrets", doc::Node::Sequence(std::move(secrets)));
    if (question.identity.service_account) {
      identity.Set("serviceAccount", doc::Node::String(CoordinatesText(*question.identity.service_account)));
    }
    if (!identity.members.empty()) item.Set("identity", std::move(identity));
    items.push_back(std::move(item));
  }
  doc::Node root = doc::Node::Mapping();
  root.Set("checks", doc::Node::Sequence(std::move(items)));
  if (request.pull) root.Set("pull", doc::Node::Bool(true));
  // Defaults are left out, so that agents that do not know a member yet accept the request.
  if (request.wait != kMostPullWait) root.Set("wait", doc::Node::String(doc::FormatDuration(request.wait)));
  if (request.within != kMostRegistryTime) {
    root.Set("within", doc::Node::String(doc::FormatDuration(request.within)));
  }
  return root;
}

CheckResult WithoutMessages(CheckResult result) {
  for (CheckAnswer& answer : result.answers) {
    // These two messages repeat only what the question contains.
    if (answer.reason == "InvalidImageName" || answer.reason == "NotListed") continue;
    answer.message = "the agent shows the message over its local socket, and to pods that it admits";
  }
  return result;
}

template <typename V>
static void Rows(V&& v, const CheckAnswer*) {
  v("image", &CheckAnswer::image, kPublic, "The image, as the request has it");
  v("policy", &CheckAnswer::policy, kPublic, "The pull policy of the question");
  v("ok", &CheckAnswer::ok, kPublic, "Whether the pod starts");
  v("listed", &CheckAnswer::listed, kPublic, "Whether the image is on the node's list");
  v("pending", &CheckAnswer::pending, kPublic | kLater, "Whether the agent is pulling the image: ask again");
  v("result", &CheckAnswer::result, kPublic,
    "kubelet's decision. `Undecided`: `prefetchctl check` had no answer in time", [] {
      std::vector<std::string> words = base::NamesOf<kubelet::VerdictResult>();
      words.emplace_back("Undecided");
      return words;
    });
  v("reason", &CheckAnswer::reason, kPublic | kNull | kMore, "The rule behind the result",
    plan::CheckReasonNames);
  v("rule", &CheckAnswer::rule, kPublic | kNull,
    "The step of kubelet's procedure that decided; null: none did");
  v("message", &CheckAnswer::message, kPublic | kNull, "The same as a sentence");
}

template <typename V>
static void Rows(V&& v, const CheckResult*) {
  v("node", &CheckResult::node, kPublic, "Name of the node");
  v("time", &CheckResult::time, kPublic | kNull, "When the agent answered; null: it did not");
  v("ok", &CheckResult::ok, kPublic, "Whether all pods would start");
  v("results", &CheckResult::answers, kPublic, "The answers, in the order of the questions");
}

std::string CheckResultJson(const CheckResult& result) {
  return WriteDocument(result, "CheckResult", View::kFull, 0);
}

base::Result<CheckResult> ParseCheckResult(std::string_view json) {
  return ParseDocument<CheckResult>(json, "CheckResult", "answer", {});
}

doc::Fields CheckResultFields() {
  return FieldsOf<CheckResult>("CheckResult");
}

}  // namespace prefetch::status
