#include "ctl/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/scrub.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/workers.h"
#include "doc/write.h"
#include "http/server.h"
#include "screen/lint_report.h"

namespace prefetch::ctl {

namespace {

// The parsed command line.
struct Request {
  std::vector<screen::CheckItem> items;
  std::chrono::nanoseconds timeout{};
  std::vector<manifest::UnseenImage> not_asked;  // images behind variables or in other objects
  std::vector<manifest::UnseenImage> unread;     // what nobody has accepted as unread: the check fails
  std::string list;  // the first file with an image list of ours, which has no pods
};

// Returns whose credentials count for the pods. A wrong coordinate is a mistake and not an unknown secret,
// since the answer would be about another pod.
status::CheckIdentity Identity(const CheckOptions& options, bool with_token, Mistakes& mistakes) {
  status::CheckIdentity identity;
  for (const std::string& text : options.pod_secrets) {
    // A pod that shows its token may name Secrets of its own namespace only, so the namespace is left out.
    auto secret = with_token ? status::ParseOwnSecret(text) : status::ParseCoordinates(text);
    if (secret) {
      identity.secrets.push_back(*std::move(secret));
    } else {
      mistakes.emplace_back(!with_token ? "--pod-secret must be NAMESPACE/NAME/UID"
                                        : "--pod-secret must be NAME or NAME/UID");
    }
  }
  if (!options.pod_service_account) return identity;
  identity.service_account = status::ParseCoordinates(*options.pod_service_account);
  if (!identity.service_account) mistakes.emplace_back("--pod-service-account must be NAMESPACE/NAME/UID");
  return identity;
}

// Reads options and manifests completely before any agent is asked, so that one run reports every mistake.
Request ParseOptions(const base::Call& call, const CheckOptions& options, bool with_token,
                     Mistakes& mistakes) {
  Request request;
  request.timeout = ParseTimeout(options.timeout, mistakes);
  const manifest::ReadOptions read = ReadOptionsOf(options.manifests, mistakes);
  status::CheckIdentity identity = Identity(options, with_token, mistakes);
  std::vector<manifest::ImageUse> uses;
  ReadManifestFiles(
      call, FindFiles(options.files, mistakes), read,
      [&](ManifestFile file) {
        std::ranges::move(file.mistakes, std::back_inserter(mistakes));
        std::ranges::move(file.manifests.uses, std::back_inserter(uses));
        if (request.list.empty() && file.manifests.HasList()) request.list = file.name;
        for (auto* images : {&file.manifests.references, &file.manifests.unresolved})
          std::ranges::move(*images, std::back_inserter(request.not_asked));
        std::ranges::move(file.manifests.unread, std::back_inserter(request.unread));
      },
      mistakes);
  for (const CheckOptions::Image& image : options.images) {
    auto policy = ParsePolicyOption(image.policy, "--policy", mistakes);
    uses.push_back(screen::StandaloneUse(image.image, policy, read.policy));
    auto reference = image::Reference::Parse(image.image);
    if (!reference) mistakes.push_back("--image " + image.image + ": " + reference.error().message());
  }
  if (options.files.empty() && options.images.empty()) {
    mistakes.emplace_back("name manifests with -f, or images with --image");
  }
  request.items = screen::CheckItems(uses, read.policy, identity,
                                     options.default_namespace.value_or(with_token ? "" : "default"));
  return request;
}

// Returns true if the same question may be answered in a moment.
bool IsTransient(base::Code code) {
  return code == base::Code::kNotFound || code == base::Code::kUnavailable ||
         code == base::Code::kDeadlineExceeded || code == base::Code::kResourceExhausted;
}

using std::chrono::steady_clock;

constexpr std::chrono::seconds kReportInterval{10};
// The first progress line comes after this time.
constexpr std::chrono::seconds kFirstReportDelay{3};
// Maximum bytes of the questions in one request. The last quarter of what an agent reads is a reserve.
constexpr std::size_t kMostQuestionBytes = http::kMostRequestBody / 4 * 3;
constexpr std::size_t kQuestionOverhead = 64;
constexpr std::size_t kMostAtOnce = 8;
// Maximum time for which the agent is asked to hold its answer for a pull. It would hold it for longer.
constexpr std::chrono::seconds kLongPollTimeout{5};
static_assert(kLongPollTimeout < status::kMostPullWait);
// Time before the deadline at which the agent is asked last.
constexpr std::chrono::milliseconds kLastCallReserve{500};
constexpr std::chrono::milliseconds kPullPollInterval{200};
// Time for the agent to write its answer, after its registries have answered.
constexpr std::chrono::milliseconds kAnswerReserve{750};

// Items that go into one request, by their numbers. They have one policy.
struct Batch {
  std::vector<std::size_t> items;
  std::size_t bytes = 0;
};

// Maximum number of questions in one request. The agent asks registries one after the other within a request,
// and waits once for one that is silent: for Always each time, for IfNotPresent if a pod would pull.
std::size_t MostInBatch(image::PullPolicy policy) {
  switch (policy) {
    case image::PullPolicy::kNever:
      return status::kMostQuestions;
    case image::PullPolicy::kIfNotPresent:
      return 64;
    case image::PullPolicy::kAlways:
      return 16;
  }
  std::abort();
}

// Returns the lane of a question. Questions that delay each other share one: those of one policy and, where
// registries are asked, of one registry.
std::pair<image::PullPolicy, std::string> LaneOf(const status::CheckQuestion& question) {
  if (question.policy == image::PullPolicy::kNever) return {question.policy, ""};
  auto reference = image::Reference::Parse(question.image);
  return {question.policy, reference ? reference->domain() : ""};
}

// Groups questions into requests. Those without a registry come first, and those that always need one last,
// as policies are ordered: quick answers are on the screen early.
std::vector<Batch> Batches(const std::vector<screen::CheckItem>& items) {
  std::map<std::pair<image::PullPolicy, std::string>, std::vector<Batch>> lanes;
  for (std::size_t i = 0; i < items.size(); i++) {
    const status::CheckQuestion& question = items[i].question;
    std::size_t bytes = doc::WriteJson(status::ToNode({.questions = {question}})).size() + kQuestionOverhead;
    std::vector<Batch>& lane = lanes[LaneOf(question)];
    if (lane.empty() || lane.back().items.size() == MostInBatch(question.policy) ||
        lane.back().bytes + bytes > kMostQuestionBytes) {
      lane.emplace_back();
    }
    lane.back().items.push_back(i);
    lane.back().bytes += bytes;
  }
  std::vector<Batch> batches;
  for (auto& [of, lane] : lanes) std::ranges::move(lane, std::back_inserter(batches));
  return batches;
}

// Asks an agent all questions, several at a time, until each is answered. Its threads take one batch after
// the other, so questions to registries do not delay the others.
//
// If the agent is not there yet, or busy, it is asked again until the call's deadline, and `err` reports that
// from time to time. With `pull`, the agent pulls absent images, and is asked again until that has ended;
// pulls that run at the call's deadline stay `pending`.
class CheckRun {
 public:
  CheckRun(const base::Call& call, const AgentClient& agent, const std::vector<screen::CheckItem>& items,
           bool pull, std::ostream& err)
      : agent_(agent),
        items_(items),
        pull_(pull),
        batches_(Batches(items)),
        err_(err),
        started_(steady_clock::now()),
        // One stop source for both: the caller's stop and a permanent failure end all threads.
        stop_all_(call.stop, [this] { cancel_.request_stop(); }),
        call_{call.deadline, cancel_.get_token()} {
    result_.answers.resize(items.size());
  }

