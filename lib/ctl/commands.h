// The commands of prefetchctl: their options, as written on the command line, and the functions that do their
// work. Each prints on `out` and complains on `err`, and returns its exit code.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "ctl/agent_client.h"
#include "ctl/exit_code.h"
#include "ctl/fleet.h"
#include "ctl/manifest_files.h"
#include "ctl/registries.h"
#include "deploy/compat.h"
#include "deploy/generate.h"
#include "deploy/init_container.h"
#include "doc/node.h"
#include "image/reference.h"
#include "kube/api.h"
#include "list/draft.h"
#include "list/image_list.h"
#include "manifest/read.h"
#include "screen/check_text.h"
#include "screen/fleet.h"
#include "screen/node_text.h"

namespace prefetch::ctl {

// prefetchctl status: the images of this node, or of a fleet, on one screen.

struct StatusOptions {
  std::string output = "table";  // table, wide, json, yaml, html
  bool watch = false;            // again and again, until `call.stop`; not with results and html
  std::optional<screen::ResultsFormat> results;  // a row for each image, instead of a screen
  FleetQuery query;                              // of a fleet
  bool not_ready = false;                        // of a fleet: name the nodes that are not ready
};

// Prints what `options` select about this node. Returns the exit code: kUnreachable if the agent does not
// answer.
int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options, std::ostream& out,
           std::ostream& err);

// prefetchctl status --fleet: prints what `options` select about all nodes. Returns the exit code:
// kUnreachable if the API server does not answer; a node whose agent does not answer is part of the output.
int FleetStatus(const base::Call& call, kube::Api& api, const StatusOptions& options, std::ostream& out,
                std::ostream& err);

// `prefetchctl explain`: everything that is known about one image on this node.

struct ExplainOptions {
  std::string image;
  ImageQuery query;
  std::chrono::nanoseconds timeout{};
  bool json = false;       // the agent's document as it came
  std::size_t width = 80;  // of the terminal
};

// Exit code: 0, also for an image that is not here; 2 for a name that is none, 4 if the agent could not be
// asked.
int Explain(const base::Call& call, const AgentClient& agent, const ExplainOptions& options,
            std::ostream& out, std::ostream& err);

// Retry: makes an agent retry images at once that wait for their next attempt.

struct RetryOptions {
  std::vector<std::string> images;  // empty: all that wait
  bool json = false;
};

// Returns the exit code: kNegative if an image is not on the list of the node.
int Retry(const base::Call& call, const AgentClient& agent, const RetryOptions& options, std::ostream& out,
          std::ostream& err);

// Asks the agents of all nodes. Returns kNegative if an image is on the list of no node, or if an agent did
// not take the request.
int RetryFleet(const base::Call& call, kube::Api& api, const FleetQuery& query,
               const std::vector<std::string>& images, std::ostream& out, std::ostream& err);

// `prefetchctl watch --fleet`: tells a webhook of nodes that begin to fail, or have recovered.

struct WatchOptions {
  FleetQuery query;
  std::string webhook_file;  // has the URL, which may be a secret in itself
  std::string secret_file;   // has the key of the signature; empty: no signature
  base::Duration interval = std::chrono::seconds(60);
  bool once = false;
};

// Asks the fleet once an interval, and sends at most one request to the webhook each time, so that an
// interval is its rate limit. News that the webhook did not take (no answer, 429, 5xx and all but 2xx) is
// sent with that of the next round. Runs until `call` is stopped, until the cluster refuses the user's rights
// or credentials or the webhook rejects its URL (401, 403, 404, 410), or one round with `once`. Exit code: 0;
// 1 if the webhook rejects its URL, with `once` also if it did not take the news; 2 bad input; 4 if the
// cluster refuses, with `once` also if it could not be asked; 130 stopped. `get_env` names the proxies to the
// webhook.
int WatchFleet(const base::Call& call, kube::Api& api, const config::GetEnv& get_env,
               const WatchOptions& options, std::ostream& out, std::ostream& err);

// prefetchctl audit: which images came to the nodes without being on the list.

struct AuditOptions {
  FleetQuery query;                 // with a cluster
  std::string pods_file;            // saved pods instead of the cluster's; empty: none
  std::vector<std::string> lists;   // the lists, without any agent; needs pods_file
  std::vector<std::string> ignore;  // patterns
  std::optional<base::WallTime> since;
  bool json = false;
};

// 0 clean, 1 findings, 2 bad input, 4 no agent could be asked.
int AuditOfNode(const base::Call& call, const AgentClient& agent, const AuditOptions& options,
                std::ostream& out, std::ostream& err);