  // Fills `result` with an answer for each item, by its number; an item without an answer has an empty
  // result. The error is that of the first question that stayed without an answer; a permanent error
  // (InvalidArgument, Internal …) ends all.
  base::Status Run(status::CheckResult& result) {
    {
      // Ends last: it reports until all batches are done.
      std::jthread progress([this](const std::stop_token& done) { ReportProgress(done); });
      base::ParallelFor(kMostAtOnce, batches_.size(), [this](std::size_t i) {
        if (!cancel_.stop_requested()) Work(batches_[i]);
      });
    }
    base::Lock lock(mutex_);
    result = std::move(result_);
    return failure_ ? base::Status(*failure_) : base::Status();
  }

 private:
  // Repeats the batch for those of its images that are being pulled.
  void Work(const Batch& batch) PREFETCH_EXCLUDES(mutex_) {
    std::vector<std::size_t> open = batch.items;
    while (!open.empty()) {
      status::CheckRequest request{.questions = {}, .pull = pull_};
      for (std::size_t i : open) request.questions.push_back(items_[i].question);
      // Answered questions are not asked again; only those whose image is being pulled.
      open = MergeAnswers(open, AskWithRetries(std::move(request)));
      if (!open.empty() && !AwaitPulls(open)) return;
    }
  }

  // Returns the time for which the agent may hold its answer for pulls.
  base::Duration LongPollTimeout() const {
    // Room for the answer itself and for one more question.
    base::Duration left = call_.deadline - steady_clock::now() - 2 * kLastCallReserve;
    return std::clamp<base::Duration>(left, base::Duration::zero(), kLongPollTimeout);
  }

  // Returns the time for which the agent may ask registries, so that its answer is here before the end.
  base::Duration RegistryTimeout() const {
    base::Duration left = call_.deadline - steady_clock::now();
    // With a short time limit, the answer gets a quarter at most.
    left -= std::min<base::Duration>(left / 4, kAnswerReserve);
    return std::clamp<base::Duration>(left, base::Duration::zero(), status::kMostRegistryTime);
  }

  // Stores the answers. Returns the items that are being pulled.
  std::vector<std::size_t> MergeAnswers(const std::vector<std::size_t>& items,
                                        base::Result<status::CheckResult> answered)
      PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    if (!answered) {
      Fail(answered.error());
      return {};
    }
    result_.node = answered->node;
    result_.time = answered->time;
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < items.size(); i++) {
      if (answered->answers[i].pending) pending.push_back(items[i]);
      result_.answers[items[i]] = std::move(answered->answers[i]);
    }
    return pending;
  }

  void Fail(const base::Error& error) PREFETCH_REQUIRES(mutex_) {
    // A permanent error replaces one that may pass: it is the one that the user can act on.
    bool permanent = !IsTransient(error.code()) && error.code() != base::Code::kCancelled;
    if (!failure_ || (permanent && IsTransient(failure_->code()))) failure_ = error;
    if (permanent) cancel_.request_stop();
  }

  // Waits a moment before the agent is asked again. Returns false if there is no time for that.
  bool AwaitPulls(const std::vector<std::size_t>& pending) PREFETCH_EXCLUDES(mutex_) {
    {
      base::Lock lock(mutex_);
      const std::size_t first = pending.front();
      std::string where =
          items_[first].question.image + ": " + base::WithoutControls(result_.answers[first].message);
      if (steady_clock::now() + kPullPollInterval + kLastCallReserve >= call_.deadline) {
        Fail(base::DeadlineExceeded("the time is over, and " + Count(pending.size()) +
                                    " not here yet; a pull that has begun goes on (" + where + ")"));
        return false;
      }
      ReportLine("waiting: " + Count(pending.size()) + " not here yet", where);
    }
    return base::Pause(call_, kPullPollInterval);
  }

  // Reports progress from time to time, until `done`.
  void ReportProgress(const std::stop_token& done) PREFETCH_EXCLUDES(mutex_) {
    base::Call until_done{.stop = done};
    for (base::Duration pause = kFirstReportDelay; base::Pause(until_done, pause); pause = kReportInterval) {
      base::Lock lock(mutex_);
      auto open = std::ranges::find_if(
          result_.answers, [](const status::CheckAnswer& answer) { return answer.result.empty(); });
      if (open == result_.answers.end()) continue;
      auto count = std::count_if(open, result_.answers.end(),
                                 [](const status::CheckAnswer& answer) { return answer.result.empty(); });
      const std::string& first =
          items_[static_cast<std::size_t>(open - result_.answers.begin())].question.image;
      ReportLine("waiting for the answers to " + std::to_string(count) + " of " +
                     base::Plural(items_.size(), "question", "questions"),
                 first + (count == 1 ? "" : " and others"));
    }
  }