int AuditOfFleet(const base::Call& call, kube::Api& api, const AuditOptions& options, std::ostream& out,
                 std::ostream& err);
// Saved pods against lists: no agent and no cluster is asked.
int AuditOfPods(const AuditOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl credentials`: which credentials this node has for an image, and is their configuration good;
// the same code that the agent finds them with.

struct CredentialsOptions {
  // The flags that prefetchd has too. Settings that they leave open come from the environment and from the
  // file of --config, as prefetchd's do.
  config::RawConfig flags;
  std::vector<std::string> images;
  std::vector<std::string> sources;  // of the list, that the images are taken to be in
  bool json = false;
  bool check = false;
};

// Looks up each image, for which it runs plugins. JSON is an object for one image, an array for several. Exit
// code: 0 every image has a credential, 1 at least one has none, 2 bad input, the provider configuration
// included.
int FindCredentials(const base::Call& call, const CredentialsOptions& options, const config::GetEnv& get_env,
                    std::ostream& out, std::ostream& err);

// Prints the credentials that this node's agent finds. Returns nullopt if there is no agent to ask; `err`
// then has a line with the settings by which FindCredentials looks instead. Else returns the exit code of
// FindCredentials, or 4 if the agent fails.
std::optional<int> FetchAgentCredentials(const base::Call& call, const AgentClient& agent,
                                         const CredentialsOptions& options, const config::GetEnv& get_env,
                                         std::ostream& out, std::ostream& err);

// Reads the configuration alone; no plugin is run. A line for each good file on `out`, one for each mistake
// on `err`. Exit code: 0 good, 2 not.
int CheckCredentials(const CredentialsOptions& options, const config::GetEnv& get_env, std::ostream& out,
                     std::ostream& err);

// `prefetchctl verdict`: what kubelet would say to a pod with an image, from kubelet's files alone.

// Options as written on the command line.
struct VerdictOptions {
  std::string image;
  std::string image_id;  // empty: the runtime does not have it
  std::optional<std::string> kubelet_root;
  std::optional<std::string> kubelet_config;  // a file
  std::optional<std::string> verification;    // instead of kubelet_config
  std::vector<std::string> allowlist;
  std::optional<std::string> kubelet_version;
  std::optional<std::string> kubelet_rules;
  std::optional<std::string> pull_policy;  // only this one
  std::vector<std::string> pod_secrets;    // NAMESPACE/NAME/UID/HASH
  std::optional<std::string> pod_service_account;
  bool json = false;
};

// Exit code: 0 computed, 2 bad input, with all mistakes on `err`.
int PrintVerdicts(const VerdictOptions& options, std::ostream& out, std::ostream& err);

// Check: `prefetchctl check`, which tells whether pods would start on this node with these images. Init
// containers, CI and operators use it.
// Annotate: `--annotate`, one line for the page of the CI job.
// RetryPause: the pauses between tries.

enum class CheckOutput { kText, kJson, kGithub };

// Options as written on the command line.
struct CheckOptions {
  std::vector<std::string> files;  // manifests: files, folders, patterns; "-" is standard input
  struct Image {
    std::string image;
    std::optional<std::string> policy;  // else what Kubernetes fills in
  };
  std::vector<Image> images;
  ManifestFlags manifests;
  std::vector<std::string> pod_secrets;  // NAMESPACE/NAME/UID; with a token NAME[/UID]
  std::string token_file;                // a pod's token, shown to an agent over the network; empty: none
  std::optional<std::string> pod_service_account;
  // The namespace of manifests that name none. If unset: "default", and with a token the namespace of the pod
  // that shows it.
  std::optional<std::string> default_namespace;
  std::string timeout = "60s";
  bool unknown_passes = false;
  bool pull = false;  // have the agent pull missing images
  CheckOutput output = CheckOutput::kText;
  std::size_t width = 0;          // of the terminal; 0: it is none
  std::string annotation_target;  // where the job's page gets its line; empty: nowhere
};

// Asks the agent about all of them side by side. Keeps trying to reach it within the timeout, and reports
// that on `err`. Exit code: 0 every image starts, 1 some do not, 2 bad input with all mistakes on `err`, 3
// timed out with the results so far on `out`, 4 the agent could not be asked.
int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err);

// `prefetchctl check --annotate`: shows `line` on the page of the CI job, in the way of `target`. An empty
// line shows nothing, and removes the content of a file.
//
//   github     a workflow command on `out`: https://docs.github.com/actions, "Workflow commands"
//   gitlab     prefetchd-annotations.json, for artifacts:reports:annotations, with a link to the job
//   buildkite  buildkite-agent annotate, which the job has on PATH
//   else       a file of this name, such as /dev/termination-log
//
// The error has the reason of a failure; it does not change the result of the check.
base::Status Annotate(const base::Call& call, const std::string& target, const std::string& line,
                      const config::GetEnv& get_env, std::ostream& out);

// The pauses between the tries of one question, if the agent is away or busy. The question is given up at
// `deadline`. Pure.
//
// An agent that is away is asked twice a second. One that sends Retry-After is asked after that time and a
// random part more: jobs that started at once come back one after the other. Where the deadline is earlier,
// the agent is asked a last time shortly before it.
class RetryPause {
 public:
  explicit RetryPause(base::TimePoint deadline) : deadline_(deadline) {}

  // The pause before the next try. `retry_after`: the agent's Retry-After; zero: none. `spread`: a random
  // number from [0, 1). nullopt: there is no time for another try.
  std::optional<base::Duration> Next(base::TimePoint now, base::Duration retry_after, double spread);

 private:
  base::TimePoint deadline_;
  bool last_ = false;  // the last try has been announced
};

// prefetchctl wait: until every required entry is ready.

struct WaitOptions {
  FleetQuery query;  // of a fleet
  screen::WaitDemand demand;
  screen::FleetTarget target;  // of a fleet
  // Ends with the first image that is settled and not ready; of a fleet, once the target cannot be reached.
  bool fail_fast = false;
  std::chrono::nanoseconds timeout{};
  // Folder of the socket, which the first agent of a node creates. If it is missing, Wait fails at once with
  // kUnreachable. Empty: Wait waits for an agent in any case.
  std::string folder;
  // Pause between two rounds of a fleet; as long as a round if that takes longer.
  std::chrono::nanoseconds pause = std::chrono::seconds(2);
  std::chrono::nanoseconds list_every = std::chrono::seconds(5);  // nodes of a fleet come and go
};

// Polls the agent until it has all that `options` demand. Shows the progress on `out`, and problems with the
// agent on `err`. Returns the exit code: kOk; kNegative with `fail_fast`; kTimedOut; kUnreachable if the last
// poll failed or none had an answer; kInterrupted.
int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err);

// prefetchctl wait --fleet: polls the agents of all selected nodes until enough nodes have all that `options`
// demand. Its output and exit codes are those of Wait; kUnreachable is about the API server.
int FleetWait(const base::Call& call, kube::Api& api, const WaitOptions& options, std::ostream& out,
              std::ostream& err);

// `prefetchctl lint`: manifests against lists, offline.

enum class LintOutput { kText, kJson, kGithub, kSarif };

// Options as written on the command line.
struct LintOptions {
  std::vector<std::string> files;  // files, folders, patterns; "-" is standard input
  std::vector<std::string> lists;
  std::vector<std::string> select, ignore;
  ManifestFlags manifests;
  LintOutput output = LintOutput::kText;
  bool color = false;
  std::size_t width = 0;  // of the terminal; 0: there is none
};

// Findings go to `out`, mistakes in files and options to `err`. Exit code: 0 clean (notes do not count), 1
// warnings or errors, 2 bad input: then the findings are those of the readable files.
int Lint(const base::Call& call, const LintOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl list check|print`: the same code that the agent reads its list with, at a desk or in CI.

enum class ListOutput { kYaml, kJson, kHash };

// Checks files, and the list files in directories. Prints a line for each good one on `out` ("images.yaml: 12
// entries, sha256:…"), and a line for each mistake and each warning on `err`. Exit code: 0 if all are good, 2
// if not. `capabilities` are those of the agents that will read the list.
//
// If all are good and `agent` is not null, prints a note on `err` for each other name that the agent's node
// has for an image of the list, and that the list lacks. Notes do not change the exit code; it is 4 if the
// agent cannot be asked.
int ListCheck(const base::Call& call, const AgentClient* agent, const std::vector<std::string>& paths,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err);

// Prints the canonical form of each source, separated by `---` (YAML), a line each (JSON), or the hash of the
// list and of each source with its name. If any source is not good, prints only the mistakes, and returns 2.
// `sorted`: by name, though entries of the same priority are pulled as listed.
int ListPrint(const std::vector<std::string>& paths, ListOutput output, bool sorted,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err);

// `prefetchctl list diff`: two lists, or a list and what a node has.
struct ListDiffOptions {
  std::vector<std::string> files;  // two, or one for the node; files or folders
  bool json = false;
};

// Exit code: 0 the same, 1 different, 2 bad input; with the node 4: the agent could not be asked.
int DiffTwoLists(const ListDiffOptions& options, std::ostream& out, std::ostream& err);
int DiffListWithNode(const base::Call& call, const AgentClient& agent, const ListDiffOptions& options,
                     std::ostream& out, std::ostream& err);

// `prefetchctl list import`: a list from wherever images are named already.
struct ListImportOptions {
  std::vector<std::string> manifests;  // files, folders, patterns; "-" is standard input
  manifest::ReadOptions read;          // of these, and of the cluster's workloads
  std::vector<std::string> lists;      // list files, plain ones too
  std::vector<std::string> crictl;  // files with the output of `crictl images -o json`; "-" is standard input
  std::vector<std::string> foreign;  // files with lists of other tools
  std::vector<std::string> markers;
  std::vector<std::string> marked;      // files, folders, patterns that have the marker
  std::vector<std::string> namespaces;  // of the cluster's workloads; empty: all
  std::string config_map;               // "NAMESPACE/NAME", which gets the list instead of `out`; empty: none
  std::vector<std::string> exclude;     // patterns as of a shell, against normalised names
  list::DraftOutput output = list::DraftOutput::kYaml;
};

// Prints one list of all of it on `out`. `agent` is asked for what its node has, and `api` for the cluster's
// workloads, unless they are null. Exit code: 0; 2 bad input, no image at all, or too many for
// the ConfigMap, with all mistakes on `err` and nothing printed; 4 the agent or the API server could not be
// asked.
int ImportList(const base::Call& call, const AgentClient* agent, kube::Api* api,
               const ListImportOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl list lock`: the digests of a list's tags, asked of the registries and written beside the list.
struct ListLockOptions {
  std::vector<std::string> files;
  bool check = false;
  config::RawConfig credentials;  // as for `prefetchctl credentials`
  NodeRuntime runtime = NodeRuntime::kContainerd;
  std::string timeout = "5m";
};

// Asks for every tag, side by side, with the credentials that this node or this desk has. Without `check`
// each list gets its lock, whole or not at all; with it nothing is written. Exit code: 0 locked, or nothing
// moved; 1 something moved, or a registry says that a tag is not there or not for us; 2 bad input; 3 timed
// out; 4 a registry could not be asked, or only a pull can tell. For CRI-O, a warning on `err` names each
// image that containerd would not pull.
int LockLists(const base::Call& call, const ListLockOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err);

// `prefetchctl list export --for kubelet`: the settings of kubelet that exempt the images of a list.

enum class AllowlistOutput {
  kYaml,       // a drop-in of kubelet's own configuration
  kOpenShift,  // a KubeletConfig of the Machine Config Operator, which writes kubelet's configuration there
};

// Options as written on the command line.
struct ExportOptions {
  std::vector<std::string> lists;              // files, and folders of them
  std::optional<std::string> kubelet_version;  // of an allowlist; else the newest that is known
  AllowlistOutput output = AllowlistOutput::kYaml;
  std::string name = "prefetchd";  // of a PinnedImageSet
  std::string pool = "worker";     // the MachineConfigPool whose nodes pin the images
};

// Prints all on `out`, or nothing there and all mistakes on `err`: lists that the agent would refuse, an
// empty list, a kubelet that has no allowlist, names that no pattern of it matches. Exit code: 0 or 2.
int ExportAllowlist(const ExportOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl list export --for openshift`: a list as OpenShift's own PinnedImageSet. By digest: the list's
// own, and for tags those of its lock (`prefetchctl list lock`). Exit code: 0 printed, 2 bad input and
// nothing printed: a tag without a digest, no image at all, more than OpenShift takes.
int ExportPinnedImageSet(const ExportOptions& options, std::ostream& out, std::ostream& err);

// Generate: `prefetchctl generate`, the manifests of deploy/ for one platform, from this one binary.
// GenerateCompat and GenerateTouchDaemonSet: its other forms.
// AddSpellings and ExportPolicy: the spellings of images, for components/policy.

struct GenerateFlags {
  deploy::GenerateOptions options;  // but for the lists, which are read from `lists`
  std::vector<std::string> lists;   // files, or folders of them
  std::string agent_config;         // a file of kind AgentConfiguration; empty: the shipped one
  std::string output;               // a file, or a folder (it is there, or ends with "/"); empty: `out`
  list::Capabilities capabilities;
  std::optional<doc::Node> installed;  // the agent's DaemonSet in the cluster, if it was read
};

// Reads the DaemonSet of the installation that the options name. Returns kBadInput or kUnreachable, with the
// reason printed, if there is none or it cannot be read; needs the right to list daemonsets of the namespace.
int ReadInstalled(const base::Call& call, kube::Api& api, GenerateFlags& flags, std::ostream& err);

// Exit code: 0 written, 2 bad input: a list with mistakes (all are said, as `list check` says them), an
// option that fits no platform. Notes go to `err`.
int Generate(GenerateFlags flags, std::ostream& out, std::ostream& err);

// `migrate image-prefetcher NAME`: in the place of an installation of stackrox/image-prefetcher.
int GenerateCompat(const deploy::CompatOptions& options, const std::string& output, std::ostream& out,
                   std::ostream& err);

// `generate touch-daemonset`: the images of the list files, but for those that must not be touched.
int GenerateTouchDaemonSet(const std::vector<std::string>& lists, const deploy::NodeChoice& nodes,
                           const std::string& output, std::ostream& out, std::ostream& err);

// Adds the spellings of an image in pods, for components/policy: the entry's own text, and the others that
// kubelet makes the same of. kubelet adds ":latest" where tag and digest are missing, and changes nothing
// else. "nginx" and "docker.io/library/nginx" are two.
void AddSpellings(const image::Reference& reference, std::set<std::string>& spellings);
void AddSpellings(const list::SourceContent& content, std::set<std::string>& spellings);

// `prefetchctl list export --for policy`: the ConfigMap for list files. Exit code: 0 printed, 2 bad input.
int ExportPolicy(const std::vector<std::string>& lists, std::ostream& out, std::ostream& err);

// `prefetchctl generate init-container`: pods that ask the agent of their node about their images before they
// start.

// Options as written on the command line.
struct InitContainerFlags {
  deploy::InitContainerOptions container;       // but for images and timeout
  std::optional<std::string> timeout;           // else 60 s, or half of the job's deadline if that is shorter
  std::string file;                             // manifests; "-" is standard input; empty: `checked` alone
  std::vector<std::string> pod_template_paths;  // as of `check`
  std::vector<CheckOptions::Image> checked;     // without a file
  std::vector<std::string> image_pull_secrets;  // for the container's image; added to the pods
  std::string output;                           // a file; empty: `out`
};

// Inserts the container, or puts it in the place of the one that is there, into each pod of the file that
// asks for images; without a file it prints what belongs into a pod. Other lines of a YAML file, and their
// comments, stay as they are; if that cannot be done, `err` tells so. Exit code: 0 written, 2 bad input, with
// all mistakes.
int GenerateInitContainer(InitContainerFlags flags, std::ostream& out, std::ostream& err);

// `prefetchctl plan`: what a list costs a fleet and its registries, before it is rolled out.

struct PlanOptions {
  std::vector<std::string> lists;
  std::uint64_t nodes = 0;
  std::uint64_t node_rate = 100;            // MB a second
  std::uint64_t registry_rate = 0;          // MB a second; 0: no limit is known
  std::optional<std::uint64_t> image_size;  // MB; nullopt: registries are asked
  std::uint64_t hub_pulls = 100;
  std::string start_jitter = "0s";
  std::string platform;  // empty: this machine's
  bool json = false;
  config::RawConfig credentials;  // as for `prefetchctl credentials`
  std::string timeout = "5m";
};

// Asks the registries for the sizes of the images, unless one size is assumed, and prints the load. Exit
// code: 0; 1 a registry did not tell an image's size, and the rest is printed; 2 bad input.
int PlanFleet(const base::Call& call, const PlanOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err);

// `prefetchctl uninstall --nodes`: takes what agents have said on Node objects away again.

struct UninstallOptions {
  // This instance's label, and what the next two name; empty: every label below prefetchd.dev/, the condition
  // ImagesPrefetched and the startup taint, too.
  std::string instance;
  std::vector<std::string> labels;  // of nodeResultLabel, whole keys
  std::string taint_key;            // of startupTaintKey; empty: the default key alone
  std::string selector;             // of nodes; empty: all
  bool dry_run = false;             // says what would be done
};

// Clears the nodes, eight at a time. Concurrent changes of other clients stay: a label and a condition are
// removed by name, and the list of taints is only written as it was just read. Prints each changed node on
// `out`, progress on `err`. Exit code: 0 nothing of ours is left, 1 some nodes could not be cleared (each
// with its reason), 2 no startup taint may have taint_key, 4 the nodes could not be listed.
int Uninstall(const base::Call& call, kube::Api& api, const UninstallOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