  static std::string Count(std::size_t images) {
    return images == 1 ? "an image is" : std::to_string(images) + " images are";
  }

  // Asks until there is an answer: the agent may not be there yet, or may just restart.
  base::Result<status::CheckResult> AskWithRetries(status::CheckRequest request) PREFETCH_EXCLUDES(mutex_) {
    RetryPause pauses(call_.deadline);
    const bool may_ask_registry = request.questions.front().policy != image::PullPolicy::kNever;
    while (true) {
      request.wait = LongPollTimeout();
      request.within = RegistryTimeout();
      // Questions that need no registry and no pull are answered at once. A time limit for these finds an
      // agent that accepts connections and hangs.
      base::Duration within = base::Duration::max() / 4;
      if (!may_ask_registry && !request.pull) within = kAnswerTimeout;
      base::Duration retry_after{};
      auto result = agent_.Check(call_, request, within, &retry_after);
      if (result || !IsTransient(result.error().code()) || call_.Stopped()) return result;
      auto pause = pauses.Next(steady_clock::now(), retry_after, RandomFraction());
      if (!pause) return result;
      {
        base::Lock lock(mutex_);
        ReportLine("waiting for the agent", result.error().message());
      }
      if (!base::Pause(call_, *pause)) return result;
    }
  }

  double RandomFraction() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }

  void ReportLine(const std::string& what, const std::string& why) PREFETCH_REQUIRES(mutex_) {
    auto now = steady_clock::now();
    // Several threads wait for the same agent; one line at a time is enough for all.
    if (reported_at_ && now - *reported_at_ < kReportInterval) return;
    auto left = std::chrono::duration_cast<std::chrono::seconds>(call_.deadline - now);
    auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
    err_ << what << " (" << base::HumanTime(waited) << " so far, at most " << base::HumanTime(left)
         << " more): " << why << std::endl;
    reported_at_ = now;
  }

  const AgentClient& agent_;
  const std::vector<screen::CheckItem>& items_;
  const bool pull_;
  const std::vector<Batch> batches_;
  std::ostream& err_;
  const steady_clock::time_point started_;
  std::stop_source cancel_;  // the caller's wish, or a failure that stays
  std::stop_callback<std::function<void()>> stop_all_;
  const base::Call call_;
  base::Mutex mutex_;
  std::mt19937_64 random_ PREFETCH_GUARDED_BY(mutex_){std::random_device{}()};
  status::CheckResult result_ PREFETCH_GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ PREFETCH_GUARDED_BY(mutex_);
  std::optional<steady_clock::time_point> reported_at_ PREFETCH_GUARDED_BY(mutex_);
};

void Print(const Request& request, const status::CheckResult& result, const CheckOptions& options,
           std::ostream& out) {
  switch (options.output) {
    case CheckOutput::kText:
      out << screen::CheckText(request.items, result,
                               {options.unknown_passes, options.width, request.unread.size()});
      break;
    case CheckOutput::kGithub:
      out << screen::CheckGithub(request.items, result, options.unknown_passes, request.unread);
      break;
    case CheckOutput::kJson: {
      auto indented = doc::IndentedJson(screen::CheckReportJson(request.items, result, request.unread));
      if (indented) out << *indented;
      break;
    }
  }
  out << std::flush;
}

// Annotates the page of the CI job. The answers are printed already, so a failure changes no exit code.
void AnnotateResult(const base::Call& call, const CheckOptions& options, const std::string& line,
                    std::ostream& out, std::ostream& err) {
  if (options.annotation_target.empty()) return;
  auto annotated = Annotate(call, options.annotation_target, line, config::ProcessEnv, out);
  if (!annotated)
    err << "warning: --annotate " << options.annotation_target << ": " << annotated.error().message() << "\n";
}

// Exit code 3 if an agent is there and did not decide all in time; 4 if no agent answered. An agent that
// accepts a question and then stays silent counts as absent.
int UnansweredExitCode(const base::Error& error, bool any_decided, std::ostream& err) {
  // A busy agent is there, though it decided nothing.
  bool busy = error.code() == base::Code::kResourceExhausted;
  return IsTransient(error.code()) && (any_decided || busy) ? Fail(kTimedOut, error, err) : Fail(error, err);
}

}  // namespace

// The exit code gates deployments: 0 only if every image was decided and passes, and nothing was left unread.
int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err) {
  Mistakes mistakes;
  agent.UseToken(options.token_file);
  Request request = ParseOptions(call, options, agent.UsesToken(), mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  for (const manifest::UnseenImage& image : request.not_asked) {
    err << "note: " << base::InOneLine(image.pod->source) << ":" << image.at.line << ": "
        << base::InOneLine(image.why) << ", which is not checked\n";
  }
  // A gate that checks nothing must not look like one that passed.
  if (request.items.empty() && !request.list.empty()) {
    return RejectInput(
        {request.list +
         " is an image list, which has no pods: name manifests with -f, or images with --image"},
        err);
  }
  for (const manifest::UnseenImage& object : request.unread) err << UnseenLine(object) << "\n";
  if (!request.unread.empty())
    err << "note: images of objects that are not read are not checked; --allow-unread KIND accepts them\n";
  status::CheckResult result;
  if (request.items.empty()) {
    if (!request.not_asked.empty()) err << "note: no image could be checked: name them with --image\n";
    // Manifests of pods whose images are all elsewhere are no success: nothing of them was checked.
    std::ranges::move(request.not_asked, std::back_inserter(request.unread));
    result.ok = request.unread.empty();
    if (result.ok) err << "note: no pod of these manifests names an image: nothing to check\n";
    // JSON is printed in any case, since a program parses it.
    const bool github = options.output == CheckOutput::kGithub && !result.ok;
    if (options.output == CheckOutput::kJson || github) Print(request, result, options, out);
    AnnotateResult(call, options, screen::CheckLine({}, result, options.unknown_passes, request.unread), out,
                   err);
    return result.ok ? kOk : kNegative;
  }
  base::Status asked =
      CheckRun(call.Within(request.timeout), agent, request.items, options.pull, err).Run(result);
  // "It is being pulled" counts as an answer, too.
  bool any_decided = std::ranges::any_of(
      result.answers, [](const status::CheckAnswer& answer) { return !answer.result.empty(); });
  result.ok =
      asked.ok() && request.unread.empty() && std::ranges::all_of(result.answers, [&](const auto& answer) {
        return screen::Passes(answer, options.unknown_passes);
      });
  if (call.Stopped()) return kInterrupted;
  // Partial answers are printed as well: in a timeout they show which images hold up the pod.
  if (asked.ok() || any_decided) Print(request, result, options, out);
  const bool no_decision = !asked.ok() && !any_decided;
  AnnotateResult(call, options,
                 no_decision
                     ? asked.error().message()
                     : screen::CheckLine(request.items, result, options.unknown_passes, request.unread),
                 out, err);
  if (!asked.ok()) return UnansweredExitCode(asked.error(), any_decided, err);
  return result.ok ? kOk : kNegative;
}

namespace {

constexpr const char* kTitle = "prefetchd";
constexpr const char* kGitlabFile = "prefetchd-annotations.json";
constexpr std::size_t kLongestGitlabLabel = 255 - 3;  // and "…"; GitLab, doc/ci/yaml/artifacts_reports.md
// Time limit for buildkite-agent, so that a hanging annotation cannot hold the CI job.
constexpr std::chrono::seconds kAnnotateTimeout{20};

std::string Variable(const config::GetEnv& get_env, const char* name) {
  const char* value = get_env(name);
  return value == nullptr ? "" : value;
}

// Writes without a temporary file: /dev/termination-log is a mount of its own, which cannot be replaced by a
// rename.
base::Status WriteInPlace(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file.good()) return {};
  return base::InvalidArgument(path + " cannot be written: " + std::strerror(errno));
}

base::Status ForGitlab(const std::string& line, const config::GetEnv& get_env) {
  // A report without links takes back what an earlier run in the same job has written.
  std::vector<doc::Node> links;
  if (!line.empty()) {
    const std::string url = Variable(get_env, "CI_JOB_URL");
    if (url.empty()) return base::InvalidArgument("CI_JOB_URL is not set: this is no job of GitLab");
    const doc::Node link =
        doc::Node::Mapping({{"label", doc::Node::String(base::Truncate(line, kLongestGitlabLabel))},
                            {"url", doc::Node::String(url)}});
    links.push_back(doc::Node::Mapping({{"external_link", link}}));
  }
  const doc::Node report = doc::Node::Mapping({{kTitle, doc::Node::Sequence(std::move(links))}});
  const std::string folder = Variable(get_env, "CI_PROJECT_DIR");
  return WriteInPlace((folder.empty() ? "" : folder + "/") + kGitlabFile, doc::WriteJson(report) + "\n");
}

// Variables by which buildkite-agent knows its job and reaches its server.
constexpr std::string_view kBuildkiteVariables[] = {
    "BUILDKITE",    "PATH=",     "HOME=",     "HTTP_PROXY=",    "http_proxy=",  "HTTPS_PROXY=",
    "https_proxy=", "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE=", "SSL_CERT_DIR="};

std::vector<std::string> BuildkiteEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; entry++) {
    const std::string_view one = *entry;
    if (std::any_of(std::begin(kBuildkiteVariables), std::end(kBuildkiteVariables),
                    [&](std::string_view variable) { return one.starts_with(variable); })) {
      environment.emplace_back(one);
    }
  }
  return environment;
}

base::Status ForBuildkite(const base::Call& call, const std::string& line, const config::GetEnv& get_env) {
  if (line.empty()) return {};
  const std::string agent = base::FindProgram("buildkite-agent", Variable(get_env, "PATH"));
  if (agent.empty()) return base::NotFound("there is no buildkite-agent on PATH");
  const base::Command command{.argv = {agent, "annotate", "--style", "error", "--context", kTitle},
                              .environment = BuildkiteEnvironment()};
  auto ran = base::RunProcess(call.Within(kAnnotateTimeout), command, line + "\n");
  if (!ran) return ran.error();
  if (ran->end == base::ProcessEnd::kExited && ran->code == 0) return {};
  return base::Unavailable("buildkite-agent annotate failed: " + base::Truncate(ran->errors, 300));
}

}  // namespace

base::Status Annotate(const base::Call& call, const std::string& target, const std::string& line,
                      const config::GetEnv& get_env, std::ostream& out) {
  if (target == "gitlab") return ForGitlab(line, get_env);
  if (target == "buildkite") return ForBuildkite(call, line, get_env);
  // Any other target is a file, such as /dev/termination-log.
  if (target != "github") return WriteInPlace(target, line.empty() ? "" : line + "\n");
  if (!line.empty()) out << screen::GithubCommand("error", {}, kTitle, line) << std::flush;
  return {};
}

namespace {

using base::Duration;

constexpr std::chrono::milliseconds kRetryInterval{500};
constexpr std::chrono::seconds kMaxJitter{5};
// The minimum time for the answer to a last try.
constexpr std::chrono::milliseconds kLastTryReserve{500};

Duration Part(Duration span, double part) {
  return std::chrono::duration_cast<Duration>(span * part);
}

}  // namespace

std::optional<Duration> RetryPause::Next(base::TimePoint now, Duration retry_after, double spread) {
  if (retry_after <= Duration::zero()) {
    if (last_ || now + kRetryInterval >= deadline_) return std::nullopt;
    return kRetryInterval;
  }
  // The random part lets jobs that started together come back one after the other. It is limited, so that a
  // long wait does not become much longer.
  const Duration pause = std::max<Duration>(retry_after, kRetryInterval) +
                         Part(std::min<Duration>(retry_after, kMaxJitter), spread);
  if (now + pause <= deadline_ - kLastTryReserve) return pause;
  // The last try comes as late as possible, and at slightly different moments for pods with the same
  // deadline.
  const Duration last = deadline_ - kLastTryReserve - Part(kLastTryReserve, spread) - now;
  if (last_ || last <= Duration::zero()) return std::nullopt;
  last_ = true;
  return last;
}

}  // namespace prefetch::ctl
